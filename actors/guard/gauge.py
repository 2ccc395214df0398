"""Measures memory pressure while a model is up: at regular times, and at once when the kernel says so."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import anyio
from msgspec import Struct

from . import pressure, psi
from .admission import reserve_bytes
from .machine import Machine
from .profiles import Profile

SAMPLE_S: Final = 0.5


class Load(Struct, frozen=True):
    """What is up: its profile, the bytes it was admitted with (0 = no cap), its anonymous memory."""

    profile: Profile
    admitted: int
    anonymous: int


class Gauge:
    """Samples while `load()` says that something is up; `told` gets every finding, from the loop."""

    def __init__(
        self, machine: Machine, load: Callable[[], Load | None], told: Callable[[pressure.Finding], None]
    ) -> None:
        self.sample_s = SAMPLE_S
        self._machine, self._load, self._told = machine, load, told
        self._before: pressure.Sample | None = None
        self._woken = anyio.Event()

    async def run(self) -> None:
        """Sample until cancelled."""
        trigger = self._trigger()
        try:
            while True:
                with anyio.move_on_after(self.sample_s):
                    await self._woken.wait()
                self._woken = anyio.Event()
                self.sample()
        finally:
            if trigger:
                trigger.close()

    def sample(self) -> None:
        """Take one sample and tell what it asks for."""
        load = self._load()
        if load is None:
            self._before = None
            return
        memory = self._machine.memory()
        sample = pressure.Sample(
            at=time.monotonic(),
            available=memory.available,
            pressure=self._machine.pressure(),
            anonymous=load.anonymous,
        )
        reserve = reserve_bytes(load.profile, memory)
        finding = pressure.judge(sample, self._before, reserve=reserve, admitted=load.admitted)
        self._before = sample
        self._told(finding)

    def _trigger(self) -> psi.PsiTrigger | None:
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._wake)

        try:
            return psi.PsiTrigger(self._machine.proc / "pressure" / "memory", wake)
        except OSError:
            return None

    def _wake(self) -> None:
        self._woken.set()
