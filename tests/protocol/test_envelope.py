"""Cutting answers to their verbosity, and getting back what was cut."""

import msgspec
import pytest

from protocol.action import Outcome
from protocol.envelope import CAPS, Cut, at, fit, go_on, of_failure, of_outcome, pack, shorten, spell
from protocol.errors import Fault
from protocol.limits import REPLY_DEFAULT_BYTES


def test_lists_and_strings_are_cut_and_each_cut_is_known():
    """The path, what was sent, what there is."""
    kept, cuts = shorten({"nodes": list(range(10)), "deep": [{"t": "abcdef"}]}, 4, 3)
    assert kept == {"nodes": [0, 1, 2, 3], "deep": [{"t": "abc… (+3 characters)"}]}
    assert cuts == [Cut(("nodes",), 4, 10), Cut(("deep", 0, "t"), 3, 6)]


@pytest.mark.parametrize("verbosity", list(CAPS))
def test_going_on_by_the_cursor_yields_everything_once(verbosity, rng):
    """The first answer and its continuations put together are the whole data."""
    data = {"nodes": [{"i": i, "facts": list(range(rng.randrange(5)))} for i in range(500)], "text": "x" * 9_000}
    kept, cuts = fit(data, verbosity)
    nodes = list(kept["nodes"])
    text = data["text"][: next((cut.sent for cut in cuts if cut.path == ("text",)), len(data["text"]))]
    for _ in range(2_000):
        if not cuts:
            break
        part, cuts = go_on(data, cuts, verbosity)
        nodes += part.get("nodes", [])
        text += part.get("text", "")
    assert not cuts
    assert [node["i"] for node in nodes] == list(range(500))
    assert text == data["text"]


@pytest.mark.parametrize("verbosity", ["summary", "brief", "terse"])
def test_a_reply_stays_below_the_byte_limit_however_large_the_data(verbosity):
    """Caps shrink until it fits."""
    data = {"nodes": [{"name": "n" * 5_000, "facts": ["f" * 3_000] * 50}] * 100}
    kept, cuts = fit(data, verbosity)
    assert len(msgspec.json.encode(kept)) < REPLY_DEFAULT_BYTES
    assert cuts


def test_error_texts_and_advice_are_never_cut():
    """However terse the answer is to be."""
    failure = Fault("invalid_params", "m" * 9_000, next_action="n" * 9_000).failure
    body = msgspec.json.decode(pack(of_failure(failure, advisory={"hint": "h" * 9_000}), "terse", None, "r", 1.0))
    assert (len(body["summary"]), len(body["next_action"]), len(body["advisory"]["hint"])) == (9_000, 9_000, 9_000)


@pytest.mark.parametrize(
    ("verbosity", "again"), [("detail", True), ("summary", True), ("brief", False), ("terse", False)]
)
def test_a_lean_error_says_nothing_twice(verbosity, again):
    """Code, faults and what a program needs stay; sentence and next step stand in the envelope alone."""
    failure = Fault("busy", "too much at once", next_action="Retry.", retry_after_ms=50).failure
    told = of_failure(failure, verbosity=verbosity)
    assert (told.summary, told.next_action) == ("too much at once", "Retry.")
    assert (told.data["code"], told.data["retry_after_ms"]) == ("busy", 50)
    assert ("message" in told.data, "next_action" in told.data) == (again, again)


def test_telemetry_is_left_out_of_brief_and_terse_unless_it_was_asked_for():
    """And left out of the others when it was refused."""
    envelope = of_outcome(Outcome(summary="s", data={}), notes=(), advisory=None, data={})

    def has(verbosity, asked):
        return "telemetry" in msgspec.json.decode(pack(envelope, verbosity, asked, "r", 1.0))

    assert [has(v, None) for v in CAPS] == [True, True, False, False]
    assert has("terse", True)
    assert not has("detail", False)


def test_a_partial_outcome_warns():
    """A guessed or unfinished answer says so in its severity."""
    assert of_outcome(Outcome(summary="s", data={}, partial=True), notes=(), advisory=None, data={}).severity == "WARN"


def test_paths_are_spelled_as_people_write_them():
    """Keys with dots, indexes in brackets."""
    assert spell(("nodes", 3, "facts")) == "nodes[3].facts"
    assert at({"nodes": [{"facts": 7}]}, ("nodes", 0, "facts")) == 7
