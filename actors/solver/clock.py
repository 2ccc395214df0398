"""The time that a solve still has, counted from when the worker got it."""

import time


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
