"""What an action is: params, result, purpose, example and flags, registered once in `protocol.contract`."""

from typing import Any, Literal

from msgspec import Struct

from .limits import DEADLINE_DEFAULT_MS

ActorName = Literal["memory", "solver", "advisory", "guard"]
Owner = Literal["memory", "solver", "advisory", "guard", "daemon"]
Severity = Literal["INFO", "WARN", "ERROR"]


class Params(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every params Struct: unknown names are refused, so that a typo is told."""

    def takes_away(self) -> bool:
        """Whether a destructive action takes something away when it is called so."""
        return True


class NoParams(Params, frozen=True, kw_only=True):
    """An action that takes none."""


class Action(Struct, frozen=True, kw_only=True):
    """One thing that can be asked for; all that is said of it anywhere is generated from this."""

    domain: str
    name: str
    owner: Owner
    purpose: str
    params: type[Params]
    result: type[Struct]
    example: dict[str, Any]
    read_only: bool = True
    destructive: bool = False
    operator_only: bool = False
    hidden: bool = False
    """Spoken between daemon and actors only."""
    resolves_references: bool = False
    """Its params hold `$cache` references that it resolves itself, step by step."""
    deadline_ms: int = DEADLINE_DEFAULT_MS
    examples: tuple[dict[str, Any], ...] = ()
    """Further worked examples, shown by `meta.schema`."""

    @property
    def full_name(self) -> str:
        return f"{self.domain}.{self.name}"


class Outcome(Struct, frozen=True, kw_only=True):
    """What a handler returns: the sentence, the data, and how the answer is to be taken.

    `data` is the action's result Struct. `notes` lists each repair or guess made on the way.
    `partial` says that the answer is incomplete (a deadline, a work budget); never silently.
    """

    summary: str
    data: Any
    severity: Severity = "INFO"
    next_action: str | None = None
    notes: tuple[str, ...] = ()
    partial: bool = False
