"""Memory and solver servers of others beside ours, through one client: tokens, start, memory, latency, writes lost."""

import statistics
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from validation import paired
from validation.llm.items import puzzle
from validation.result import Goal, Measured, MissingData
from validation.stack import Stack

from . import _peers_memory
from ._peers_client import NoAnswer, PeerClient
from ._peers_servers import MEMORIES, OURS, SOLVERS, SolverServer
from .h_mcp import tokenizer

PUZZLES = 40
SEED = 67


def run(context: Any) -> Measured:
    """Each server in turn; one that cannot be installed or started here is left out, with the reason."""
    count, figures, left_out = tokenizer(), {}, []
    sizes = (200, 1_000) if context.quick else (1_000, 10_000, 100_000)
    for server in MEMORIES:
        try:
            server.command()
            figures[server.name] = _peers_memory.measure(server, count, sizes, context.progress, quick=context.quick)
        except (MissingData, NoAnswer) as error:
            left_out.append(f"{server.name}: {error}")
    solvers: dict[str, Any] = {}
    puzzles = [puzzle(Random(SEED + number), 5 + number % 3) for number in range(8 if context.quick else PUZZLES)]
    for server in SOLVERS:
        context.progress(f"{server.name}: {len(puzzles)} puzzles")
        try:
            solvers[server.name] = _solver(server, count, puzzles)
        except (MissingData, NoAnswer) as error:
            left_out.append(f"{server.name}: {error}")
    return _measured(figures, solvers, left_out)


def _solver(server: SolverServer, count: Callable[[Any], int], puzzles: Sequence[Any]) -> dict[str, Any]:
    """One solver on all puzzles."""
    with Stack() as stack, PeerClient(server.command(), stack.environment) as client:
        tokens = count(client.tools())
        right: list[bool] = []
        times: list[float] = []
        for question, gold, params, _ in puzzles:
            asked = question.rpartition("did ")[2].split()[0].lower()
            started = time.monotonic()
            try:
                places = server.read(client.call(*server.solve(params)))
            except (NoAnswer, ValueError, KeyError):
                places = {}
            times.append(1000 * (time.monotonic() - started))
            right.append(places.get(asked) == int(gold))
        stack.note_processes()
    return {
        "version": server.version,
        "tokens": tokens,
        **paired.share(sum(right), len(right)),
        "p50_ms": round(statistics.median(times), 1),
    }


def _measured(memory: dict[str, Any], solvers: dict[str, Any], left_out: list[str]) -> Measured:
    ours = memory[OURS]
    others = {name: one for name, one in memory.items() if name != OURS}
    lost = {name: one["two clients at once"]["lost"] + one["kill -9"]["lost"] for name, one in memory.items()}
    leanest = min((one["tokens"] for one in others.values()), default=0)
    best = max((one["percent"] for one in solvers.values()), default=0)
    right = solvers[OURS]["percent"]
    lists = _told({name: one["tokens"] for name, one in memory.items()})
    solved = _told({name: one["percent"] for name, one in solvers.items()}, " %")
    return Measured(
        headline=f"tokens of the tool list: {lists}; acknowledged writes lost: {_told(lost)}; puzzles right: {solved}",
        figures={"memory": memory, "solvers": solvers, "left out": left_out},
        goals=[
            Goal(
                "tool list beside the leanest peer's", f"< {leanest} tokens", ours["tokens"], ours["tokens"] < leanest
            ),
            Goal("acknowledged writes lost, two clients and kill -9", "0", lost[OURS], lost[OURS] == 0),
            Goal("puzzles right", f">= {best} %", right, right >= best),
            Goal("memory peers measured", ">= 3", len(others), len(others) >= 3),
        ],
        n=sum(one["two clients at once"]["acknowledged"] + one["kill -9"]["acknowledged"] for one in memory.values()),
        seed=SEED,
        notes=[
            "a fact is one entity with one observation where a server has entities, one sentence where it has text",
            "lost: acknowledged, and not found by its name afterwards; `one client alone` is the same with no mishap",
            "found_by_name: asked with the bare name; found_by_question: asked as a person would",
            "latencies are taken right after storing, while ours still makes vectors of what was stored",
        ],
    )


def _told(values: dict[str, Any], unit: str = "") -> str:
    return ", ".join(f"{name} {value}{unit}" for name, value in values.items())
