"""Time of advice: meta.advise through the daemon beside a call that the daemon answers itself, and inside the actor."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psutil

from actors.advisory.actor import AdvisoryActor
from actors.base import Actor, Job
from evidence.build import to_bytes
from evidence.derive import derive
from evidence.inference import Pairs
from evidence.profiles import complete
from evidence.records import Cell, Model, Provenance, Record, TaskSet, sealed
from evidence.rules import Evidence
from protocol.actions.advisory import Consult, Handshake
from protocol.messages import ActorMessage, Raw, Work
from validation.result import Goal, Measured
from validation.run import Context
from validation.stack import Stack

P50_GOAL_MS = 2.0
CELLS = 300
"""Rules in the evidence: far more than there are."""
TASK = {"n_vars": 5, "n_atoms": 8}
PROBLEM = {
    "vars": {f"x{i}": "int 1..9" for i in range(9)},
    "constraints": [f"x{i} != x{j}" for i in range(9) for j in range(i)],
}


class _Silent(Actor):
    """An actor that sends nowhere."""

    name = "silent"

    def handlers(self) -> dict[str, Any]:
        return {}

    def post(self, message: ActorMessage) -> None:
        """Send nothing."""


def run(context: Context) -> Measured:
    """Median and 95th percentile of advice with 300 rules, in the daemon and in the actor alone."""
    count = 200 if context.quick else 2_000
    evidence = _evidence()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "evidence.json"
        path.write_bytes(to_bytes(evidence))
        context.progress(f"{count} calls of each kind, in turn, through a daemon")
        with Stack({"CHRYSALIS_EVIDENCE": str(path)}) as stack:
            client = stack.client()
            client.call("meta", "handshake", {"model": "qwen3-4b"})
            params = {"domain": "reason", "action": "solve", "task": TASK}
            times = _in_turn(
                count,
                {
                    "advise": lambda: client.call("meta", "advise", params, verbosity="terse"),
                    "discover": lambda: client.call("meta", "discover", verbosity="terse"),
                },
            )
            context.progress("processor time of advice alone")
            cpu = _cpu_ms(stack, count, lambda: client.call("meta", "advise", params, verbosity="terse"))
            stack.note_processes()
        context.progress("consultations inside the actor")
        os.environ["CHRYSALIS_DB"] = str(Path(folder) / "substrate.db")
        try:
            times["consult_in_actor"] = anyio.run(_consultations, evidence, count)
        finally:
            del os.environ["CHRYSALIS_DB"]
    figures = {name: _spread(values) for name, values in times.items()}
    advise, consult = figures["advise"]["p50_ms"], figures["consult_in_actor"]["p50_ms"]
    return Measured(
        headline=f"meta.advise p50 {advise:.2f} ms through the daemon, a consultation {consult:.3f} ms in the actor",
        figures={
            **figures,
            "advise_over_discover": round(advise / figures["discover"]["p50_ms"], 2),
            "advise_cpu_ms": cpu,
            "rules": len(evidence.rules),
            "constraints_in_a_consultation": len(PROBLEM["constraints"]),
        },
        goals=[
            Goal("meta.advise p50 through the daemon", f"<= {P50_GOAL_MS} ms", advise, advise <= P50_GOAL_MS),
            Goal("consultation p50 in the actor", f"<= {P50_GOAL_MS} ms", consult, consult <= P50_GOAL_MS),
        ],
        n=count,
    )


def _evidence() -> Evidence:
    models = [complete(Model(name=name)) for name in ("qwen3-4b", "qwen3-8b", "llama-3.1-8b")]
    return derive(
        sealed(
            Record(
                action="reason.solve",
                model=models[i % len(models)],
                cell=Cell(goal="solve", n_vars=(i // 3 + 1, i // 3 + 1)),
                task_set=TaskSet(name="made"),
                pairs=Pairs(5, 9, 1, 5),
                release="made",
                provenance=Provenance(date="2026-11-30"),
            )
        )
        for i in range(CELLS)
    )


def _cpu_ms(stack: Stack, count: int, call: Callable[[], object]) -> dict[str, float]:
    """Processor time a call takes in client, daemon and actor: what a wall clock would show on an idle machine."""
    watched = {
        "client": psutil.Process(),
        "daemon": stack.processes()[0],
        "actor": next(p for p in stack.processes() if "actors.advisory" in p.cmdline()),
    }
    before = {name: _cpu_s(process) for name, process in watched.items()}
    for _ in range(count):
        call()
    spent = {name: round((_cpu_s(p) - before[name]) / count * 1000, 3) for name, p in watched.items()}
    return {**spent, "together": round(sum(spent.values()), 3)}


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _in_turn(count: int, calls: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Each call `count` times, taking turns, so that a busy moment hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(count):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - started) * 1000)
    return times


async def _consultations(evidence: Evidence, count: int) -> list[float]:
    actor = AdvisoryActor(evidence)
    await actor.open()
    work = Work(id="h", action="meta.handshake", params=Raw(b"\x80"), session_id="s", deadline_ms=25_000)
    job = Job(work, _Silent())
    await actor.handshake(job, Handshake(model="qwen3-4b"))
    question = Consult(domain="reason", action="solve", params=PROBLEM)
    times: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        await actor.consult(job, question)
        times.append((time.perf_counter() - started) * 1000)
    await actor.stop()
    return times


def _spread(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "p50_ms": round(statistics.median(ordered), 3),
        "p95_ms": round(ordered[int(0.95 * len(ordered))], 3),
        "min_ms": round(ordered[0], 3),
    }
