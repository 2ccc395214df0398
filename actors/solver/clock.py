"""The time that a solve still has, counted from when the worker got it."""

import math
import time
from typing import Final

_Z3_NO_TIMEOUT: Final = 2**32 - 1


class Budget:
    """One deadline shared by all steps of a solve; steps may take a share of what is left."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline

    def left_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.deadline - time.monotonic())

    def left_ms(self) -> int:
        """Milliseconds left for Z3's own timeout, at least 1 (0 means none to Z3)."""
        return max(1, int(self.left_s() * 1000))

    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.left_s() <= 0

    def share(self, part: float) -> "Budget":
        """A budget that ends when `part` of what is left has passed."""
        return Budget(time.monotonic() + self.left_s() * part)

    def within(self, seconds: float) -> "Budget":
        """A budget that ends after so many seconds, or earlier with this one."""
        return Budget(min(self.deadline, time.monotonic() + seconds))

    def sized(self, spent_s: float) -> "Budget":
        """A budget for an explanation: in proportion to what the answer itself took, at least two seconds."""
        return Budget(min(self.deadline, time.monotonic() + 2 + 10 * spent_s))


class Unlimited(Budget):
    """No limit, nor any for its parts; Z3 is told the timeout for which it starts no timer thread."""

    def __init__(self) -> None:
        super().__init__(math.inf)

    def left_ms(self) -> int:
        return _Z3_NO_TIMEOUT

    def share(self, part: float) -> "Budget":  # noqa: ARG002
        return self

    def within(self, seconds: float) -> "Budget":  # noqa: ARG002
        return self

    def sized(self, spent_s: float) -> "Budget":  # noqa: ARG002
        return self
