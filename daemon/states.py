"""The life of an actor as one transition table."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Where an actor is in its life. `suspect` is running, but not routed to."""

    STARTING = "starting"
    RUNNING = "running"
    SUSPECT = "suspect"
    BACKOFF = "backoff"
    FATAL = "fatal"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Cause(StrEnum):
    """Why an actor's process ended."""

    COMMANDED = "commanded"
    CRASHED = "crashed"
    HUNG = "hung"
    MEMORY = "memory"
    UNKNOWN = "unknown"


TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    State.STARTING: frozenset({State.RUNNING, State.BACKOFF, State.FATAL, State.STOPPING}),
    State.RUNNING: frozenset({State.SUSPECT, State.BACKOFF, State.FATAL, State.STOPPING}),
    State.SUSPECT: frozenset({State.RUNNING, State.BACKOFF, State.FATAL, State.STOPPING}),
    State.BACKOFF: frozenset({State.STARTING, State.STOPPING}),
    State.FATAL: frozenset({State.STARTING, State.STOPPING}),
    State.STOPPING: frozenset({State.STOPPED, State.STARTING}),
    State.STOPPED: frozenset({State.STARTING}),
}


class IllegalTransition(Exception):  # noqa: N818
    """Raised when code asks for a change of state that the table does not have: a fault of ours."""

    def __init__(self, old: State, new: State) -> None:
        super().__init__(f"an actor cannot go from {old} to {new}")


def step(old: State, new: State) -> State:
    """The new state, if the table allows it.

    Raises:
        IllegalTransition: it does not.
    """
    if new not in TRANSITIONS[old]:
        raise IllegalTransition(old, new)
    return new
