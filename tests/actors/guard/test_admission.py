"""The admission's decision, its record, and what it offers instead."""

import msgspec
import pytest

from actors.guard import oracle
from actors.guard.admission import decide, reserve_bytes
from actors.guard.estimate import MIB, need, shape_of
from actors.guard.ledger import Error, Ledger, Load
from actors.guard.machine import Gpu, Memory, Pressure

from .test_estimate import QWEN, header, profile

GIB = 1 << 30


def memory(available_mib, total_mib=24_000):
    return Memory(total_mib * MIB, available_mib * MIB)


def test_the_record_adds_up():
    found = decide(profile(ctx=8192), header(QWEN), memory(8_000), [])
    assert found.verdict == "fits"
    assert found.need_mib == pytest.approx(sum(part.mib for part in found.need) * 1.05, abs=0.5)
    assert found.have_mib == pytest.approx(sum(part.mib for part in found.have), abs=0.2)
    assert found.margin_mib == pytest.approx(found.have_mib - found.need_mib, abs=0.2)
    assert all(part.source for part in (*found.need, *found.have))


def test_what_does_not_fit_is_refused_with_what_would():
    found = decide(profile(ctx=32768), header(QWEN), memory(2_000 + 420), [])
    assert found.verdict == "refused"
    assert "does not fit" in found.text
    ctx = int(found.would_fit[0].removeprefix("ctx = "))
    assert decide(profile(ctx=ctx), header(QWEN), memory(2_420), []).verdict == "fits"
    assert decide(profile(ctx=ctx + 256), header(QWEN), memory(2_420), []).verdict == "refused"
    assert any("q8_0" in offer for offer in found.would_fit)


def test_nothing_is_offered_when_nothing_would_fit():
    found = decide(profile(ctx=32768), header(QWEN), memory(2_010), [])
    assert found.would_fit == []
    assert "No smaller context" in found.text


def test_memory_that_is_fought_over_is_not_free():
    calm = decide(profile(), header(QWEN), memory(8_000), [], pressure=Pressure(20, 9))
    assert calm.verdict == "fits"
    fought = decide(profile(), header(QWEN), memory(8_000), [], pressure=Pressure(40, 12))
    assert fought.verdict == "refused"
    assert "waits for memory" in fought.text


def test_an_override_is_explicit_and_recorded():
    assert decide(profile(), header(QWEN), memory(100), [], override=True).verdict == "overridden"


def test_past_loads_correct_the_estimate_upwards():
    before = decide(profile(), header(QWEN), memory(8_000), [])
    after = decide(profile(), header(QWEN), memory(8_000), [], past=Error(1.5, 3))
    assert after.need_mib > 1.4 * before.need_mib
    assert "150 %" in after.past_error


def test_an_integrated_gpu_shares_the_pool_and_a_discrete_one_has_its_own():
    gpus = [Gpu("card0", 1 * GIB, 700 * MIB, "fake")]
    shared = decide(profile(gpu_layers="all", ctx=8192), header(QWEN), memory(8_000), gpus)
    assert shared.have_mib == 324
    discrete = msgspec.structs.replace(profile(gpu_layers="all", ctx=8192), memory="discrete")
    roomy = [Gpu("card0", 8 * GIB, 0, "fake")]
    assert decide(discrete, header(QWEN), memory(2_010), roomy).verdict == "fits"
    assert decide(profile(gpu_layers="0", ctx=2048), header(QWEN), memory(8_000), gpus).have_mib == 6000


def test_an_unknown_model_is_not_admitted_without_override_or_oracle():
    unknown = header(QWEN | {"qwen2.ssm.state_size": 16})
    assert decide(profile(), unknown, memory(8_000), []).verdict == "unknown"
    assert decide(profile(), unknown, memory(8_000), [], override=True).verdict == "overridden"
    parts = oracle.parse("Host 5 6 7\n", profile(), unknown, None)
    assert decide(profile(), unknown, memory(8_000), [], oracle=parts).verdict == "fits"


def test_the_reserve_is_a_twelfth_at_least_a_gibibyte_or_as_told():
    assert reserve_bytes(profile(), memory(1, 24_000)) == 2_000 * MIB
    assert reserve_bytes(profile(), memory(1, 4_000)) == GIB
    assert reserve_bytes(profile(reserve_mib=300), memory(1)) == 300 * MIB


def test_the_oracle_is_corrected_for_logits_that_a_server_does_not_hold():
    shape = shape_of(header(QWEN))
    formula = need(header(QWEN), profile(ctx=2048))
    told = oracle.parse("CPU 222 24 336\n", profile(ctx=2048), header(QWEN), shape)
    found = {part.name: part.bytes / MIB for part in oracle.merged(formula, told)}
    assert found["compute"] == pytest.approx(39.3, abs=0.1)
    assert found["KV cache"] == 24
    assert found["process"] == 100


@pytest.mark.parametrize("text", ["", "nonsense\n", "Host 1 -2 3\n", "Host a b c\n"])
def test_an_oracle_that_says_nothing_usable_is_refused(text):
    with pytest.raises(oracle.OracleError):
        oracle.parse(text, profile(), header(QWEN), None)


def test_the_ledger_keeps_the_worst_error_of_a_key_and_survives_damage(tmp_path):
    ledger = Ledger(tmp_path / "loads.json")
    assert ledger.error("a") is None
    for measured in (90, 130, 110):
        ledger.add(Load(key="a", estimated=100, measured=measured))
    ledger.add(Load(key="b", estimated=100, measured=900))
    assert ledger.error("a") == Error(1.3, 3)
    assert ledger.error("b") == Error(2.0, 1)
    (tmp_path / "loads.json").write_text("[{")
    assert ledger.error("a") is None
    ledger.add(Load(key="a", estimated=100, measured=80))
    assert ledger.error("a") == Error(1.0, 1)
