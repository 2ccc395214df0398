"""The named cases of `memory_faults`: each is a fault that users of other memories reported, and what must happen."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from protocol.errors import Fault

Check = Callable[[], None]


class Case(Struct, frozen=True):
    """One fault: its number in the research, where it was reported, what is right, and the check."""

    number: int
    report: str
    right: str
    check: Check
    slow: bool = False


CASES: Final[list[Case]] = []


def case(number: int, report: str, right: str, *, slow: bool = False) -> Callable[[Check], Check]:
    """Name a check as the case of a report. It raises AssertionError where the outcome is wrong."""

    def keep(check: Check) -> Check:
        CASES.append(Case(number, report, right, check, slow))
        return check

    return keep


def refused(code: str, call: Callable[[], object]) -> str:
    """That a call is refused with a code; the sentence it says."""
    try:
        call()
    except Fault as fault:
        said = fault
    else:
        raise AssertionError(f"was accepted, not refused with {code}")
    assert said.failure.code == code, f"{said.failure.code} instead of {code}: {said}"
    assert said.failure.next_action, "no way out is told"
    return str(said)
