"""Round trip through bridge and daemon, alone and beside eight slow solves."""

import statistics
import time
from typing import Any

from validation.mcp_lines import LinesClient
from validation.result import Goal, Measured
from validation.run import Context
from validation.stack import Stack

P50_GOAL_MS = 3.0
PING_GOAL_MS = 100.0
SLOW_SOLVES = 8
SLOW_MS = 4_000


def _slow_smt2() -> str:
    """A nested polynomial on which Z3 ignores its own timeout; only the deadline ends it."""
    return "(declare-const x Int)(assert (> " + "(+ 1 (* x " * 40 + "x" + "))" * 40 + " 5))(check-sat)"


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def _times_ms(client: LinesClient, count: int) -> list[float]:
    times: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        client.call("meta", "discover", verbosity="terse")
        times.append((time.perf_counter() - started) * 1000)
    return times


def _pings_beside_solves(client: LinesClient, slow: LinesClient) -> dict[str, Any]:
    params = {"smt2": _slow_smt2(), "timeout_ms": SLOW_MS}
    started = time.perf_counter()
    under_way = [slow.begin_call("reason", "solve", params) for _ in range(SLOW_SOLVES)]
    pings: list[float] = []
    while time.perf_counter() - started < SLOW_MS / 1000:
        pings += _times_ms(client, 1)
        time.sleep(0.05)
    results = [slow.wait(number)["result"]["structuredContent"] for number in under_way]
    return {
        "pings": len(pings),
        "ping_p50_ms": round(statistics.median(pings), 2),
        "ping_max_ms": round(max(pings), 2),
        "all_solves_ended_s": round(time.perf_counter() - started, 2),
        "solves_answered": len(results),
        "solve_summaries": sorted({result["summary"] for result in results}),
    }


def run(context: Context) -> Measured:
    """Measure `meta.discover` through a bridge, then the same while eight solves run into their deadline."""
    count = 200 if context.quick else 2_000
    with Stack() as stack, LinesClient(stack.environment) as client, LinesClient(stack.environment, "slow") as slow:
        _times_ms(client, 50)
        context.progress(f"{count} round trips")
        times = _times_ms(client, count)
        direct = stack.client()
        own: list[float] = []
        for _ in range(count):
            started = time.perf_counter()
            direct.call("meta", "discover", verbosity="terse")
            own.append((time.perf_counter() - started) * 1000)
        context.progress(f"{SLOW_SOLVES} slow solves at once, and pings")
        beside = _pings_beside_solves(client, slow)
        stack.note_processes()
    p50, p99 = statistics.median(times), _quantile(times, 0.99)
    return Measured(
        headline=f"meta.discover p50 {p50:.2f} ms, p99 {p99:.2f} ms; ping beside {SLOW_SOLVES} slow solves "
        f"p50 {beside['ping_p50_ms']} ms, max {beside['ping_max_ms']} ms",
        figures={
            "bridge_p50_ms": round(p50, 3),
            "bridge_p99_ms": round(p99, 3),
            "without_bridge_p50_ms": round(statistics.median(own), 3),
            "bridge_share": round(1 - statistics.median(own) / p50, 3),
            **beside,
        },
        goals=[
            Goal(
                "meta.discover through bridge and daemon, p50",
                f"<= {P50_GOAL_MS} ms",
                round(p50, 3),
                p50 <= P50_GOAL_MS,
            ),
            Goal(
                "the slowest ping beside eight slow solves",
                f"< {PING_GOAL_MS:.0f} ms",
                beside["ping_max_ms"],
                beside["ping_max_ms"] < PING_GOAL_MS,
            ),
            Goal(
                "slow solves answered",
                str(SLOW_SOLVES),
                beside["solves_answered"],
                beside["solves_answered"] == SLOW_SOLVES,
            ),
        ],
        n=count,
    )
