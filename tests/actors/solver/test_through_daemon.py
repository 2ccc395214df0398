"""The solver as a client of the daemon meets it."""

import time


def test_a_problem_is_solved_through_the_daemon(client):
    params = {"vars": {"x": "int 1..9", "y": "int 1..9"}, "constraints": ["x + y = 17", "x < y"]}
    reply = client.call("reason", "solve", params, verbosity="detail")
    assert reply["status"] == "ok"
    assert reply["data"]["model"] == {"x": 8, "y": 9}
    assert reply["data"]["unique"] is True
    assert reply["data"]["verified"] is True
    checked = client.call("reason", "check", {**params, "assignment": {"x": 9, "y": 8}})
    assert checked["data"]["result"] == "violated"


def test_every_fault_reaches_the_client_with_a_next_step(client):
    reply = client.call("reason", "solve", {"vars": {"x": "int 1..9"}, "constraints": ["x > z", "__import__('os')"]})
    assert reply["status"] == "error"
    assert reply["data"]["code"] == "invalid_params"
    assert len(reply["data"]["faults"]) >= 2
    assert reply["next_action"]


def test_a_solve_that_never_ends_is_answered_at_its_timeout(client):
    client.call("reason", "solve", {"smt2": "(check-sat)"})
    script = "(declare-const x Int)(assert (> " + "(+ 1 (* x " * 50 + "x" + "))" * 50 + " 5))"
    started = time.monotonic()
    reply = client.call("reason", "solve", {"smt2": script, "timeout_ms": 700})
    assert reply["data"]["result"] == "unknown"
    assert reply["data"]["reason"] == "timeout"
    assert time.monotonic() - started < 15
