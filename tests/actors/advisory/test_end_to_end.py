"""Advice through the real daemon and bridge: enforced when asked for, in every channel, outlasting the daemon."""

import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from evidence.build import to_bytes
from evidence.derive import derive
from evidence.hints import tokens
from evidence.records import Cell
from tests.evidence.made import CLEAR_LOSS, confirmed
from validation.mcp_lines import LinesClient
from validation.stack import Stack

PROBLEM = {"vars": {"x": "int 1..5"}, "constraints": ["x > 3", "x != 5"]}
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
"""Mode of the official client and the revision that it then speaks."""
ROOT = Path(__file__).resolve().parents[3]
HINT = "Use memory.recall: 25 of 30 right with it, 6 without."
WAIT_S = 30


def as_official_client(stack, era):
    """What the official client sees: instructions, description, the reply of a recall."""

    async def main():
        bridge = StdioServerParameters(
            command=sys.executable, args=["-m", "launcher.bridge"], env=stack.environment, cwd=str(ROOT)
        )
        with anyio.fail_after(WAIT_S):
            async with Client(bridge, mode=era) as client:
                (tool,) = (await client.list_tools()).tools
                call = {"domain": "memory", "action": "recall", "params": {"query": "who?"}, "verbosity": "terse"}
                reply = {}
                while "advisory" not in reply:  # a busy daemon answers without waiting for advice
                    reply = (await client.call_tool("chrysalis", call)).structured_content
                    assert reply["status"] == "ok", reply
                assert client.protocol_version == ERAS[era]
                return client.instructions, tool.description, reply

    return anyio.run(main)


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
        for era in ERAS:
            instructions, described, reply = as_official_client(stack, era)
            assert HINT in instructions
            assert HINT in described
            assert tokens(described) < 400
            assert reply["advisory"]["hint"] == HINT
        stack.note_processes()


def test_without_enforcement_nothing_is_refused_one_handshake_changes_no_tool_and_profiles_outlast_the_daemon(
    evidence, tmp_path
):
    stack = Stack({"CHRYSALIS_EVIDENCE": str(evidence)}, keep=tmp_path)
    with stack:
        with LinesClient(stack.environment, "one") as one, LinesClient(stack.environment, "other") as other:
            before = other.request("tools/list", {})["result"]["tools"]
            one.call("meta", "handshake", {"model": "qwen3-4b"}, session_id="mine")
            solved = {}
            while "advisory" not in solved:  # a busy daemon answers without waiting for advice
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
