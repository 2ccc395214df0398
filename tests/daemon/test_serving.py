"""A real daemon served over real sockets: sessions, batches, cursors, bad input, progress."""

import json
import time
import uuid

import msgspec
import pytest

from protocol import contract
from protocol.limits import BATCH_MAX_STEPS, REPLY_DEFAULT_BYTES


def ingest(client, source, triples, **options):
    envelope = client.call("memory", "ingest", {"triples": triples, "source": source}, **options)
    assert envelope["status"] == "ok", envelope
    return envelope


def test_discover_lists_what_a_model_may_use_and_how_the_actors_are(stack):
    """Seen by a model, not by the operator."""
    with stack.client("model", operator=False) as client:
        data = client.call("meta", "discover")["data"]
    named = {f"{domain}.{action}" for domain, actions in data["domains"].items() for action in actions}
    assert named == {action.full_name for action in contract.visible()}
    assert set(data["actors"]) == {"memory", "solver", "advisory", "guard"}


def test_schema_of_one_action_has_its_params_an_example_and_worked_examples(client):
    """Found by its bare name."""
    envelope = client.call("meta", "schema", {"action": "solve"})
    (schema,) = envelope["data"]["actions"]
    assert schema["action"] == "reason.solve"
    assert schema["example"]["params"]
    assert "constraints" in schema["params"]


def test_what_one_client_stored_another_recalls(stack):
    """Memory belongs to nobody's connection."""
    name = f"Zorvex {uuid.uuid4().hex[:6]}"
    with stack.client("writer") as writer:
        ingest(writer, "t-shared", [[name, "lives in", "Qualdor"]])
    with stack.client("reader") as reader:
        data = reader.call("memory", "recall", {"query": f"where does {name} live?", "k": 5})["data"]
    assert any(fact["subject"] == name and fact["object"] == "Qualdor" for fact in data["facts"])


def test_a_result_kept_under_a_key_outlives_the_client_that_stored_it(stack):
    """The session is a handle, not a connection."""
    session = uuid.uuid4().hex
    with stack.client("first") as first:
        first.call("meta", "schema", {"action": "recall"}, session_id=session, store_as="kept")
    with stack.client("second") as second:
        params = {"action": "$cache.kept.actions.0.action"}
        envelope = second.call("meta", "schema", params, session_id=session)
    assert envelope["data"]["actions"][0]["action"] == "memory.recall"


def test_what_was_forgotten_is_in_no_kept_result_of_any_session(stack):
    session = uuid.uuid4().hex
    name = f"Zorvex {session[:6]}"
    with stack.client("first") as first, stack.client("second") as second:
        ingest(first, f"t-{session}", [[name, "lives in", "Qualdor"]])
        first.call("memory", "recall", {"query": name}, session_id=session, store_as="kept")
        again = {"query": "$cache.kept.facts.0.object"}
        assert first.call("memory", "recall", again, session_id=session)["status"] == "ok"
        assert second.call("memory", "restore")["status"] == "ok"
        assert first.call("memory", "recall", again, session_id=session)["status"] == "ok"
        assert second.call("memory", "forget", {"source": f"t-{session}"})["status"] == "ok"
        told = first.call("memory", "recall", again, session_id=session)
        assert told["status"] == "error" and "expired" in told["summary"]


def test_a_key_that_was_never_stored_is_told_with_the_keys_there_are(client):
    """Nothing is guessed in its place."""
    envelope = client.call("memory", "recall", {"query": "$cache.nope.x"}, session_id=uuid.uuid4().hex)
    assert envelope["data"]["code"] == "not_found"
    assert "none" in envelope["next_action"]


def test_a_batch_uses_what_its_earlier_steps_found(client):
    """Write, recall, and a recall that is asked with the first one's answer."""
    name = f"Pellum {uuid.uuid4().hex[:6]}"
    steps = [
        {
            "domain": "memory",
            "action": "ingest",
            "params": {"triples": [[name, "was built by", "Orsa Vint"]], "source": "t"},
        },
        {"id": "r", "domain": "memory", "action": "recall", "params": {"query": f"who built {name}?"}},
        {"action": "recall", "domain": "memory", "params": {"query": "$cache.r.facts.0.object was it?"}},
        {"domain": "reason", "action": "solve", "params": {"vars": {"x": "int 1..9"}, "constraints": ["x*x = 49"]}},
    ]
    envelope = client.call("meta", "batch", {"steps": steps}, session_id=uuid.uuid4().hex)
    assert [step["status"] for step in envelope["data"]["steps"]] == ["ok"] * 4, envelope
    assert envelope["data"]["steps"][3]["data"]["model"]["x"] == 7


def test_a_batch_stops_at_its_first_error_unless_told_to_go_on(client):
    """What was not tried is said to be skipped."""
    steps = [
        {"domain": "meta", "action": "discover"},
        {"domain": "memory", "action": "recall", "params": {"quary": 1}},
        {"domain": "memory", "action": "ingest", "params": {"triples": [["a", "b", "c"]], "source": "t-batch-stop"}},
    ]
    stopped = client.call("meta", "batch", {"steps": steps})
    assert [step["status"] for step in stopped["data"]["steps"]] == ["ok", "error", "skipped"]
    assert stopped["severity"] == "WARN"
    went_on = client.call("meta", "batch", {"steps": steps, "continue_on_error": True})
    assert [step["status"] for step in went_on["data"]["steps"]] == ["ok", "error", "ok"]


def test_batches_can_be_trimmed_to_what_is_wanted(client):
    """Only the last, only fields, only summaries."""
    steps = [
        {"domain": "meta", "action": "discover"},
        {"domain": "meta", "action": "schema", "params": {"action": "solve"}},
    ]
    last = client.call("meta", "batch", {"steps": steps, "return_only": "last", "select_fields": ["actions.action"]})
    assert [step["data"] for step in last["data"]["steps"]] == [{"actions.action": ["reason.solve"]}]
    bare = client.call("meta", "batch", {"steps": steps, "return_only": "summary"})
    assert all("data" not in step for step in bare["data"]["steps"])


@pytest.mark.parametrize(
    "steps", [[], [{"domain": "meta", "action": "batch", "params": {"steps": []}}], [{}] * (BATCH_MAX_STEPS + 1)]
)
def test_batches_that_cannot_be_are_refused(client, steps):
    """Empty, nested, too long."""
    envelope = client.call("meta", "batch", {"steps": steps})
    told = json.dumps(envelope)
    assert "invalid_params" in told or "1 to 25" in told or "cannot hold a batch" in told


def test_a_long_answer_is_cut_and_its_cursor_yields_the_rest(client):
    """Every fact comes exactly once."""
    hub = f"Hub {uuid.uuid4().hex[:6]}"
    triples = [[hub, "links to", f"{hub} spoke {number}"] for number in range(60)]
    ingest(client, f"t-{hub}", triples)
    session = uuid.uuid4().hex
    envelope = client.call("memory", "recall", {"query": hub, "k": 60, "max_facts": 60}, session_id=session)
    facts = envelope["data"]["facts"]
    assert envelope["truncated"]
    while cursor := envelope.get("cursor"):
        envelope = client.call("memory", "recall", {"cursor": cursor}, session_id=session)
        facts += envelope["data"].get("facts", [])
    assert len({fact["object"] for fact in facts}) == len(facts) == 60


def test_replies_stay_below_the_limit_that_clients_break_at(client):
    """Whatever is asked for, unless in detail."""
    envelope = client.call("meta", "schema", {})
    assert len(msgspec.json.encode(envelope)) < REPLY_DEFAULT_BYTES


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"null", b"7", b"[]", b'"x"', b"{", b"\xff\xfe", b'{"domain": 3}', b'{"domain": {}, "action": []}',
        b'{"domain":"memory","action":"recall","params":{"query":"\\u0000"}}',
        b'{"domain":"memory","action":"recall","params":{"query":NaN}}',
        b'{"domain":"memory","action":"recall","params":{"query":"x","k":99999999999999999999999999}}',
        b'{"domain":"memory","action":"recall","params":{"query":"x","as_of":1e400}}',
        b'{"domain":"memory","action":"ingest","params":{"triples":[[1,2,99999999999999999999999999999]]}}',
        b'{"domain":"memory","action":"ingest","params":{"triples":"[[\\"a\\",\\"b\\"]]"}}',
        b'{"domain":"meta","action":"batch","params":{"steps":[7]}}',
        b'{"domain":"meta","action":"stats","params":{"scope":"galaxy"}}',
        b'{"domain":"reason","action":"solve","params":{"vars":' + b"[" * 5_000 + b"]" * 5_000 + b"}}",
        b"[" * 100_000,
    ],
    ids=range(19),
)  # fmt: skip
def test_whatever_bytes_are_sent_an_envelope_comes_back_and_the_daemon_goes_on(client, raw):
    """An answer with what to do, and no process ended."""
    pids = {name: actor["pid"] for name, actor in client.control("status")["actors"].items()}
    envelope = client.call_raw(raw, deadline_ms=10_000)
    assert envelope["status"] in ("ok", "error")
    if envelope["status"] == "error":
        assert envelope["data"]["code"] != "internal", envelope
        assert envelope["next_action"]
    assert {name: actor["pid"] for name, actor in client.control("status")["actors"].items()} == pids


def test_a_call_that_is_too_large_is_answered_without_being_sent(client):
    """Two megabytes: told by the client's own end, since the daemon would drop the connection."""
    envelope = client.call("memory", "ingest", {"text": "x" * 2_000_000, "source": "t"})
    assert envelope["data"]["code"] == "too_large"


def test_the_same_call_id_sent_twice_is_done_once(client):
    """The stored answer comes again; also when the daemon's own memory of it is bypassed by request_id."""
    triple = [f"Once {uuid.uuid4().hex[:6]}", "happened", "here"]
    call_id = uuid.uuid4().hex
    first = ingest(client, "t-once", [triple], call_id=call_id)
    again = ingest(client, "t-once", [triple], call_id=call_id)
    assert first["data"] == again["data"]
    params = {"triples": [[*triple[:2], "there"]], "source": "t-once", "request_id": uuid.uuid4().hex}
    replies = [client.call("memory", "ingest", params)["data"] for _ in range(2)]
    assert replies[0] == replies[1]
    assert replies[0]["new_edges"] == 1


def test_a_deadline_that_passes_is_answered_as_timeout_and_the_work_is_dropped(client):
    """And the solver serves the next call."""
    slow = "(declare-const x Int)(assert (> " + "(+ 1 (* x " * 40 + "x" + "))" * 40 + " 5))(check-sat)"
    started = time.monotonic()
    envelope = client.call("reason", "solve", {"smt2": slow, "timeout_ms": 60_000}, deadline_ms=1_500)
    assert time.monotonic() - started < 8
    assert (envelope["status"] == "error" and envelope["data"]["code"] == "timeout") or envelope["severity"] == "WARN"
    quick = client.call("reason", "solve", {"vars": {"x": "int 1..3"}, "constraints": ["x > 2"]})
    assert quick["data"]["model"]["x"] == 3


def test_long_work_tells_its_progress_to_who_asked(client):
    """Steps of a batch, at the least."""
    told = []
    params = [{"action": f"$cache.{n - 1}.actions.0.action" if n else "recall"} for n in range(4)]
    steps = [{"id": str(n), "domain": "meta", "action": "schema", "params": own} for n, own in enumerate(params)]
    client.call("meta", "batch", {"steps": steps}, on_progress=told.append)
    assert [step.done for step in told] == [1, 2, 3, 4]


def test_stats_count_calls_and_errors_of_the_session(client):
    """And the daemon's scope adds what the actors tell."""
    session = uuid.uuid4().hex
    client.call("meta", "discover", session_id=session)
    client.call("memory", "recall", {}, session_id=session)
    stats = client.call("meta", "stats", session_id=session)["data"]
    assert stats["calls"]["meta.discover"] == 1
    assert stats["errors"] == {"invalid_params": 1}
    wide = client.call("meta", "stats", {"scope": "daemon"})["data"]
    assert wide["actors"]["memory"]["state"] == "running"
    assert wide["details"]["memory"]["edges"] >= 0


def test_verbosity_and_telemetry_are_as_asked(client):
    """Terse leaves telemetry out."""
    assert "telemetry" not in client.call("meta", "discover", verbosity="terse")
    assert client.call("meta", "discover", verbosity="terse", telemetry=True)["telemetry"]["est_tokens"] > 0


def test_an_older_protocol_is_refused_in_words(stack):
    """The sentence says what to do."""
    from protocol.client import NoDaemon
    from protocol.messages import Hello

    client = stack._connect(0, client="old")
    client._hello = Hello(v=99, kind="test", pid=1)
    with pytest.raises(NoDaemon, match="restart the client"):
        client.wait_welcome(5)


def test_a_client_that_is_read_only_may_not_write_also_not_in_a_batch(stack):
    """Whoever started the daemon: the client's own environment decides for the client."""
    write = {"domain": "memory", "action": "ingest", "params": {"triples": [["a", "b", "c"]], "source": "t-readonly"}}
    with stack._connect(10, client="reader", operator=False, readonly=True) as client:
        assert client.call("meta", "discover")["data"]["readonly"] is True
        assert client.call(**write)["data"]["code"] == "unknown_action"
        assert client.call("memory", "recall", {"query": "anything"})["status"] == "ok"
        assert client.call("meta", "batch", {"steps": [write]})["status"] == "error"


def test_a_call_that_is_sent_again_while_it_is_being_cancelled_is_answered(stack):
    """The first run is stopped, the second one served; the id gets its one answer."""
    slow = "(declare-const x Int)(assert (> " + "(+ 1 (* x " * 40 + "x" + "))" * 40 + " 5))(check-sat)"
    arguments = {"domain": "reason", "action": "solve", "params": {"smt2": slow, "timeout_ms": 20_000}}
    with stack.client("again") as client:
        call_id = client.begin(msgspec.json.encode(arguments))
        client.pump(0.3)
        client.cancel(call_id)
        quick = {"domain": "meta", "action": "discover"}
        client.begin(msgspec.json.encode(quick), call_id=call_id)
        assert client.wait(call_id, 15_000)["status"] == "ok"
