"""One look at a running server: its processes, the GPU, and HTTP; the questions are asked at once, for 2 s at most."""

import time
from typing import Final

import anyio

from . import probe
from .machine import GpuUse, Machine, ProcessState
from .processes import Child
from .watch import Observation

SELDOM: Final = 10
"""Looks between two proofs of identity, and between two searches for further processes."""


class Observer:
    """Looks at one launch; never raises for what the server does."""

    def __init__(self, child: Child, machine: Machine) -> None:
        self._child, self._machine = child, machine
        self._looks = 0
        self._proved = False
        self._health: int | None = None
        self._work = probe.Work()
        self._ours: bool | None = None

    async def look(self) -> Observation:
        """Observe now."""
        self._ours = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._ask_health)
            tasks.start_soon(self._ask_work)
            if not self._proved or self._looks % SELDOM == 0:
                tasks.start_soon(self._ask_identity)
        self._looks += 1
        return self._observation()

    async def _ask_health(self) -> None:
        self._health = await probe.health(self._child.launch)

    async def _ask_work(self) -> None:
        self._work = await probe.work(self._child.launch)

    async def _ask_identity(self) -> None:
        self._ours = await probe.ours(self._child.launch)
        self._proved = self._proved or self._ours is True

    def _observation(self) -> Observation:
        members = [seen.pid for seen in self._child.members(search=self._looks % SELDOM == 1)]
        states = [state for pid in members if (state := self._machine.process(pid))]
        uses = [self._machine.gpu_use(pid) for pid in members]
        return Observation(
            at=time.monotonic(),
            process=_worst(states),
            cpu_s=sum(state.cpu_s for state in states),
            engine_ns=_engines(uses),
            rss=sum(state.rss for state in states),
            anonymous=sum(state.anonymous for state in states),
            gpu_bytes=sum(use.bytes for use in uses),
            read=sum(state.read for state in states),
            health=self._health,
            ours=self._ours,
            busy=self._work.busy,
            counter=self._work.counter,
            decoded=self._work.decoded,
            blind=self._work.blind,
        )


def _worst(states: list[ProcessState]) -> str:
    letters = {state.state for state in states}
    return next((letter for letter in "DTRS" if letter in letters), "")


def _engines(uses: list[GpuUse]) -> int | None:
    seen = [use.engine_ns for use in uses if use.seen]
    return sum(seen) if seen else None
