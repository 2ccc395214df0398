"""Public puzzle sets from written encodings: grids, kinds of puzzle, global constraints, described problems."""
# ruff: noqa: E501 - tables and formulas read best on one line

from collections import Counter
from collections.abc import Callable
from typing import Any

from protocol.actions.reason import Solve
from validation.result import Goal, Measured
from validation.run import Context

from . import _solver_described as described
from . import _solver_grids as grids
from . import _solver_gym as gym
from . import _solver_minizinc as minizinc
from ._solver import Reply, interval, serve_all

TIMEOUT_MS = 30_000


def run(context: Context) -> Measured:
    """Each set solved through the worker; each answer held against the published one or the rules."""
    grid = _grids(context)
    kinds = {kind: _kind(context, kind) for kind in gym.KINDS}
    spec = _cases(context, "global constraints", minizinc.cases())
    told = _cases(context, "described problems", described.cases())
    short = [kind for kind, entry in kinds.items() if entry["right"] < entry["n"]]
    verified = (
        grid["verified"] + spec["verified"] + told["verified"] + sum(entry["verified"] for entry in kinds.values())
    )
    sat = grid["sat"] + spec["sat"] + told["sat"] + sum(entry["sat"] for entry in kinds.values())
    quick = context.quick
    return Measured(
        headline=f"grids {grid['unique']} unique + {grid['unsat']} unsat of {grid['n']}; {sum(e['right'] for e in kinds.values())} of {sum(e['n'] for e in kinds.values())} in {len(kinds)} kinds; {spec['right']} global-constraint cases; {told['right']} described problems",
        figures={
            "grids": grid,
            "kinds": kinds,
            "global_constraints": spec,
            "described": told,
            "re_checked": interval(verified, sat),
        },
        goals=[
            Goal("grids with a unique solution", "97", grid["unique"], quick or grid["unique"] == 97),
            Goal(
                "grids that contradict themselves, with a minimal conflict",
                "2",
                grid["unsat_with_minimal_conflict"],
                quick or grid["unsat_with_minimal_conflict"] == 2,
            ),
            Goal("kinds of puzzle all right", str(len(kinds)), len(kinds) - len(short), not short),
            Goal(
                "global-constraint cases as MiniZinc's suite lists",
                ">= 60",
                spec["right"],
                spec["right"] == spec["n"] and (quick or spec["right"] >= 60),
            ),
            Goal(
                "described problems solved and verified",
                ">= 40",
                told["right"],
                told["right"] == told["n"] and (quick or told["right"] >= 40),
            ),
            Goal("solutions confirmed by the second evaluator", f"{sat} of {sat}", verified, verified == sat),
        ],
        n=grid["n"] + spec["n"] + told["n"] + sum(entry["n"] for entry in kinds.values()),
    )


def _counts(replies: list[Reply], rights: list[bool]) -> dict[str, Any]:
    times = sorted(reply.ms for reply in replies)
    return {
        **interval(sum(rights), len(rights)),
        "right": sum(rights),
        "sat": sum(reply.result == "sat" for reply in replies),
        "verified": sum(reply.data.get("verified") is True for reply in replies),
        "ms_median": round(times[len(times) // 2], 1),
        "ms_max": round(times[-1], 1),
    }


def _grids(context: Context) -> dict[str, Any]:
    puzzles = grids.load()[:: 12 if context.quick else 1]
    replies = serve_all([grids.encode(puzzle) for puzzle in puzzles], context.progress, "grids")
    unsat = [reply for reply in replies if reply.result == "unsat"]
    conflicts = [reply.data["conflict"] for reply in unsat if reply.data.get("conflict")]
    minimal = [one for one in conflicts if one.get("members") and one.get("minimal", True)]
    return {
        **_counts(replies, [reply.result in {"sat", "unsat"} for reply in replies]),
        "unique": sum(reply.data.get("unique") is True for reply in replies),
        "unsat": len(unsat),
        "unsat_with_minimal_conflict": len(minimal),
        "conflicts": [[member["note"] for member in reply.data["conflict"]["members"]] for reply in unsat],
    }


def _kind(context: Context, kind: str) -> dict[str, Any]:
    items = gym.load(kind)[:: 15 if context.quick else 1]
    puzzles = [gym.KINDS[kind](item) for item in items]
    replies = serve_all([request for request, _ in puzzles], context.progress, kind, deadline_ms=2 * TIMEOUT_MS)
    return _counts(replies, [_right(reply, right) for reply, (_, right) in zip(replies, puzzles, strict=True)])


def _right(reply: Reply, right: Callable[[dict[str, Any]], bool]) -> bool:
    return reply.outcome is not None and reply.result in {"sat", "unsat"} and bool(right(reply.data))


def _cases(
    context: Context, what: str, cases: dict[str, tuple[Solve, Callable[[dict[str, Any]], bool]]]
) -> dict[str, Any]:
    chosen = dict(list(cases.items())[:: 12 if context.quick else 1])
    replies = serve_all([request for request, _ in chosen.values()], context.progress, what, deadline_ms=2 * TIMEOUT_MS)
    rights = [_right(reply, right) for reply, (_, right) in zip(replies, chosen.values(), strict=True)]
    wrong = {
        name: reply.outcome.summary if reply.outcome else reply.failure.message if reply.failure else ""
        for name, reply, right in zip(chosen, replies, rights, strict=True)
        if not right
    }
    return {
        **_counts(replies, rights),
        "wrong": wrong,
        "names": list(chosen),
        "results": dict(Counter(reply.result for reply in replies)),
    }
