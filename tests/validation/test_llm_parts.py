"""The harness's parts: calls as small models write them, answers by fixed rules, items with one solution."""

import itertools
import random

import pytest

from validation.llm import advice, groups, plan
from validation.llm.calls import calls
from validation.llm.endpoint import Endpoint, EndpointGone, Reply
from validation.llm.grading import grade
from validation.llm.items import puzzle
from validation.report import verdicts

from .fake_llm import serving

CALL = '{"name": "chrysalis", "arguments": {"domain": "memory", "action": "recall", "params": {"query": "x"}}}'
ARGUMENTS = {"domain": "memory", "action": "recall", "params": {"query": "x"}}


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"I will look.\n```json\n{CALL}\n```\nDone.",
        f"```\n{CALL}",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        CALL.replace("}}}", "},}}"),
        CALL.replace('"arguments"', '"parameters"'),
        '{"domain": "memory", "action": "recall", "params": {"query": "x"}}',
    ],
)
def test_a_call_printed_in_any_usual_form_is_read_and_told_apart(text):
    """Fenced, tagged, bare, cut off at the end, with a comma too many."""
    (call,) = calls(Reply(text=text))
    assert (call.form, call.arguments) == ("printed", ARGUMENTS)


def test_a_call_that_the_server_parsed_goes_before_printed_ones():
    """It is not counted twice."""
    native = [{"function": {"name": "chrysalis", "arguments": '{"domain": "memory"}'}}]
    (call,) = calls(Reply(text=CALL, native=native))
    assert (call.form, call.arguments) == ("native", {"domain": "memory"})


@pytest.mark.parametrize(
    "text", ["", "The answer is {Ann}.", '{"x": 1}', '{"name": "other", "arguments": {}}', "{", "[1]"]
)
def test_what_is_no_call_of_the_tool_is_none(text):
    """Prose with braces, other JSON, another tool."""
    assert calls(Reply(text=text)) == []


def test_broken_native_arguments_reach_the_product_as_none():
    """It is the product that tells the model what is missing."""
    (call,) = calls(Reply(native=[{"function": {"name": "chrysalis", "arguments": "{oops"}}]))
    assert call.arguments == {}


@pytest.mark.parametrize(
    ("text", "gold", "right", "readable"),
    [
        ("ANSWER: Bravi", "Bravi", True, True),
        ("It is so.\n**Answer:** the town of Bravi.", "Bravi", True, True),
        ("Bravidan", "Bravi", False, True),
        ("ANSWER: Corda\nBut Bravi too", "Bravi", False, True),
        ("first 3, then\nANSWER: 4", "4", True, True),
        ("ANSWER: 3 or 4", "4", True, True),
        ("ANSWER: place 14", "4", False, True),
        ("ANSWER: four", "4", False, False),
        ("", "Bravi", False, False),
    ],
)
def test_an_answer_is_right_by_fixed_rules(text, gold, right, readable):
    """What cannot be read is wrong, and counted as unreadable."""
    found = grade(text, gold)
    assert (found.right, found.readable) == (right, readable)


@pytest.mark.parametrize("size", [3, 5, 6])
def test_a_puzzle_has_exactly_one_solution_and_it_is_the_gold_answer(size, rng):
    """Counted by trying every order, with the constraints read as Python."""
    question, gold, params, clues = puzzle(rng, size)
    names = list(params["vars"])
    rules = [rule.replace(" = ", " == ") for rule in params["constraints"][1:]]
    good = [
        places
        for order in itertools.permutations(range(1, size + 1))
        for places in [dict(zip(names, order, strict=True))]
        if all(eval(rule, {}, places) for rule in rules)
    ]
    asked = question.rpartition("did ")[2].split()[0].lower()
    assert [str(places[asked]) for places in good] == [gold]
    assert clues == len(rules)


def test_items_are_the_same_from_the_same_seed_and_differ_between_groups():
    """What is held out was never asked before."""
    fixed = plan.load()
    made = {name: groups.make(name, fixed.groups[name], fixed.seed, 2048) for name in ("ha", "heldout", "hc", "hard")}
    assert made["ha"] == groups.make("ha", fixed.groups["ha"], fixed.seed, 2048)
    questions = [item.question for group in made.values() for item in group.items]
    assert len(set(questions)) == len(questions)


def test_no_plan_asks_what_an_earlier_one_asked():
    """What was seen while the product was mended proves nothing of it afterwards."""
    asked = [
        {
            (item.question, item.gold)
            for name, group in plan.load(seed).groups.items()
            for item in groups.make(name, group, seed, 1_024).items
        }
        for seed in plan.seeds()
    ]
    assert len(set().union(*asked)) == sum(map(len, asked))


def test_facts_beyond_the_window_are_more_than_it_holds():
    """Whatever the window."""
    fixed = plan.load()
    for window in (1_024, 8_192):
        facts = groups.make("ctx", fixed.groups["ctx"], fixed.seed, window).facts
        assert sum(len(" ".join(fact)) for fact in facts) / 4 > window * fixed.fit_share


@pytest.mark.parametrize("seed", plan.seeds())
def test_every_group_of_a_plan_can_be_made_and_its_comparisons_name_its_arms(seed):
    """The file that was fixed beforehand is one that can be run, and is called by its seed."""
    fixed = plan.load(seed)
    assert fixed.seed == seed
    assert set(fixed.groups) == set(groups.ORDER)
    for name, group in fixed.groups.items():
        assert {arm for pair in group.compare.values() for arm in pair} <= set(group.arms)
        assert len(groups.make(name, group, fixed.seed, 1_024).items) >= group.n or name == "cal"
    compared = {key for group in fixed.groups.values() for key in group.compare}
    assert set(plan.HYPOTHESES) <= compared


def test_arms_come_in_random_order_but_item_by_item():
    """A stopped run has whole pairs; the same seed gives the same order."""
    fixed = plan.load()
    items = groups.make("hc", fixed.groups["hc"], 1, 1_024).items
    trials = groups.order(items, fixed.groups["hc"], (False,), 3)
    assert [item.id for item, _, _ in trials] == [item.id for item in items for _ in range(2)]
    assert len({tuple(arm for _, arm, _ in trials[at : at + 2]) for at in range(0, len(trials), 2)}) == 2
    assert trials == groups.order(items, fixed.groups["hc"], (False,), 3)


def test_a_sham_has_the_same_sentences_dealt_at_random():
    """Length and wording are the same; only what they say of an item is not."""
    real = {f"i{n}": ("Use it." if n % 2 else "Do without.") for n in range(40)}
    dealt = advice.sham(real, 3)
    assert sorted(dealt.values()) == sorted(real.values())
    assert dealt != real
    assert advice.without_condition("When there are 3 unknowns, do without it: x.") == "Do without it: x."


def test_a_request_that_takes_too_long_counts_as_no_answer_and_a_refusal_ends_the_run():
    """Time-outs are outcomes; an endpoint that refuses is none."""
    gate = random.Random(1)
    with serving(lambda _: {"status": 400}) as (url, _), pytest.raises(EndpointGone, match="400"):
        Endpoint(url, "m").chat([{"role": "user", "content": str(gate.random())}], max_tokens=1)
    import threading

    wait = threading.Event()
    with serving(lambda _: wait.wait(20) and {"content": ""}) as (url, _):
        assert Endpoint(url, "m", timeout_s=0.2).chat([], max_tokens=1).timed_out
        wait.set()


def test_reasoning_is_kept_apart_from_the_answer():
    """In tags or in a field of its own."""
    with serving(lambda _: {"content": "<think>a</think>b"}) as (url, _):
        tagged = Endpoint(url).chat([], max_tokens=1)
    with serving(lambda _: {"content": "b", "reasoning_content": "a"}) as (url, _):
        field = Endpoint(url).chat([], max_tokens=1)
    assert (tagged.text, tagged.reasoning) == ("b", "<think>a</think>")
    assert (field.text, field.reasoning) == ("b", "a")


def test_a_hypothesis_that_a_run_left_out_is_not_measured(tmp_path):
    """It is written as null, and the table says so."""
    from .test_report import CLAIM, written

    written(tmp_path, "x", figures={"gain": None})
    from validation.report import files

    assert verdicts.row(CLAIM, files.load(tmp_path)).verdict == "not measured"
