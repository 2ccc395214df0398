"""kill -9 of random processes of ours while four clients write, start races, a second daemon, and fatal."""

import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import apsw

from protocol.client import Client
from validation.benchmarks._faults import Executioner, Writer, our_processes, wait_healthy, wait_until
from validation.mcp_lines import LinesClient
from validation.result import Goal, Measured
from validation.run import Context
from validation.stack import Stack

WRITERS = 4
KILLS = 200
RACES = 50
HEALTHY_S = 5.0
SEED = 20261130


def _stored(database: Path) -> dict[str, int]:
    """How many edges each subject has in the database file."""
    connection = apsw.Connection(f"file:{database}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    rows: list[Any] = connection.execute(
        "SELECT node.name, count(*) FROM edge JOIN node ON node.id = edge.subject "
        "WHERE invalidated_ns IS NULL GROUP BY node.id"
    ).fetchall()
    found: dict[str, int] = dict(rows)
    connection.close()
    return found


def _stop_daemon(stack: Stack) -> list[str]:
    """Stop whatever daemon runs and say what is left of it all after that."""
    runtime = str(stack.runtime)
    with Client(kind="test", endpoint=stack.endpoint, connect_timeout_s=10) as client:
        client.control("stop")
    wait_until(lambda: not any(our_processes(runtime).values()), 15)
    left = [f"{kind} {p.pid}" for kind, found in our_processes(runtime).items() for p in found]
    return left + [path.name for path in stack.runtime.glob("*.sock")]


def _kill_at_random(context: Context, stack: Stack, kills: int) -> dict[str, Any]:
    writers = [Writer(number, stack.environment) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    first = wait_healthy(stack.endpoint, 60)
    executioner = Executioner(str(stack.runtime), random.Random(SEED))
    recoveries: list[float] = []
    unhealthy: list[str] = []
    while sum(executioner.killed.values()) < kills:
        kind = executioner.strike()
        if kind is None:
            time.sleep(0.05)
            continue
        took = wait_healthy(stack.endpoint, 30)
        recoveries.append(30.0 if took is None else took)
        if took is None:
            unhealthy.append(kind)
        if sum(executioner.killed.values()) % 20 == 0:
            context.progress(f"{sum(executioner.killed.values())} kills, slowest recovery {max(recoveries):.2f} s")
    for writer in writers:
        writer.stop()
    for writer in writers:
        writer.join(90)
    acknowledged = {subject: made for writer in writers for subject, made in writer.acknowledged.items()}
    left = _stop_daemon(stack)
    stored = _stored(stack.directory / "data" / "chrysalis" / "substrate.db")
    return {
        "first_healthy_s": round(first or 60.0, 2),
        "kills": dict(executioner.killed),
        "acknowledged": len(acknowledged),
        "lost": [subject for subject in acknowledged if subject not in stored][:20],
        "doubled": [s for s, made in acknowledged.items() if made != 1 or stored.get(s, 1) != 1][:20],
        "missing": [text for writer in writers for text in writer.missing][:20],
        "retried_errors": {
            code: sum(w.refused[code] for w in writers) for code in {c for w in writers for c in w.refused}
        },
        "solved": sum(writer.solved for writer in writers),
        "bridges_used": sum(writer.bridges for writer in writers),
        "recovery_p50_s": round(statistics.median(recoveries), 2),
        "recovery_max_s": round(max(recoveries), 2),
        "unhealthy_after": unhealthy,
        "left_behind": left,
    }


def _race(stack: Stack) -> tuple[bool, list[str]]:
    """Two bridges at once and no daemon: whether both were served by one and the same."""
    bridges = [LinesClient(stack.environment, f"race-{number}") for number in range(2)]
    try:
        for bridge in bridges:
            bridge.initialize()
        calls = [bridge.begin_call("meta", "discover", {}, verbosity="terse") for bridge in bridges]
        served = [b.wait(n, 30)["result"]["structuredContent"]["status"] for b, n in zip(bridges, calls, strict=True)]
        daemons = our_processes(str(stack.runtime))["daemon"]
        one = served == ["ok", "ok"] and len(daemons) == 1
    finally:
        for bridge in bridges:
            bridge.close()
    return one, _stop_daemon(stack)


def _second_daemon_refused(stack: Stack) -> bool:
    stack.start()
    second = subprocess.run(
        [sys.executable, "-m", "daemon"], env=stack.environment, capture_output=True, text=True, timeout=30, check=False
    )
    with stack.client() as client:
        served = client.call("meta", "discover")["status"] == "ok"
    return served and second.returncode == 1 and "already running" in second.stderr


def _fatal_and_the_rest_goes_on(stack: Stack) -> dict[str, Any]:
    """Kill advisory five times as soon as it runs; then see what the others do, and restart it."""
    with stack.client() as client:
        for _ in range(5):
            wait_until(lambda: client.control("status")["actors"]["advisory"]["state"] == "running", 20)
            os.kill(client.control("status")["actors"]["advisory"]["pid"], signal.SIGKILL)
            wait_until(lambda: client.control("status")["actors"]["advisory"]["state"] != "running", 5)
        fatal = wait_until(lambda: client.control("status")["actors"]["advisory"]["state"] == "fatal", 5)
        refused = client.call("meta", "handshake", {"model": "any"})
        recall = client.call("memory", "recall", {"query": "anything"})
        client.control("restart", "advisory")
        back = wait_until(lambda: client.control("status")["actors"]["advisory"]["state"] == "running", 20)
    return {
        "fatal": fatal,
        "its_calls": refused["data"]["code"],
        "says_what_to_do": "chrysalis restart advisory" in refused["next_action"],
        "others_serve": recall["status"] == "ok",
        "restart_leaves_fatal": back,
    }


def run(context: Context) -> Measured:
    """Break everything that can be broken by killing it, and count what was lost."""
    kills, races = (20, 5) if context.quick else (KILLS, RACES)
    directory = Path(tempfile.mkdtemp(prefix="cz"))
    try:
        stack = Stack(keep=directory)
        stack.directory.mkdir(exist_ok=True)
        context.progress(f"{kills} kills while {WRITERS} clients write")
        killed = _kill_at_random(context, stack, kills)
        outcomes: list[bool] = []
        left: list[str] = killed["left_behind"]
        for number in range(races):
            one, remains = _race(stack)
            outcomes.append(one)
            left += remains
            if number % 10 == 9:
                context.progress(f"{number + 1} start races")
        context.progress("a second daemon; an actor that dies five times")
        refused = _second_daemon_refused(stack)
        fatal = _fatal_and_the_rest_goes_on(stack)
        stack.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return _measured(killed, outcomes, refused=refused, fatal=fatal, left=left)


def _measured(
    killed: dict[str, Any], outcomes: list[bool], *, refused: bool, fatal: dict[str, Any], left: list[str]
) -> Measured:
    total = sum(killed["kills"].values())
    goals = [
        Goal("acknowledged writes lost", "0", len(killed["lost"]), not killed["lost"]),
        Goal("writes doubled", "0", len(killed["doubled"]), not killed["doubled"]),
        Goal("answers missing", "0", len(killed["missing"]), not killed["missing"]),
        Goal(
            "all healthy again",
            f"<= {HEALTHY_S} s each time",
            killed["recovery_max_s"],
            killed["recovery_max_s"] <= HEALTHY_S,
        ),
        Goal("two bridges at once, one daemon", f"{len(outcomes)} of {len(outcomes)}", sum(outcomes), all(outcomes)),
        Goal("a second daemon is refused", "yes", refused, refused),
        Goal("five deaths are fatal, the rest goes on", "yes", fatal, all(bool(value) for value in fatal.values())),
        Goal("processes, sockets left behind", "0", len(left), not left),
    ]
    return Measured(
        headline=f"{total} kills: {killed['acknowledged']} acknowledged writes, {len(killed['lost'])} lost, "
        f"{len(killed['doubled'])} doubled, {len(killed['missing'])} answers missing; "
        f"healthy again in {killed['recovery_p50_s']} s (p50), {killed['recovery_max_s']} s (max); "
        f"{sum(outcomes)} of {len(outcomes)} start races made one daemon",
        figures={
            **killed,
            "left_behind": left,
            "races": len(outcomes),
            "races_one_daemon": sum(outcomes),
            "fatal": fatal,
        },
        goals=goals,
        n=total,
        seed=SEED,
    )
