"""Arguments as small models send them: what is mended, what is refused, and what the refusal teaches."""

import contextlib
import json

import msgspec
import pytest

from protocol import contract
from protocol.errors import Fault
from protocol.limits import REQUEST_MAX_BYTES
from protocol.request import decode_arguments, parse

RECALL = {"domain": "memory", "action": "recall", "params": {"query": "who?"}}


def parsed(arguments, **options):
    return parse(decode_arguments(msgspec.json.encode(arguments)), **options)


def test_a_correct_call_is_taken_as_it_is():
    """No notes where nothing was mended."""
    request = parsed(RECALL | {"verbosity": "brief", "session_id": "s"})
    assert (request.action.full_name, request.params.query, request.notes) == ("memory.recall", "who?", ())
    assert (request.verbosity, request.session_id) == ("brief", "s")


@pytest.mark.parametrize(
    "arguments",
    [
        RECALL | {"params": json.dumps({"query": "who?"})},
        RECALL | {"params": json.dumps(json.dumps({"query": "who?"}))},
        {"action": "memory.recall", "params": {"query": "who?"}},
        {"domain": "memory.recall", "params": {"query": "who?"}},
        {"domain": "reason", "action": "recall", "params": {"query": "who?"}},
        {"action": "recall", "params": {"query": "who?"}},
        {"domain": "memory", "action": "recal", "params": {"query": "who?"}},
        {"domain": "Memory", "action": "Recall ", "params": {"query": "who?"}},
        {"domain": "memory", "action": "recall", "query": "who?"},
        {"domain": "memory", "action": "recall", "params": None, "query": "who?"},
    ],
)
def test_a_call_whose_meaning_is_plain_is_served_whatever_its_form(arguments):
    """Each mend leaves the same request."""
    request = parsed(arguments)
    assert request.action.full_name == "memory.recall"
    assert request.params.query == "who?"


@pytest.mark.parametrize("absent", [None, "", "None", "null", "none"])
def test_every_spelling_of_nothing_means_that_an_optional_was_left_out(absent):
    """In the tool's arguments and in the params alike."""
    request = parsed(
        {
            "domain": "memory",
            "action": "recall",
            "params": {"query": "who?", "k": absent},
            "session_id": absent,
            "store_as": absent,
            "verbosity": absent,
            "telemetry": absent,
            "agent_id": absent,
        }
    )
    assert request.params.k == 10
    assert (request.session_id, request.store_as, request.agent_id, request.verbosity) == ("", "", "", "summary")


@pytest.mark.parametrize(("said", "meant"), [("5", 5), (5.0, 5)])
def test_a_number_in_another_form_is_read_and_noted(said, meant):
    """The value is the same; the note says what was done."""
    request = parsed(RECALL | {"params": {"query": "who?", "k": said}})
    assert request.params.k == meant
    assert any(note.startswith("k: ") for note in request.notes)


def test_text_that_looks_like_json_stays_text_where_text_is_asked_for():
    """Nothing is decoded inside fields that are strings by contract."""
    request = parsed(RECALL | {"params": {"query": '{"a": 1}'}})
    assert request.params.query == '{"a": 1}'
    assert request.notes == ()


@pytest.mark.parametrize("k", [0, -1, 2.5, 10**6, "five", [1], {}])
def test_a_value_that_cannot_be_meant_is_refused_not_guessed(k):
    """The fault names the path and what is expected."""
    with pytest.raises(Fault) as caught:
        parsed(RECALL | {"params": {"query": "who?", "k": k}})
    failure = caught.value.failure
    assert failure.code == "invalid_params"
    assert failure.faults[0].path == "params.k"
    assert failure.faults[0].expected == "integer 1..1000"


def test_every_fault_is_told_with_the_params_and_a_call_that_works():
    """Three faults in one answer; the corrected call validates and keeps what was right."""
    with pytest.raises(Fault) as caught:
        parsed(RECALL | {"params": {"querry": "x", "k": 0, "mode": "ppr"}})
    failure = caught.value.failure
    assert {fault.path for fault in failure.faults} == {"params.querry", "params.query", "params.k"}
    assert "query" in failure.params
    assert failure.example["params"]["mode"] == "ppr"
    parse(failure.example)


@pytest.mark.parametrize("action", [a for a in contract.ALL if not a.hidden], ids=lambda a: a.full_name)
def test_every_example_in_the_contract_is_a_call_that_validates(action):
    """What errors and schemas show can be copied."""
    for example in (action.example, *action.examples):
        params = example.get("params", example) if example is not action.example else example
        request = parse({"domain": action.domain, "action": action.name, "params": params}, operator=True)
        assert request.action is action
        assert request.notes == ()


def test_an_unknown_action_names_the_near_ones_and_all_others():
    """A destructive action is never guessed from a near miss."""
    with pytest.raises(Fault, match=r"no action memory\.forgett") as caught:
        parsed({"domain": "memory", "action": "forgett", "params": {}})
    assert "memory.forget" in caught.value.failure.next_action


def test_an_unknown_domain_is_told_with_the_domains_there_are():
    """Its own code, so that a client can tell."""
    with pytest.raises(Fault) as caught:
        parsed({"domain": "weather", "action": "tomorrow"})
    assert caught.value.failure.code == "unknown_domain"


def test_what_is_for_operators_is_refused_to_models_with_the_reason():
    """An operator's action exists, but not over MCP."""
    locked = next(action for action in contract.ALL if action.operator_only and not action.hidden)
    with pytest.raises(Fault, match="operator's action"):
        parsed({"domain": locked.domain, "action": locked.name, "params": locked.example})


def test_read_only_mode_refuses_writes():
    """With CHRYSALIS_READONLY=1 a write says why it is not there."""
    with pytest.raises(Fault, match="read-only"):
        parsed({"domain": "memory", "action": "ingest", "params": {}}, readonly=True)


def test_hidden_actions_cannot_be_named_by_anyone():
    """They are between daemon and actors; at best the words are read as an action that can be named."""
    hidden = [action for action in contract.ALL if action.hidden]
    assert hidden
    for action in hidden:
        with contextlib.suppress(Fault):
            request = parsed({"domain": action.domain, "action": action.name, "params": action.example}, operator=True)
            assert not request.action.hidden


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"x" * (REQUEST_MAX_BYTES + 1), "too_large"),
        (b"[" * 10_000 + b"]" * 10_000, "invalid_params"),
        (
            b'{"domain":"memory","action":"recall","params":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001,
            "invalid_params",
        ),
        (
            b'{"domain":"memory","action":"recall","params":{"query":' + b"[" * 300 + b"]" * 300 + b"}}",
            "invalid_params",
        ),
        (b'{"k": NaN}', "invalid_params"),
        (b'{"k": "\xff"}', "invalid_params"),
        (b"[1,2]", "invalid_params"),
        (b"7", "invalid_params"),
        (b"not json", "invalid_params"),
    ],
    ids=["2 MB", "10,000 lists", "10,000 objects", "300 deep", "NaN", "bad UTF-8", "a list", "a number", "no JSON"],
)
def test_what_is_no_argument_object_is_refused_with_what_to_send(raw, code):
    """A clear error, whatever the bytes."""
    with pytest.raises(Fault) as caught:
        parse(decode_arguments(raw))
    assert caught.value.failure.code == code
    assert caught.value.failure.next_action


def test_random_bytes_and_random_objects_raise_nothing_but_faults(rng):
    """Two thousand of each: the border lets nothing else through."""
    words = [
        "domain",
        "action",
        "params",
        "memory",
        "recall",
        "query",
        None,
        0,
        -1,
        2.5,
        True,
        [],
        {},
        "None",
        "k",
        "$",
    ]
    for _ in range(2_000):
        junk = bytes(rng.randrange(256) for _ in range(rng.randrange(40)))
        built = {
            str(rng.choice(words)): rng.choice([*words, {str(rng.choice(words)): rng.choice(words)}]) for _ in range(5)
        }
        for raw in (junk, msgspec.json.encode(built)):
            try:
                parse(decode_arguments(raw))
            except Fault as fault:
                assert fault.failure.next_action
