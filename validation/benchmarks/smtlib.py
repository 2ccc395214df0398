"""Z3's own small regression scripts through the allowlist and the confined worker: every result as listed."""
# ruff: noqa: E501 - tables and formulas read best on one line

import json
from collections import Counter

from protocol.actions.reason import Solve
from validation.result import Goal, Measured, data
from validation.run import Context

from ._solver import Reply, interval, serve_all

TIMEOUT_MS = 60_000


def run(context: Context) -> Measured:
    """355 scripts with one check-sat each and a verified sat or unsat."""
    text = data("puzzles/z3test_plain_verified.jsonl").read_text(encoding="utf-8")
    items = [json.loads(line) for line in text.splitlines()]
    if context.quick:
        items = items[::12]
    requests = [Solve(smt2=item["smt2"], timeout_ms=TIMEOUT_MS) for item in items]
    replies = serve_all(requests, context.progress, "scripts", deadline_ms=2 * TIMEOUT_MS)
    right = sum(reply.result == item["expected"] for reply, item in zip(replies, items, strict=True))
    missed = {
        item["name"]: _said(reply)
        for reply, item in zip(replies, items, strict=True)
        if reply.result != item["expected"]
    }
    times = sorted(reply.ms for reply in replies)
    conflicts = [reply.data["conflict"] for reply in replies if reply.data.get("conflict")]
    return Measured(
        headline=f"{right} of {len(items)} scripts answered as listed; {len(conflicts)} conflicts named, {sum(one.get('minimal', True) for one in conflicts)} of them minimal",
        figures={
            "as_listed": interval(right, len(items)),
            "results": dict(Counter(reply.result for reply in replies)),
            "missed": missed,
            "ms_median": round(times[len(times) // 2], 1),
            "ms_p95": round(times[int(len(times) * 0.95)], 1),
            "unsat_with_conflict": len(conflicts),
            "options_left_out_with_a_note": sum(bool(reply.outcome and reply.outcome.notes) for reply in replies),
        },
        goals=[Goal("results as listed", f"{len(items)} of {len(items)}", right, right == len(items))],
        n=len(items),
        notes=["conflicts are sought for two seconds and ten times what the answer took, no longer"],
    )


def _said(reply: Reply) -> str:
    if reply.failure:
        return reply.failure.message[:200]
    return f"{reply.result} ({reply.data.get('reason', '')})"
