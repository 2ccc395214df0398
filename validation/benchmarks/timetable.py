"""An impossible timetable of thirty sentences: the smallest guilty set, in the user's words, and which one to drop."""
# ruff: noqa: E501 - tables and formulas read best on one line

import itertools

from protocol.actions.reason import Solve
from validation.result import Goal, Measured
from validation.run import Context

from . import _solver_timetable as timetable
from ._solver import serve_all, serve_each


def run(context: Context) -> Measured:
    """Solve it, then check every claim of the answer by solving each smaller problem afresh."""
    whole = _request([rule["name"] for rule in timetable.CONSTRAINTS])
    reply = serve_each([whole], context.progress)[0]
    conflict = reply.data.get("conflict") or {"members": []}
    members = conflict["members"]
    guilty = [member["name"] for member in members]
    names = [rule["name"] for rule in timetable.CONSTRAINTS]
    smaller = [list(subset) for subset in itertools.combinations(guilty, len(guilty) - 1)]
    without = [[name for name in names if name != dropped] for dropped in guilty]
    checks = serve_all([_request(chosen) for chosen in [guilty, *smaller, *without]], context.progress, "re-checks")
    is_conflict = checks[0].result == "unsat"
    minimal = all(one.result == "sat" for one in checks[1 : 1 + len(smaller)])
    truly = {name: one.result == "sat" for name, one in zip(guilty, checks[1 + len(smaller) :], strict=True)}
    told = {member["name"]: member.get("dropping_it_helps") for member in members}
    sentences = {rule["name"]: rule["note"] for rule in timetable.CONSTRAINTS}
    in_own_words = all(member.get("note") == sentences[member["name"]] for member in members)
    return Measured(
        headline=f"{len(guilty)} of 30 sentences named, {sum(truly.values())} single removals help; found in {reply.ms:.0f} ms",
        figures={
            "result": reply.result,
            "summary": reply.outcome.summary if reply.outcome else "",
            "next_action": reply.outcome.next_action if reply.outcome else "",
            "conflict": members,
            "claimed_smallest": conflict.get("smallest", False),
            "expected": sorted(timetable.GUILTY),
            "ms": round(reply.ms, 1),
        },
        goals=[
            Goal(
                "the guilty set is the one there is",
                str(sorted(timetable.GUILTY)),
                sorted(guilty),
                set(guilty) == timetable.GUILTY,
            ),
            Goal(
                "it is unsatisfiable, and every smaller part is satisfiable",
                "both",
                [is_conflict, minimal],
                is_conflict and minimal,
            ),
            Goal("what is said of single removals is so", "all", told, told == truly),
            Goal("the sentences are the user's own", "all", in_own_words, in_own_words),
            Goal(
                "it is proved to be a smallest one",
                "yes",
                conflict.get("smallest", False),
                conflict.get("smallest") is True,
            ),
        ],
        n=1 + len(checks),
    )


def _request(names: list[str]) -> Solve:
    chosen = [rule for rule in timetable.CONSTRAINTS if rule["name"] in names]
    return Solve(types=timetable.TYPES, vars=timetable.VARS, constraints=chosen)
