"""Calls that end actors: after the second death the same call is refused instead of tried again."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable

from protocol.errors import Fault
from protocol.limits import POISON_DEATHS, POISON_MAX_AGE_S


class Poison:
    """Counts, by the content of a call, the deaths it was under way in; forgotten after ten minutes."""

    _MAX = 1_000

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._deaths: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    @staticmethod
    def key(action: str, params: bytes) -> bytes:
        """What makes two calls the same: action and params."""
        return hashlib.blake2b(action.encode() + b"\0" + params, digest_size=16).digest()

    def blame(self, key: bytes) -> None:
        """The call was under way when its actor died."""
        count, _ = self._recent(key)
        self._deaths[key] = (count + 1, self._clock())
        self._deaths.move_to_end(key)
        while len(self._deaths) > self._MAX:
            self._deaths.popitem(last=False)

    def absolve(self, key: bytes) -> None:
        """The call was answered after all: it is no poison."""
        self._deaths.pop(key, None)

    def check(self, key: bytes, action: str) -> None:
        """Refuse a call that has ended its actor twice.

        Raises:
            Fault: internal, not retryable.
        """
        count, _ = self._recent(key)
        if count >= POISON_DEATHS:
            raise Fault(
                "internal",
                f"This {action} call was under way {count} times when its actor ended; it is not tried again.",
                next_action="Change the call: make it smaller or simpler. Please report it with the daemon's log.",
            )

    def _recent(self, key: bytes) -> tuple[int, float]:
        count, at = self._deaths.get(key, (0, 0.0))
        return (count, at) if self._clock() - at < POISON_MAX_AGE_S else (0, 0.0)
