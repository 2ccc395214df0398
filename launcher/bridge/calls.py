"""Calls under way: what the bridge owes an answer for, and the words when it cannot get one."""

from __future__ import annotations

import os

from . import jsonrpc

DEADLINE_MS = 25_000
"""A well-known client gives up at 30 s and sends no cancel."""
PATIENT_DEADLINE_MS = 600_000
"""For a client that asked for progress, and so can wait."""
GRACE_S = 2.0
"""How long past its deadline the daemon may still answer a call itself."""
ATTEMPTS_MAX = 2


class Call:
    """One tool call that the client waits for.

    Attributes:
        request: the client's JSON-RPC id. id: the one on our wire, which makes a retried write apply once.
        arguments: raw JSON. deadline: on the monotonic clock, in seconds. token: the client's progress token.
        attempt: how often it was sent; 0 when not yet.
        modern: whether it came in the stateless era. structured: whether the client takes structuredContent.
    """

    __slots__ = ("_done", "arguments", "attempt", "deadline", "id", "modern", "request", "structured", "token")

    def __init__(
        self,
        request: str | int,
        arguments: bytes,
        *,
        now: float,
        token: str | int | None,
        modern: bool,
        structured: bool,
    ) -> None:
        self.request = request
        self.id = os.urandom(16).hex()
        self.arguments = arguments
        self.deadline = now + (DEADLINE_MS if token is None else PATIENT_DEADLINE_MS) / 1000
        self.token = token
        self.attempt = 0
        self.modern = modern
        self.structured = structured
        self._done = float("-inf")

    def wire(self, now: float) -> dict[str, object]:
        """The message to the daemon, for the next attempt."""
        self.attempt += 1
        return {
            "t": "call",
            "id": self.id,
            "arguments": self.arguments,
            "deadline_ms": max(1, int((self.deadline - now) * 1000)),
            "progress": self.token is not None,
            "attempt": self.attempt,
        }

    def advances(self, done: float) -> bool:
        """Whether progress is further than what was told; MCP wants it strictly increasing."""
        if done <= self._done:
            return False
        self._done = done
        return True


def failure(code: str, message: str, next_action: str, *, retryable: bool = False) -> bytes:
    """An error envelope in the bridge's own words."""
    data: dict[str, object] = {"code": code, "message": message, "next_action": next_action, "retryable": retryable}
    return jsonrpc.dump(
        {"status": "error", "severity": "ERROR", "summary": message, "data": data, "next_action": next_action}
    )


def unavailable(reason: str) -> bytes:
    """The envelope for a call that no daemon could be had for."""
    return failure(
        "unavailable", reason, "Retry in a few seconds; `chrysalis doctor` shows what is wrong.", retryable=True
    )
