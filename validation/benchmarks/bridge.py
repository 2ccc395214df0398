"""The MCP bridge beside the official SDK's stdio server: start, memory, leaving, broken lines, one answer per id."""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from protocol import tool
from validation.mcp_lines import BRIDGE
from validation.result import Goal, Measured
from validation.stack import Stack

from ._bridge_client import Bridge
from ._bridge_exits import all_ways
from ._bridge_fuzz import Line, Tally, lines

OFFICIAL: Final = (sys.executable, str(Path(__file__).with_name("_bridge_official.py")), str(tool.PATH))
MAIN: Final = ("tools/call", {"name": tool.NAME, "arguments": {"domain": "meta", "action": "discover"}})


def cpu_ms(pid: int) -> float:
    """Processor time of a whole process so far, by its own clock (clock_getcpuclockid)."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e6


def private_mib(pid: int) -> float:
    """Memory that nobody shares with the process (USS)."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in rollup}
    return (sizes["Private_Clean"] + sizes["Private_Dirty"]) / 1024


def _start(run: Path, command: Sequence[str]) -> dict[str, float]:
    """One start: wall and processor time until `initialize` is answered, private memory then and after a call."""
    before = time.monotonic()
    with Bridge(run, command) as server:
        server.initialize()
        wall = (time.monotonic() - before) * 1000
        figures = {"cpu_ms": cpu_ms(server.process.pid), "wall_ms": wall, "start_mib": private_mib(server.process.pid)}
        server.ask("tools/list")
        server.ask(*MAIN)
        return {**figures, "served_mib": private_mib(server.process.pid), "served_cpu_ms": cpu_ms(server.process.pid)}


def _floor() -> float:
    """Processor time of a Python that does nothing but wait for a line."""
    code = "import sys; print(flush=True); sys.stdin.readline()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as process:
        assert process.stdout
        process.stdout.readline()
        return cpu_ms(process.pid)


def _starts(run: Path, repeats: int) -> dict[str, dict[str, float]]:
    """Medians, both servers taking turns so that a busy machine is busy for both."""
    rows: dict[str, list[dict[str, float]]] = {"bridge": [], "official": [], "bare Python": []}
    for _ in range(repeats):
        rows["bare Python"].append({"cpu_ms": _floor()})
        rows["bridge"].append(_start(run, BRIDGE))
        rows["official"].append(_start(run, OFFICIAL))
    return {
        name: {key: round(statistics.median(row[key] for row in taken), 2) for key in taken[0]}
        for name, taken in rows.items()
    }


def _fuzz(run: Path, count: int, seed: int) -> tuple[Tally, list[Line], float]:
    """Send every line as fast as it is taken; collect what comes back."""
    tally, sent = Tally(), list(lines(seed, count))
    for line in sent:
        tally.sent(line)
    before = time.monotonic()
    with Bridge(run) as bridge:
        bridge.initialize()
        writer = threading.Thread(target=lambda: [bridge.write(line.text + b"\n") for line in sent])
        writer.start()
        for _ in range(tally.expected):
            tally.answered(bridge.read_line(60))
        writer.join()
        bridge.begin("ping")
        tally.trailing(bridge.read())
    return tally, sent, time.monotonic() - before


def _malformed(run: Path, count: int, seed: int) -> tuple[int, int]:
    """Broken lines one at a time, each waited for: how many there were, how many were answered in a second."""
    broken = [line for line in lines(seed, count) if line.kind not in ("sound", "notification") and line.answers]
    answered = 0
    with Bridge(run) as bridge:
        bridge.initialize()
        for line in broken:
            bridge.write(line.text + b"\n")
            answered += bool(bridge.read_line(1.0))
    return len(broken), answered


def run(context: Any) -> Measured:
    """Everything of it, against a real daemon."""
    repeats, count, seed = (3, 2_000, 1) if context.quick else (15, 10_000, 1)
    with Stack() as stack:
        context.progress("starts, taking turns with the official server")
        starts = _starts(stack.runtime, repeats)
        context.progress("broken lines, one at a time")
        broken, answered = _malformed(stack.runtime, count // 10, seed + 1)
        context.progress(f"{count} lines, sound and broken")
        tally, sent, fuzz_s = _fuzz(stack.runtime, count, seed)
    context.progress("leaving")
    exits = all_ways(BRIDGE, 1 if context.quick else 5)
    official_exits = all_ways(OFFICIAL, 1)
    with tempfile.TemporaryDirectory(prefix="cz") as directory:
        context.progress("requests a second")
        rate = _rate(Path(directory) / "r", count)
    return _measured(starts, (broken, answered), (tally, sent, fuzz_s), (exits, official_exits), rate=rate, seed=seed)


def _rate(run: Path, count: int) -> float:
    """Pings a second, one after the other."""
    with Bridge(run) as bridge:
        bridge.initialize()
        before = time.monotonic()
        for _ in range(count):
            bridge.ask("ping")
        return count / (time.monotonic() - before)


def _measured(
    starts: dict[str, dict[str, float]],
    malformed: tuple[int, int],
    fuzz: tuple[Tally, list[Line], float],
    exits: tuple[dict[str, list[float | None]], dict[str, list[float | None]]],
    *,
    rate: float,
    seed: int,
) -> Measured:
    ours, theirs = starts["bridge"], starts["official"]
    tally, sent, fuzz_s = fuzz
    cpu_ratio = round(theirs["cpu_ms"] / ours["cpu_ms"], 1)
    memory_ratio = round(theirs["served_mib"] / ours["served_mib"], 1)
    slowest = max((value for taken in exits[0].values() for value in taken if value is not None), default=0.0)
    stayed = sum(value is None for taken in exits[0].values() for value in taken)
    faults = tally.faults()
    kinds = {kind: sum(line.kind == kind for line in sent) for kind in sorted({line.kind for line in sent})}
    return Measured(
        headline=(
            f"initialize answered after {ours['cpu_ms']:.0f} ms CPU, {ours['served_mib']:.1f} MiB private "
            f"(official server: {theirs['cpu_ms']:.0f} ms, {theirs['served_mib']:.1f} MiB; bare Python: "
            f"{starts['bare Python']['cpu_ms']:.0f} ms); "
            f"{len(sent)} lines, {tally.expected} answers owed, {len(faults)} faults"
        ),
        figures={
            "start": starts,
            "cpu_ratio": cpu_ratio,
            "memory_ratio": memory_ratio,
            "exit_s": json.loads(json.dumps(exits[0])),
            "official_exit_s": json.loads(json.dumps(exits[1])),
            "malformed": {"lines": malformed[0], "answered_within_1_s": malformed[1]},
            "fuzz": {
                "lines": kinds,
                "answers_owed": tally.expected,
                "answers_given": sum(tally.given.values()),
                "faults": faults[:20],
                "seconds": round(fuzz_s, 2),
            },
            "pings_per_s": round(rate),
        },
        goals=[
            Goal("start to initialize answered, CPU", "<= 60 ms", ours["cpu_ms"], ours["cpu_ms"] <= 60),
            Goal("private memory after a call", "<= 10 MiB", ours["served_mib"], ours["served_mib"] <= 10),
            Goal("CPU against the official server", ">= 10x less", cpu_ratio, cpu_ratio >= 10),
            Goal("memory against the official server", ">= 5x less", memory_ratio, memory_ratio >= 5),
            Goal(
                "leaves on EOF, EPIPE, SIGTERM, SIGINT, parent gone",
                "<= 1 s each time",
                round(slowest, 3),
                slowest <= 1 and not stayed,
            ),
            Goal("malformed lines answered", "all", f"{malformed[1]}/{malformed[0]}", malformed[0] == malformed[1] > 0),
            Goal("exactly one answer per id in fuzzed lines", "0 faults", len(faults), not faults),
        ],
        n=len(sent),
        seed=seed,
    )
