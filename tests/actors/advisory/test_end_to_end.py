"""Advice through the real daemon and bridge: enforced when asked for, in every channel, outlasting the daemon."""

from pathlib import Path

import pytest

from evidence.build import to_bytes
from evidence.derive import derive
from evidence.hints import tokens
from evidence.records import Cell
from tests.evidence.made import CLEAR_LOSS, confirmed
from validation.mcp_lines import LinesClient
from validation.stack import Stack

PROBLEM = {"vars": {"x": "int 1..5"}, "constraints": ["x > 3", "x != 5"]}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def evidence(tmp_path) -> Path:
    path = tmp_path / "own.json"
    small = confirmed(CLEAR_LOSS, model="qwen3-4b", cell=Cell(goal="solve", n_vars=(1, 3)))
    path.write_bytes(to_bytes(derive([*small, *confirmed(model="qwen3-4b", action="memory.recall")])))
    return path


def test_with_enforcement_a_discouraged_call_is_refused_unless_overridden_and_the_hint_is_in_every_channel(evidence):
    environment = {
        "CHRYSALIS_EVIDENCE": str(evidence),
        "CHRYSALIS_ENFORCE_ADVISORY": "1",
        "CHRYSALIS_MODEL_PROFILE": "qwen3-4b",
    }
    with Stack(environment) as stack:
        client = stack.client()
        refused = client.call("reason", "solve", PROBLEM)
        assert (refused["status"], refused["data"]["code"]) == ("error", "discouraged")
        assert refused["advisory"]["level"] == "discouraged"
        let_through = client.call("reason", "solve", {**PROBLEM, "override": True})
        assert (let_through["status"], let_through["data"]["model"]) == ("ok", {"x": 4})
        shaken = client.call("meta", "handshake", {"model": "llama-3.2-3b"})
        assert shaken["data"]["profile"]["source"] == "forced"
        assert "memory.recall" in shaken["data"]["prompt_hint"]
        with LinesClient(stack.environment) as bridge:
            instructions = bridge.initialize()["result"]["instructions"]
            modern = bridge.request("server/discover", {"_meta": MODERN})["result"]["instructions"]
            described = bridge.request("tools/list", {})["result"]["tools"][0]["description"]
        hint = "Use memory.recall: 25 of 30 right with it, 6 without."
        assert hint in instructions
        assert hint in modern
        assert hint in described
        assert tokens(described) < 400
        stack.note_processes()


def test_without_enforcement_nothing_is_refused_one_handshake_changes_no_tool_and_profiles_outlast_the_daemon(
    evidence, tmp_path
):
    stack = Stack({"CHRYSALIS_EVIDENCE": str(evidence)}, keep=tmp_path)
    with stack:
        with LinesClient(stack.environment, "one") as one, LinesClient(stack.environment, "other") as other:
            before = other.request("tools/list", {})["result"]["tools"]
            one.call("meta", "handshake", {"model": "qwen3-4b"}, session_id="mine")
            solved = one.call("reason", "solve", PROBLEM, session_id="mine", verbosity="terse")
            assert (solved["status"], solved["advisory"]["level"]) == ("ok", "discouraged")
            assert "do without reason.solve" in solved["advisory"]["hint"]
            assert other.call("reason", "solve", PROBLEM).get("advisory") is None
            assert other.request("tools/list", {})["result"]["tools"] == before
        stack.note_processes()
    with stack:
        advised = stack.client().call(
            "meta", "advise", {"domain": "reason", "action": "solve", "task": PROBLEM}, session_id="mine"
        )
        assert (advised["data"]["level"], advised["data"]["source"]) == ("discouraged", "declared")
        assert advised["data"]["basis"]["n"] == 30
