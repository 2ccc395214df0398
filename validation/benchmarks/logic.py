"""Published logic programs solved exactly: verified ones all right, faulty ones answered or told what is wrong."""
# ruff: noqa: E501 - tables and formulas read best on one line

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from protocol.actions.reason import Solve
from validation.result import Goal, Measured
from validation.run import Context

from . import _solver_logic as programs
from ._solver import Reply, interval, serve_all

SEED = 0
FILES = {"gpt-4 on AR-LSAT": "arlsat_programs_gpt-4_150"}


def run(context: Context) -> Measured:
    """Verified LogicalDeduction and AR-LSAT programs, 600 unverified ones, and three attempts to break out."""
    verified = programs.load("logicaldeduction_verified_180")
    lsat = programs.load("arlsat_verified_25")
    if context.quick:
        verified, lsat = verified[::9], lsat[::5]
    infix = serve_all([programs.translate(item["program"]) for item in verified], context.progress, "infix")
    direct = serve_all([Solve(program=item["program"]) for item in verified], context.progress, "programs as they are")
    law = serve_all([Solve(program=item["program"]) for item in lsat], context.progress, "AR-LSAT")
    written = {model: _as_written(context, model) for model in programs.MODELS}
    lsat_written = _as_written(context, "gpt-4 on AR-LSAT")
    refused = _refusals(context)
    right = [
        sum(_answers(reply, item) for reply, item in zip(replies, items, strict=True))
        for replies, items in ((infix, verified), (direct, verified), (law, lsat))
    ]
    ended = sum(entry["answered"] + entry["told_what_is_wrong"] for entry in written.values())
    total = sum(entry["n"] for entry in written.values())
    goals = [
        Goal(
            "LogicalDeduction, verified, as infix constraints",
            f"{len(verified)} of {len(verified)}",
            right[0],
            right[0] == len(verified),
        ),
        Goal(
            "LogicalDeduction, verified, as Logic-LM programs",
            f"{len(verified)} of {len(verified)}",
            right[1],
            right[1] == len(verified),
        ),
        Goal("AR-LSAT, verified, as Logic-LM programs", f"{len(lsat)} of {len(lsat)}", right[2], right[2] == len(lsat)),
        Goal(
            "programs as models wrote them end in an answer or a named fault",
            f"{total} of {total}",
            ended,
            ended == total,
        ),
        Goal(
            "attempts to run code or write files are refused and write nothing",
            "all",
            refused["refused"],
            refused["refused"] == refused["n"] and not refused["files"],
        ),
    ]
    accuracies = ", ".join(f"{model} {entry['accuracy']} %" for model, entry in written.items())
    times = sorted(reply.ms for reply in infix)
    return Measured(
        headline=f"LogicalDeduction {right[0]}/{len(verified)}, AR-LSAT {right[2]}/{len(lsat)}; as written by models: {accuracies}",
        figures={
            "logicaldeduction_infix": {"right": right[0], **interval(right[0], len(verified))},
            "logicaldeduction_program": {"right": right[1], **interval(right[1], len(verified))},
            "arlsat_program": {"right": right[2], **interval(right[2], len(lsat))},
            "verified_by_second_evaluator": sum(reply.data.get("verified") is True for reply in infix + direct + law),
            "ms_median_three_at_once": round(times[len(times) // 2], 1),
            "as_written": written,
            "arlsat_as_written": lsat_written,
            "refusals": refused,
        },
        goals=goals,
        n=len(verified) * 2 + len(lsat) + total,
        seed=SEED,
        notes=["accuracy of Logic-LM's paper (Table 2, whole sets) is beside ours on the subset that lies here"],
    )


def _answers(reply: Reply, item: dict[str, Any]) -> bool:
    return reply.data.get("answer") == [item["answer"]]


def _as_written(context: Context, model: str) -> dict[str, Any]:
    items = programs.load(FILES.get(model, f"logicaldeduction_programs_{model}_200"))
    if context.quick:
        items = items[::20]
    replies = serve_all(
        [Solve(program=programs.program_of(item)) for item in items], context.progress, f"as written by {model}"
    )
    kinds = Counter(_kind(reply, item) for reply, item in zip(replies, items, strict=True))
    faults = Counter(_fault(reply) for reply in replies if reply.failure)
    right = kinds["right"]
    told = sum(reply.failure is not None and bool(reply.failure.faults) for reply in replies)
    return {
        "n": len(items),
        "accuracy": round(100 * right / len(items), 2),
        "published_whole_set": programs.PUBLISHED.get(model, 43.04),
        **interval(right, len(items)),
        "answered": sum(reply.outcome is not None for reply in replies),
        "told_what_is_wrong": told,
        "kinds": dict(kinds.most_common()),
        "faults": dict(faults.most_common()),
    }


def _kind(reply: Reply, item: dict[str, Any]) -> str:
    if reply.failure:
        return "fault named"
    if reply.result != "sat":
        return f"{reply.result}, conflict named" if reply.data.get("conflict") else reply.result
    answer = reply.data.get("answer") or []
    if answer == [item["answer"]]:
        return "right"
    if not answer:
        return "no option forced"
    return "wrong option forced" if len(answer) == 1 else "several options forced"


def _fault(reply: Reply) -> str:
    """The first fault, names taken out, as a kind."""
    problem = reply.failure.faults[0].problem if reply.failure and reply.failure.faults else "none named"
    words = [word if not word.strip(",.").startswith(("'", '"')) else "…" for word in problem.split()]
    return " ".join(words)[:80]


def _refusals(context: Context) -> dict[str, Any]:
    """Typos, file-writing options and Python in constraints: refused with a message, and no file appears."""
    with TemporaryDirectory() as directory:
        canary = Path(directory) / "canary"
        attempts = [
            Solve(smt2="(declare-const x Int)(assrt (> x 1))(check-sat)"),
            Solve(smt2=f'(set-option :regular-output-channel "{canary}")(check-sat)(echo "x")'),
            Solve(smt2=f'(set-option :diagnostic-output-channel "{canary}")(check-sat)'),
            Solve(smt2=f'(set-option :sat.drat.file "{canary}")(check-sat)'),
            Solve(smt2=f'(include "{canary}")(check-sat)'),
            Solve(constraints=[f"__import__('os').system('touch {canary}')"]),
            Solve(constraints=[f"open('{canary}', 'w')"]),
            Solve(constraints=["().__class__.__base__.__subclasses__()"]),
        ]
        replies = serve_all(attempts, context.progress, "refusals")
        files = [path.name for path in Path(directory).iterdir()]
    messages = [reply.failure.message if reply.failure else "not refused" for reply in replies]
    return {
        "n": len(attempts),
        "refused": sum(reply.failure is not None for reply in replies),
        "files": files,
        "messages": [message.replace(str(canary), "CANARY") for message in messages],
    }
