"""The registry of simulated faults: each is one public complaint, how it is made, and what must come of it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

Scenario = Callable[[Path], Awaitable[str]]
"""Takes an empty directory; returns what was seen in words; raises when the guard did something else."""


class Fault(Struct, frozen=True):
    """One fault: its number in the list of complaints, where it was reported, the symptom, the scenario."""

    number: int
    source: str
    symptom: str
    scenario: Scenario
    seconds: float
    """About how long it takes; the default test suite runs the short ones."""


FAULTS: Final[list[Fault]] = []


def fault(number: int, source: str, symptom: str, *, seconds: float) -> Callable[[Scenario], Scenario]:
    """Register a scenario."""

    def register(scenario: Scenario) -> Scenario:
        FAULTS.append(Fault(number, source, symptom, scenario, seconds))
        return scenario

    return register


def expect(condition: object, text: str) -> None:
    """Stop the scenario when the guard did not do what it must.

    Raises:
        AssertionError: with the text.
    """
    if not condition:
        raise AssertionError(text)
