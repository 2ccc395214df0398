"""Peers: the same puzzle in each solver's words, answers read back, and a client that is the same for all servers."""

import itertools
import json
import os
import random
import sys

import pytest

from validation.benchmarks._peers_client import NoAnswer, PeerClient
from validation.benchmarks._peers_servers import MEMORIES, SOLVERS
from validation.llm.items import puzzle

BY_NAME = {server.name: server for server in SOLVERS}
SERVER = """
import json, sys, time
print("hello, I am a server that greets")
for line in sys.stdin:
    got = json.loads(line)
    if "id" not in got:
        continue
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
    name = got["params"].get("name")
    if name == "hang":
        time.sleep(60)
    if name == "die":
        sys.exit(1)
    result = {"tools": [{"name": "t", "inputSchema": {}}]}
    if name:
        result = {"content": [{"type": "text", "text": name}], "isError": name == "bad"}
    print(json.dumps({"jsonrpc": "2.0", "id": got["id"], "result": result}), flush=True)
"""


def solve_linear(call):
    """The places that chuk's model allows, by trying all."""
    _, model = call
    names = [v["id"] for v in model["variables"]]
    ranges = [range(v["domain"]["lower"], v["domain"]["upper"] + 1) for v in model["variables"]]

    def holds(rule, at):
        params = rule["params"]
        if rule["kind"] == "all_different":
            values = [at[name] for name in params["vars"]]
            return len(set(values)) == len(values)
        total = sum(term["coef"] * at[term["var"]] for term in params["terms"])
        return total <= params["rhs"] if params["sense"] == "<=" else total == params["rhs"]

    every = (dict(zip(names, values, strict=True)) for values in itertools.product(*ranges))
    return [at for at in every if all(holds(rule, at) for rule in model["constraints"])]


def test_the_integer_model_means_the_same_puzzle(rng):
    """One solution, and the gold answer in it."""
    question, gold, params, _ = puzzle(rng, 4)
    asked = question.rpartition("did ")[2].split()[0].lower()
    (only,) = solve_linear(BY_NAME["chuk-mcp-solver"].solve(params))
    assert str(only[asked]) == gold


def test_the_smt_lib_text_means_the_same_puzzle():
    """Z3 itself finds the gold answer, and no second one."""
    import z3

    question, gold, params, _ = puzzle(random.Random(4), 5)
    asked = question.rpartition("did ")[2].split()[0].lower()
    text = BY_NAME["z3smt-mcp"].solve(params)[1]["smtlib_code"].replace("(check-sat)", "").replace("(get-model)", "")
    solver = z3.Solver()
    solver.from_string(text)
    assert solver.check() == z3.sat
    assert str(solver.model()[z3.Int(asked)]) == gold
    solver.add(z3.Int(asked) != int(gold))
    assert solver.check() == z3.unsat


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("z3smt-mcp", "Status: sat\nModel:\n  ann = 1\n  bob = 3"),
        ("z3smt-mcp", "[bob = 3, ann = 1]"),
        ("z3smt-mcp", '{"ann": "1", "bob": "3"}'),
        ("z3smt-mcp", "(define-fun ann () Int\n 1)(define-fun bob () Int 3)"),
        (
            "chuk-mcp-solver",
            '{"solutions": [{"variables": [{"id": "ann", "value": 1.0}, {"id": "bob", "value": 3.0}]}]}',
        ),
        ("chrysalis", '{"data": {"model": {"ann": 1, "bob": 3}, "unique": true}}'),
    ],
)
def test_answers_are_read_as_each_server_writes_them(name, text):
    """Places by name, whatever the form."""
    found = BY_NAME[name].read(text)
    assert (found["ann"], found["bob"]) == (1, 3)


def test_an_answer_without_a_solution_is_read_as_none():
    """It counts as wrong."""
    assert BY_NAME["chuk-mcp-solver"].read('{"solutions": []}') == {}
    assert BY_NAME["chrysalis"].read(json.dumps({"data": {"model": {"a": 1}, "unique": False}})) == {}


@pytest.mark.parametrize("server", MEMORIES, ids=lambda server: server.name)
def test_every_memory_server_is_given_subject_relation_and_object(server):
    """No server is asked to store less than another."""
    one, two = ("Ada", "works at", "the lab"), ("Bob", "owns", "a ship")
    for facts in ([one], [one, two]):
        sent = json.dumps(server.store(facts))
        assert all(part in sent for fact in facts for part in fact)
    assert "where is Ada" in json.dumps(server.recall("where is Ada"))


def test_the_client_overlooks_greetings_and_notices_and_tells_silence_from_errors():
    """And leaves no process behind."""
    with PeerClient([sys.executable, "-c", SERVER], os.environ) as client:
        assert client.tools() == [{"name": "t", "description": None, "inputSchema": {}}]
        assert client.call("fine", {}) == "fine"
        with pytest.raises(NoAnswer, match="bad"):
            client.call("bad", {})
        with pytest.raises(NoAnswer, match="in time"):
            client.call("hang", {}, wait_s=0.2)
    with PeerClient([sys.executable, "-c", SERVER], os.environ) as client, pytest.raises(NoAnswer, match="ended"):
        client.call("die", {})
    assert client.family() == []
