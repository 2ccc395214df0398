"""The servers of others beside ours, as one table each: what they cost, how fast they are, what they find and lose."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .files import Result

MEMORY_HEAD: Final = (
    "memory server",
    "tokens of the tool list",
    "private memory, 5 clients",
    "write p50, ms",
    "recall p50, ms",
    "found when asked by name, as a question",
    "acknowledged writes lost",
)
SOLVER_HEAD: Final = ("solver", "tokens of the tool list", "puzzles right", "p50, ms")
LOSSES: Final = ("two clients at once", "kill -9")
NONE: Final = "-"


def memory(results: Mapping[str, Result]) -> list[list[str]]:
    """One line of cells a memory server, ours first; none without a result."""
    servers: Mapping[str, dict[str, Any]] = results["peers"].at("figures/memory") if "peers" in results else {}
    return [
        [
            f"{name} {one['version']}",
            str(one["tokens"]),
            f"{one['private_mib_5_clients']:.0f} MiB",
            _at_sizes(one["sizes"], "write_p50_ms"),
            _at_sizes(one["sizes"], "recall_p50_ms"),
            _found(one["sizes"]),
            " + ".join(f"{one[how]['lost']} of {one[how]['acknowledged']}" for how in LOSSES),
        ]
        for name, one in servers.items()
    ]


def solvers(results: Mapping[str, Result]) -> list[list[str]]:
    """One line of cells a solver server."""
    servers: Mapping[str, dict[str, Any]] = results["peers"].at("figures/solvers") if "peers" in results else {}
    return [
        [f"{name} {one['version']}", str(one["tokens"]), f"{one['right']} of {one['n']}", f"{one['p50_ms']:g}"]
        for name, one in servers.items()
    ]


def legend(results: Mapping[str, Result]) -> str:
    """What the columns mean, and which sizes the latencies are of."""
    if "peers" not in results:
        return ""
    names = " / ".join(f"{int(size):,}" for size in _sizes(results["peers"].at("figures/memory")))
    told = f"All driven by one MCP client in one run (`{results['peers'].source}`). Latencies are with {names} facts"
    lost = " and ".join(LOSSES)
    return f"{told} stored ({NONE}: not reached in a minute of storing); found: at the fewest; lost: by {lost}."


def _sizes(servers: Mapping[str, dict[str, Any]]) -> Sequence[str]:
    return sorted({size for one in servers.values() for size in one["sizes"]}, key=int)


def _at_sizes(sizes: Mapping[str, Mapping[str, Any]], what: str) -> str:
    return " / ".join(f"{one[what]:.3g}" if what in one else NONE for one in sizes.values())


def _found(sizes: Mapping[str, Mapping[str, Any]]) -> str:
    one = sizes[min(sizes, key=int)]
    if "found_by_name" not in one:
        return NONE
    return ", ".join("{} of {}".format(*one[how]) for how in ("found_by_name", "found_by_question"))
