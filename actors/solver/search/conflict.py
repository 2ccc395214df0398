"""Why there is no solution: a smallest set of constraints that cannot hold together, and which one to drop.

First a minimal set by deletion; then, while time lasts, a smallest one by the implicit hitting-set method (Ignatiev
et al., CP 2015): every conflict meets every correction set, so a smallest set that meets all correction sets seen,
once it is itself unsatisfiable, is a smallest conflict.
"""

from collections.abc import Sequence

import msgspec
import z3

from protocol.actions.reason import Conflict, Member

from ..clock import Budget
from ..dsl.declarations import Declarations
from ..dsl.names import free_names
from ..dsl.types import limited, spell
from .engine import Tracked

_ALONE_S = 0.5
_SMALLEST_SHARE = 0.5
_SMALLEST_ITEMS_MAX = 400


def explain(tracked: Tracked, budget: Budget) -> Conflict | None:
    """The conflict of unsatisfiable constraints; None when no time is left to find one."""
    everything = list(range(len(tracked.items)))
    if tracked.check([], budget) == "unsat":
        return Conflict(members=[], smallest=True, with_domains=True)
    if tracked.check(everything, budget) != "unsat":
        return None
    core, minimal = _shrink(tracked, tracked.core(), budget)
    smallest = False
    if minimal and len(core) > 1 and len(everything) <= _SMALLEST_ITEMS_MAX:
        core, smallest = _smallest(tracked, core, budget.share(_SMALLEST_SHARE))
    smallest = smallest or (minimal and len(core) <= 1)
    members = [_member(tracked, at, everything, budget) for at in core]
    return Conflict(members=members, minimal=minimal, smallest=smallest)


def with_ranges(conflict: Conflict, tracked: Tracked, declarations: Declarations, budget: Budget) -> Conflict:
    """A conflict with the ranges of its variables, where these are what its members cannot hold in."""
    if not conflict.members:
        return conflict
    said = [(member.name, member.text) for member in conflict.members]  # a name alone may have been given twice
    guilty = [at for at, item in enumerate(tracked.items) if (item.name, item.text) in said]
    if tracked.unbounded(guilty, budget.within(_ALONE_S)) != "sat":
        return conflict
    names = [name for at in guilty for name in free_names(tracked.items[at].node)]
    ranges: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if name in declarations.symbols and limited(declarations.symbols[name].type):
            ranges.setdefault(spell(declarations.symbols[name].type), []).append(name)
    return msgspec.structs.replace(conflict, with_domains=True, ranges=ranges)


def _member(tracked: Tracked, at: int, everything: Sequence[int], budget: Budget) -> Member:
    item = tracked.items[at]
    rest = tracked.check([other for other in everything if other != at], budget)
    helps = None if rest == "unknown" else rest == "sat"
    return Member(name=item.name, text=item.text, note=item.note, dropping_it_helps=helps)


def _shrink(tracked: Tracked, core: list[int], budget: Budget) -> tuple[list[int], bool]:
    """Leave out what can be left out, one after the other; False when time ran out before the end."""
    kept, open_ones = list[int](), list(core)
    while open_ones:
        candidate = open_ones.pop()
        result = tracked.check([*kept, *open_ones], budget)
        if result == "unsat":
            guilty = set(tracked.core())
            open_ones = [at for at in open_ones if at in guilty]
        else:
            kept.append(candidate)
            if result == "unknown":
                return sorted([*kept, *open_ones]), False
    return sorted(kept), True


def _smallest(tracked: Tracked, known: list[int], budget: Budget) -> tuple[list[int], bool]:
    """A smallest conflict, and whether it is proved; the known minimal one when time runs out."""
    size = len(tracked.items)
    hitting = z3.Optimize()
    picks = [z3.Bool(f"pick!{at}") for at in range(size)]
    hitting.minimize(z3.Sum([z3.If(pick, 1, 0) for pick in picks]))
    while not budget.spent():
        hitting.set("timeout", budget.left_ms())
        if hitting.check() != z3.sat:
            return known, False
        model = hitting.model()
        chosen = [at for at, pick in enumerate(picks) if z3.is_true(model.eval(pick))]
        if len(chosen) >= len(known):
            return known, True
        result = tracked.check(chosen, budget)
        if result == "unsat":
            return chosen, True
        if result == "unknown":
            return known, False
        correction = _correction(tracked, chosen, budget)
        if not correction:
            return known, False
        hitting.add(z3.Or([picks[at] for at in correction]))
    return known, False


def _correction(tracked: Tracked, chosen: list[int], budget: Budget) -> list[int]:
    """What is left out of a maximal satisfiable set that holds `chosen`."""
    held = sorted(set(tracked.satisfied()) | set(chosen))
    outside = [at for at in range(len(tracked.items)) if at not in held]
    left: list[int] = []
    while outside:
        at = outside.pop(0)
        result = tracked.check([*held, at], budget)
        if result == "sat":
            held = sorted(set(held) | set(tracked.satisfied()) | {at})
            outside = [other for other in outside if other not in held]
        elif result == "unsat":
            left.append(at)
        else:
            return []
    return left
