"""Profiles: the class from what is known, the better source wins, contradictions are told."""

import pytest

from evidence.profiles import complete, parse_forced, resolve, table
from evidence.records import Model

DECLARED = complete(Model(name="llama-3.1-8b-instruct", thinking=False))


@pytest.mark.parametrize(
    ("name", "kind", "family"),
    [
        ("Llama-3.2-3B-Instruct", "basic", "llama-3.2"),
        ("meta-llama/Llama-3.1-8B", "middle", "llama-3.1"),
        ("Qwen3-4B", "strong", "qwen3"),
        ("qwen2.5_coder_1.5b", "basic", "qwen2.5-coder"),
        ("gemma-4-E4B-it", "middle", "gemma-4"),
        ("mistral-7b", "middle", "mistral"),
        ("new-model-70b", "strong", ""),
        ("new-model-30b-a3b", "basic", ""),
        ("never-heard-of", "unknown", ""),
    ],
)
def test_the_class_comes_from_the_table_else_from_the_size_in_the_name(name, kind, family):
    model = complete(Model(name=name))
    assert (model.kind, model.family) == (kind, family)


def test_declared_facts_are_never_overwritten():
    model = complete(Model(name="qwen3-4b", family="mine", params_b=2.0))
    assert (model.family, model.params_b) == ("mine", 2.0)


def test_a_forced_profile_may_be_a_class_or_a_model_with_a_mode():
    assert parse_forced("basic") == Model(kind="basic")
    assert parse_forced("Middle:no-thinking") == Model(kind="middle", thinking=False)
    assert parse_forced("gemma-4-e4b:thinking").thinking is True
    assert parse_forced("  ") is None


def test_forced_beats_calibrated_beats_declared_beats_default():
    forced = parse_forced("basic")
    assert resolve(forced, "strong", DECLARED).source == "forced"
    assert resolve(None, "middle", DECLARED).source == "calibrated"
    assert resolve(None, None, DECLARED).source == "declared"
    assert resolve(None, None, None).source == "default"


def test_a_measurement_that_agrees_keeps_the_declared_model():
    assert resolve(None, "middle", DECLARED).model == DECLARED


def test_a_measurement_that_contradicts_takes_the_declared_models_own_evidence_away_and_says_so():
    profile = resolve(None, "basic", DECLARED)
    assert profile.model == Model(kind="basic", thinking=False)
    assert "llama-3.1-8b-instruct" in profile.note
    assert "basic" in profile.note


def test_the_table_is_sound():
    assert [band.below_b for band in table().bands] == sorted(band.below_b for band in table().bands)
    patterns = [known.pattern for known in table().known]
    for i, pattern in enumerate(patterns):
        assert not any(earlier in pattern for earlier in patterns[:i]), f"{pattern} is never reached"
