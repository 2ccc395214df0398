"""GPU memory before and after each launch: has it come back, and does the floor rise from run to run?"""

from typing import Final

from .machine import Machine

SLACK_BYTES: Final = 256 << 20
"""Other programs' use changes by so much meanwhile."""
RISE_BYTES: Final = 512 << 20
RUNS_MIN: Final = 4


class GpuFloor:
    """Remembers GPU use before each launch; says nothing where the machine shows no GPU."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._before: list[int] = []

    def note(self) -> str:
        """Note the use before a launch; a warning when it has risen run by run (llama.cpp 24330)."""
        self._before.append(self._used())
        rise = self._before[-1] - self._before[0]
        if len(self._before) < RUNS_MIN or rise <= RISE_BYTES:
            return ""
        return f"GPU memory in use before a start rose by {rise >> 20} MiB: the driver leaks; log out or reboot"

    def returned(self) -> bool:
        """Whether GPU use is back to what it was before the last launch."""
        return not self._before or self._used() <= self._before[-1] + SLACK_BYTES

    def _used(self) -> int:
        return sum(gpu.used for gpu in self._machine.gpus())
