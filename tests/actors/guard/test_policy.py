"""Pressure, causes and restarts: the pure decisions."""

import signal

import pytest

from actors.guard.cause import Circumstances, classify
from actors.guard.machine import Pressure
from actors.guard.pressure import Sample, judge
from actors.guard.restart import BUDGET, Ended, decide

MIB = 1 << 20
RESERVE = 2_000 * MIB


def level(available_mib, *, full=0.0, before_mib=None, anonymous_mib=0, admitted_mib=0):
    before = None if before_mib is None else Sample(at=0.0, available=before_mib * MIB)
    sample = Sample(at=0.5, available=available_mib * MIB, pressure=Pressure(full, full), anonymous=anonymous_mib * MIB)
    return judge(sample, before, reserve=RESERVE, admitted=admitted_mib * MIB).level


@pytest.mark.parametrize(
    ("available_mib", "expected"),
    [(5_000, "ok"), (2_000, "ok"), (1_999, "low"), (1_499, "shed"), (1_249, "term"), (999, "kill"), (0, "kill")],
)
def test_each_threshold_asks_for_more(available_mib, expected):
    assert level(available_mib) == expected


def test_waiting_for_memory_counts_whatever_is_available():
    assert level(9_000, full=9.9) == "ok"
    assert level(9_000, full=10) == "shed"
    assert level(9_000, full=25) == "term"


def test_a_fast_fall_is_acted_on_before_the_floor_is_crossed():
    assert level(3_000, before_mib=3_400) == "term"
    assert level(3_000, before_mib=3_010) == "ok"
    assert level(3_000, before_mib=2_000) == "ok"


def test_a_model_that_outgrows_its_admission_is_shed_and_then_ended():
    assert level(9_000, anonymous_mib=1_200, admitted_mib=1_000) == "ok"
    assert level(9_000, anonymous_mib=1_300, admitted_mib=1_000) == "shed"
    assert level(9_000, anonymous_mib=1_600, admitted_mib=1_000) == "term"
    assert level(9_000, anonymous_mib=99_000, admitted_mib=0) == "ok"


READY = Circumstances(was_ready=True)


@pytest.mark.parametrize(
    ("code", "line", "around", "cause"),
    [
        (0, "", READY, "ended"),
        (1, "error: invalid argument: --nope", Circumstances(), "bad_flag"),
        (1, "llama_model_load: error loading model: invalid magic characters", Circumstances(), "bad_model"),
        (1, "main: exiting due to model loading error", Circumstances(), "bad_model"),
        (1, "ggml_vulkan: Device memory allocation failed\nErrorOutOfDeviceMemory", READY, "out_of_memory"),
        (1, "unable to allocate CPU buffer\nfailed to load model", Circumstances(), "out_of_memory"),
        (1, "srv: couldn't bind HTTP server socket, hostname: 127.0.0.1", Circumstances(), "port"),
        (-6, "terminate called after throwing: vk::DeviceLostError", READY, "device_lost"),
        (-6, "GGML_ASSERT(n > 0) failed", READY, "crashed"),
        (-4, "", Circumstances(), "bad_binary"),
        (132, "", Circumstances(), "bad_binary"),
        (-9, "", Circumstances(oom_kills=1), "out_of_memory"),
        (-9, "", READY, "killed"),
        (137, "", Circumstances(oom_kills=2), "out_of_memory"),
        (-11, "", READY, "crashed"),
        (-15, "", READY, "killed"),
        (None, "Permission denied", Circumstances(), "spawn"),
        (1, "Failed to start transient scope unit", Circumstances(), "scope"),
        (-9, "", Circumstances(asked="pressure"), "pressure"),
        (0, "", Circumstances(asked="commanded"), "commanded"),
    ],
)
def test_the_cause_is_read_from_code_log_and_circumstances(code, line, around, cause):
    found = classify(code, line.splitlines(), around)
    assert found.cause == cause
    assert found.next_action
    assert found.text


def test_the_line_that_told_the_cause_is_quoted():
    text = classify(1, ["a", "error: invalid argument: --nope", "b"], Circumstances()).text
    assert "--nope" in text


def ends(*causes, ready_s=0.0, apart_s=5.0):
    return [Ended(n * apart_s, cause, ready_s) for n, cause in enumerate(causes)]


def test_delays_double_up_to_a_minute():
    history, delays = [], []
    for n in range(BUDGET - 1):
        history.append(Ended(n, "crashed", 0.0))
        delays.append(decide(history, n).delay_s)
    assert delays == [1, 2, 4, 8, 16]


def test_the_budget_ends_in_fatal_with_the_count():
    decision = decide(ends(*["crashed"] * BUDGET), BUDGET * 5.0)
    assert "6 times in 10 minutes" in decision.fatal


@pytest.mark.parametrize("cause", ["out_of_memory", "device_lost"])
def test_three_equal_causes_in_a_row_are_enough(cause):
    assert not decide(ends(cause, cause), 10).fatal
    assert "3 times in a row" in decide(ends(cause, cause, cause), 15).fatal
    assert not decide(ends(cause, cause, "crashed", cause), 20).fatal


@pytest.mark.parametrize("cause", ["bad_model", "bad_flag", "bad_binary"])
def test_what_no_restart_mends_is_not_tried(cause):
    assert decide(ends(cause), 0).fatal


def test_a_stable_run_clears_the_history():
    history = [*ends(*["crashed"] * 5), Ended(400, "crashed", 350.0)]
    assert decide(history, 400) == decide(ends("crashed"), 0)


def test_pressure_waits_for_memory_and_costs_no_budget():
    history = ends(*["pressure"] * 40)
    assert decide(history[:1], 0).delay_s == 30
    assert decide(history[:2], 5).delay_s == 60
    assert decide(history, 200).delay_s == 600
    assert decide([*history[:9], Ended(9_000, "pressure", 1.0)], 9_000).delay_s == 30
    assert not decide([*history, Ended(201, "crashed", 1.0)], 201).fatal


def test_a_signal_without_a_name_is_told_by_number():
    assert "signal 63" in classify(-63, [], READY).text
    assert "SIGSEGV" in classify(-signal.SIGSEGV, [], READY).text
