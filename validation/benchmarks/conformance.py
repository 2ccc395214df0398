"""The official conformance suite against the HTTP endpoint and, behind a thin adapter, against the stdio bridge."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from validation.result import ROOT, Goal, Measured
from validation.stack import Stack

from ._bridge_foreign import CONFORMANCE, node, npm_program

LEGACY, MODERN = "2025-11-25", "2026-07-28"
_FIXTURE: Final = "needs a fixture tool of the suite's own that asks for sampling or logs"
_NOT_OURS: Final = "a tools-only server has neither prompts nor resources"
_TRANSPORT: Final = "a rule of HTTP; the adapter in front of the bridge has no part in it"

EXCUSED: Final[Mapping[str, str]] = {
    "sep-2575-server-rejects-undeclared-capability": _FIXTURE,
    "sep-2575-missing-capability-http-400": _FIXTURE,
    "sep-2575-http-server-no-independent-requests-on-stream": _FIXTURE,
    "sep-2575-server-no-log-without-loglevel": _FIXTURE,
    "sep-2549-prompts-list-caching-hints": _NOT_OURS,
    "sep-2549-resources-list-caching-hints": _NOT_OURS,
    "sep-2549-resources-templates-list-caching-hints": _NOT_OURS,
}
"""Checks that cannot pass for a server with one tool, and why."""

EXCUSED_STDIO: Final[Mapping[str, str]] = {
    "sep-2575-http-server-header-mismatch-400": _TRANSPORT,
}

HTTP: Final = (
    ("server-initialize", LEGACY), ("ping", LEGACY), ("tools-list", LEGACY), ("server-session-lifecycle", LEGACY),
    ("dns-rebinding-protection", LEGACY), ("server-sse-multiple-streams", LEGACY),
    ("tools-list", MODERN), ("server-stateless", MODERN), ("caching", MODERN), ("dns-rebinding-protection", MODERN),
    ("http-header-validation", MODERN), ("server-sse-multiple-streams", MODERN),
    ("sep-2164-resource-not-found", MODERN),
)  # fmt: skip
STDIO: Final = (
    ("server-initialize", LEGACY), ("ping", LEGACY), ("tools-list", LEGACY), ("server-session-lifecycle", LEGACY),
    ("tools-list", MODERN), ("server-stateless", MODERN), ("caching", MODERN),
)  # fmt: skip


@contextmanager
def _server(module: str, stack: Stack) -> "Generator[str]":
    """A server process on a free port; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", module, str(port)], env=stack.environment, cwd=ROOT)
    try:
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < until, f"{module} does not listen"
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


def scenario(url: str, name: str, version: str) -> dict[str, Any]:
    """One scenario: checks passed and in all, and the names of those that failed."""
    program = [str(node()), str(npm_program(CONFORMANCE, "conformance")), "server", "--url", url]
    done = subprocess.run(
        [*program, "--scenario", name, "--spec-version", version],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    found = re.search(r"Passed: (\d+)/(\d+)", text)
    failed = sorted(set(re.findall(r"\[([\w.-]+)\s*\]\s+FAILURE", text)))
    passed, checks = (int(found[1]), int(found[2])) if found else (0, 0)
    return {"scenario": name, "version": version, "passed": passed, "checks": checks, "failed": failed}


def _judged(rows: list[dict[str, Any]], excused: Mapping[str, str]) -> tuple[int, int, list[str]]:
    """Checks passed, checks that apply, and failures that have no excuse."""
    passed = sum(row["passed"] for row in rows)
    pardoned = sum(name in excused for row in rows for name in row["failed"])
    faults = [f"{row['scenario']} {name}" for row in rows for name in row["failed"] if name not in excused]
    faults += [f"{row['scenario']} {row['version']} did not run" for row in rows if not row["checks"]]
    return passed, sum(row["checks"] for row in rows) - pardoned, faults


def run(context: Any) -> Measured:
    """Every scenario that applies to a server with one tool."""
    rows: dict[str, list[dict[str, Any]]] = {}
    with Stack() as stack:
        for name, module, wanted in (("http", "_conformance_http", HTTP), ("stdio", "_conformance_adapter", STDIO)):
            chosen = wanted[:3] if context.quick else wanted
            with _server(f"validation.benchmarks.{module}", stack) as url:
                rows[name] = []
                for what, version in chosen:
                    context.progress(f"{name}: {what} {version}")
                    rows[name].append(scenario(url, what, version))
    http = _judged(rows["http"], EXCUSED)
    stdio = _judged(rows["stdio"], {**EXCUSED, **EXCUSED_STDIO})
    return Measured(
        headline=f"HTTP {http[0]}/{http[1]} checks that apply, stdio {stdio[0]}/{stdio[1]}",
        figures={
            "http": rows["http"],
            "stdio": rows["stdio"],
            "excused": {**EXCUSED, **EXCUSED_STDIO},
            "faults": {"http": http[2], "stdio": stdio[2]},
        },
        goals=[
            Goal("HTTP endpoint, checks that apply", "all", f"{http[0]}/{http[1]}", not http[2]),
            Goal("stdio bridge behind an adapter, checks that apply", "all", f"{stdio[0]}/{stdio[1]}", not stdio[2]),
        ],
        n=http[1] + stdio[1],
    )
