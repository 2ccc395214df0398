"""Advice for a model and a task: the nearest evidence, capped where it is not the model's own, else silence."""

from datetime import date

import pytest

from evidence.derive import derive
from evidence.features import Features
from evidence.hints import basis, hint, ignored, instructions, prompt_hint, slot, tokens, when
from evidence.inference import Pairs
from evidence.lookup import about_model, as_task, choose, fit
from evidence.profiles import Profile, complete
from evidence.records import Cell, Compliance, Cost, Model
from evidence.rules import shipped
from tests.evidence.made import CLEAR_LOSS, confirmed, record

TODAY = date(2026, 12, 1)
TASK = Features(goal="solve", n_vars=5, n_atoms=8)


def advise(records, model, features=TASK, *, today=TODAY, capabilities=None, action="reason.solve"):
    profile = Profile(model=complete(model) if isinstance(model, Model) else complete(Model(name=model)))
    near = about_model(derive(records).rules, profile, today, capabilities or {})
    return choose(near, action, as_task(features))


def test_a_models_own_evidence_speaks_in_full():
    advice = advise(confirmed(), "Qwen3-4B-Instruct.gguf")
    assert advice.level == "recommended"
    assert advice.caps == ()


@pytest.mark.parametrize(
    ("measured", "asked", "distance"),
    [
        (Model(name="qwen3-4b", quantisation="q4"), Model(name="qwen3-4b", quantisation="q8"), 1),
        (Model(name="qwen3-4b", thinking=True), Model(name="qwen3-4b"), 1),
        (Model(name="gemma-4-e4b"), Model(name="gemma-4-x", family="gemma-4", params_b=5), 2),
        (Model(name="llama-3.1-8b"), Model(name="gemma-4-e4b"), 3),
        (Model(name="llama-3.1-8b"), Model(kind="middle"), 3),
    ],
)
def test_wider_evidence_is_capped_at_experimental_and_says_so(measured, asked, distance):
    assert fit(complete(measured), complete(asked))[0] == distance
    advice = advise(confirmed(model=complete(measured)), asked)
    assert advice.level == "experimental"
    assert complete(measured).name in advice.caps[0]


def test_evidence_of_the_other_thinking_mode_says_nothing():
    assert (
        advise(confirmed(model=complete(Model(name="qwen3-4b", thinking=True))), Model(name="qwen3-4b", thinking=False))
        is None
    )


def test_evidence_of_another_class_or_an_unknown_model_is_silence():
    assert advise(confirmed(model="llama-3.2-3b"), "qwen3-8b") is None
    assert advise(confirmed(), "never-heard-of") is None
    assert advise(confirmed(), Model()) is None


def test_the_nearest_scope_wins_even_when_it_is_neutral():
    own = record(Pairs(10, 5, 5, 10), model="qwen3-4b")
    advice = advise([*confirmed(model="qwen3-8b"), own], "qwen3-4b")
    assert advice.level == "neutral"


def test_the_most_detailed_cell_wins():
    narrow = confirmed(CLEAR_LOSS, cell=Cell(goal="solve", n_vars=(4, 6)))
    assert advise([*confirmed(), *narrow], "qwen3-4b").level == "discouraged"
    assert advise([*confirmed(), *narrow], "qwen3-4b", Features(goal="solve", n_vars=9)).level == "recommended"


def test_a_cell_with_too_few_items_lets_a_wider_one_speak():
    few = record(Pairs(0, 0, 5, 0), cell=Cell(goal="solve"))
    assert advise([*confirmed(), few], "qwen3-4b").level == "recommended"


def test_measurements_that_disagree_at_one_distance_cancel_out():
    on = confirmed(model=complete(Model(name="qwen3-4b", thinking=True)))
    off = confirmed(CLEAR_LOSS, model=complete(Model(name="qwen3-4b", thinking=False)))
    advice = advise([*on, *off], "qwen3-4b")
    assert advice.level == "neutral"
    assert "disagree" in advice.caps[-1]


def test_a_feature_that_is_not_known_lies_in_no_cell():
    cell = Cell(facts_exceed_ctx=True)
    assert advise(confirmed(cell=cell), "qwen3-4b") is None
    assert advise(confirmed(cell=Cell(n_vars=(1, 9))), "qwen3-4b", Features(goal="solve")) is None
    assert advise(confirmed(cell=cell), "qwen3-4b", Features(facts_exceed_ctx=True)).level == "recommended"


def test_cells_of_another_extractor_version_do_not_match():
    assert advise(confirmed(cell=Cell(features_version=0)), "qwen3-4b") is None


def test_expired_evidence_and_another_version_of_the_action_are_capped():
    assert advise(confirmed(), "qwen3-4b", today=date(2027, 12, 1)).caps == ("expired on 2027-11-30",)
    changed = advise(confirmed(capability="old"), "qwen3-4b", capabilities={"reason.solve": "new"})
    assert changed.level == "experimental"
    assert (
        advise(confirmed(capability="same"), "qwen3-4b", capabilities={"reason.solve": "same"}).level == "recommended"
    )


def test_only_comparisons_of_use_become_advice():
    assert advise(confirmed(contrast="mode"), "qwen3-4b") is None


FORMAT_WORDS = ("json", "format", "schema", "output", "respond", "syntax", "markdown", "valid", "brackets")


def _all_hints():
    cells = [Cell(), Cell(facts_exceed_ctx=True), Cell(facts_exceed_ctx=False), Cell(n_vars=(4, 6), n_atoms=(8, 8))]
    dear = {"cost": Cost(tokens_with=900, tokens_without=300)}
    for cell in cells:
        for pairs, more in [
            (Pairs(5, 20, 1, 4), {}),
            (CLEAR_LOSS, {}),
            (Pairs(6, 3, 1, 10), {}),
            (Pairs(195, 1, 1, 3), dear),
            (Pairs(195, 2, 1, 2), dear),
        ]:
            for model in ("qwen3-4b", "qwen3-8b"):
                yield advise(
                    confirmed(pairs, cell=cell, **more),
                    model,
                    Features(n_vars=5, n_atoms=8, facts_exceed_ctx=cell.facts_exceed_ctx),
                )


def test_no_hint_reminds_of_a_format_and_each_tells_its_figures():
    said = [(advice, hint(advice)) for advice in _all_hints() if hint(advice)]
    assert {advice.level for advice, _ in said} == {"recommended", "experimental", "discouraged"}
    for advice, text in said:
        assert not any(word in text.lower() for word in FORMAT_WORDS), text
        assert str(advice.rule.pairs.n) in text
        assert tokens(text) <= 50, text
        assert text[0].isupper()
        assert advice.rule.action in text, "as it is to be written in a call"
        assert text.endswith(".")


def test_what_only_costs_too_much_is_told_in_full_or_not_at_all():
    dear = confirmed(Pairs(195, 2, 1, 2), cost=Cost(tokens_with=900, tokens_without=300))
    assert "costs more" in hint(advise(dear, "qwen3-4b"))
    assert advise(dear, "qwen3-8b").level == "neutral"


def test_neutral_says_nothing():
    assert hint(advise([record(Pairs(10, 5, 5, 10))], "qwen3-4b")) == ""


def test_the_basis_has_difference_interval_n_and_source():
    figures = basis(advise(confirmed(), "qwen3-4b"))
    assert figures.low < figures.difference < figures.high
    assert figures.n == 30
    assert "qwen3-4b" in figures.source
    assert len(figures.records) == 2


def test_the_prompt_hint_keeps_to_its_tokens_strongest_first():
    cells = [Cell(goal="solve", n_vars=(i, i)) for i in range(1, 12)]
    records = [r for cell in cells for r in confirmed(cell=cell)] + [record(Pairs(6, 4, 1, 9), action="memory.recall")]
    near = about_model(derive(records).rules, Profile(model=complete(Model(name="qwen3-4b"))), TODAY, {})
    text, bases = prompt_hint([a for _, a in near])
    assert 0 < tokens(text) <= 120
    assert len(bases) == text.count("right with it")
    assert all(b.level == "recommended" for b in bases)


def test_a_hint_that_is_surely_ignored_is_not_repeated_in_prompts():
    (rule,) = derive([record(compliance=Compliance(shown=40, followed=1))]).rules
    assert ignored(rule)
    near = about_model([rule], Profile(model=rule.model), TODAY, {})
    assert prompt_hint([a for _, a in near]) == ("", ())
    (followed,) = derive([record(compliance=Compliance(shown=40, followed=20))]).rules
    assert not ignored(followed)


def test_the_daemon_wide_texts_ask_an_unknown_model_for_a_handshake_and_tell_a_forced_one_its_advice():
    assert slot(Profile(), []) == ""
    assert "meta.handshake" in instructions(Profile(), [])
    forced = Profile(model=complete(Model(name="gemma-4-e4b")), source="forced")
    advices = [a for _, a in about_model(shipped().rules, forced, TODAY, {})]
    assert 0 < tokens(slot(forced, advices)) <= 40
    assert "gemma-4-e4b" in instructions(forced, advices)
    assert instructions(forced, []) == ""


def test_cells_are_told_as_clauses():
    assert (
        when(Cell(facts_exceed_ctx=True, n_vars=(3, 3))) == "the facts do not fit your context and there are 3 unknowns"
    )
    assert when(Cell(goal="optimize", n_atoms=(2, 4))) == "the best of many is wanted and there are 2 to 4 conditions"
    assert when(Cell(goal="solve")) == ""
