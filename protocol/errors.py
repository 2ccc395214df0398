"""Errors as data: the closed list of codes, and the one exception that carries them inside a process.

Fault
├── raised by a handler in an actor or in the daemon
└── turned into a `Failure` at the border, which is what crosses processes and reaches the client
"""

from typing import Any, Final, Literal

from msgspec import Struct

Code = Literal[
    "unknown_domain",
    "unknown_action",
    "invalid_params",
    "not_found",
    "conflict",
    "too_large",
    "timeout",
    "busy",
    "unavailable",
    "actor_restarted",
    "discouraged",
    "cancelled",
    "internal",
]

RETRYABLE: Final = frozenset({"timeout", "busy", "unavailable", "actor_restarted"})


class ParamFault(Struct, frozen=True, omit_defaults=True):
    """One fault in the params: where it is, what is wrong, what would be right.

    Attributes:
        expected: left out where an earlier fault says the same.
        text: what was written there; also: the other places with the same fault.
    """

    path: str
    problem: str
    expected: str = ""
    example: Any = None
    text: str = ""
    also: tuple[str, ...] = ()


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error as it crosses a process border and as `data` of an error envelope."""

    code: Code
    message: str
    next_action: str
    retryable: bool = False
    retry_after_ms: int | None = None
    faults: tuple[ParamFault, ...] = ()
    params: dict[str, str] | None = None
    example: dict[str, Any] | None = None
    details: Any = None


class Fault(Exception):  # noqa: N818 - it is the house's word for a fault that is answered, not a crash
    """Raised where a call cannot be served; the process goes on and the caller gets `failure`.

    Args:
        code: one of `Code`.
        message: one sentence, what went wrong.
        next_action: what to do about it; never empty.
        retryable: whether the same call may succeed later; told by the code when left out.
        details: JSON-able extra data for `data.details`.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        next_action: str,
        retryable: bool | None = None,
        retry_after_ms: int | None = None,
        faults: tuple[ParamFault, ...] = (),
        details: Any = None,
    ) -> None:
        super().__init__(message)
        self.failure = Failure(
            code=code,
            message=message,
            next_action=next_action,
            retryable=code in RETRYABLE if retryable is None else retryable,
            retry_after_ms=retry_after_ms,
            faults=faults,
            details=details,
        )
