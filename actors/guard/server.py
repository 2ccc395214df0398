"""The guarded server: one task owns its life; everything else sends that task messages.

`ModelServer` performs what `Life` decides. It needs no daemon: the guard actor and `validation.llm_server` both
run it. Spawning happens on the loop thread only (see launch.py).
"""

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
import anyio.to_thread

from . import gauge, pressure, record, scope
from .attention import Attention, SleepClock
from .command import launch_for
from .estimate import MIB
from .gathering import Plan, make_plan
from .gauge import Gauge
from .gpufloor import GpuFloor
from .ledger import Ledger
from .ledger import Load as Loaded
from .life import SETTLED, UP, Admit, Effect, Life, Send, Spawn
from .logs import LogRing
from .machine import Machine
from .observer import Observer
from .ports import free_port, port_is_free
from .processes import Child, become_subreaper, look
from .profiles import Profile, ProfileError
from .watch import Observation

TICK_S: Final = 0.25
LOOK_S: Final = 1.0
IDLE_LOOKS: Final = 3
"""How many times longer the wait for the next look is while nothing is served."""
WARNINGS_MAX: Final = 8
CLOSE_GRACE_S: Final = 2.5
ORPHAN_GRACE_S: Final = 3.0

Message = Callable[[Life, float], list[Effect]]


class ModelServer:
    """One llama-server under guard.

    Args:
        runtime: the directory of this guard's record; its path also marks the processes.
        ledger: past loads.
        machine: where figures are read.
        told: called after each transition, from the loop.
    """

    def __init__(
        self, runtime: Path, ledger: Ledger, machine: Machine | None = None, told: Callable[[], None] | None = None
    ) -> None:
        self.machine = machine or Machine()
        self.ledger = ledger
        self.life = Life(time.monotonic())
        self.log = LogRing()
        self.child: Child | None = None
        self.attention: Attention | None = None
        self.finding = pressure.Finding("ok")
        self.warnings: list[str] = []
        self.look_s = LOOK_S
        self.gauge = Gauge(self.machine, self._load, self._pressed)
        self.sleep_clock = SleepClock()
        self._runtime, self._told = runtime, told
        self._record_path = runtime / "llm.json"
        self._mark = str(runtime)
        self._inbox: deque[Message] = deque()
        self._posted = anyio.Event()
        self._changed = anyio.Event()
        self._tasks: anyio.abc.TaskGroup
        self._plan: Plan | None = None
        self._seen_state = "stopped"
        self._closing = False
        self._survivors: list[int] = []
        self._saved: object = None
        self._oom_before = 0
        self._gpu_floor = GpuFloor(self.machine)
        self._scoped = scope.available(self.machine.sys, os.environ)

    # The outside: call from the loop.

    async def run(self) -> None:
        """Own the life until cancelled; ends orphans first, and what runs at the end (see `close`)."""
        become_subreaper()
        try:
            async with anyio.create_task_group() as self._tasks:
                await self._inherit()
                self._tasks.start_soon(self._observe)
                self._tasks.start_soon(self.gauge.run)
                await self._own()
        finally:
            if self.child:
                self._close_child(self.child)

    def post(self, message: Message) -> None:
        """Give the owner something to do."""
        self._inbox.append(message)
        self._posted.set()

    async def plan(self, profile: Profile, *, override: bool = False) -> Plan:
        """The admission of a profile as it would be now.

        Raises:
            ProfileError: a file or the binary is missing.
        """
        return await anyio.to_thread.run_sync(
            lambda: make_plan(profile, self.machine, self.ledger, self._mark, override=override)
        )

    async def settle(self, wait_s: float, *states: str) -> bool:
        """Wait until nothing is under way any more (or one of `states` is reached); False when it takes longer."""
        wanted = frozenset(states) or SETTLED
        with anyio.move_on_after(wait_s):
            while self.life.state not in wanted or self._inbox:
                await self._changed.wait()
            return True
        return False

    async def ask(self, message: Message) -> None:
        """Give the owner something to do and wait until it has taken it in."""
        done = anyio.Event()

        def message_and_tell(life: Life, now: float) -> list[Effect]:
            done.set()
            return message(life, now)

        self.post(message_and_tell)
        await done.wait()

    async def close(self) -> None:
        """Stop the server before the guard itself goes; it stays wanted for the next guard."""
        self._closing = True
        if self.child and self.life.state in UP | {"stopping", "stuck", "wedged"}:
            pids = [seen.pid for seen in self.child.members()]
            await record.end(self.machine.processes, pids, CLOSE_GRACE_S)

    # The owner.

    async def _own(self) -> None:
        while True:
            with anyio.move_on_after(TICK_S):
                await self._posted.wait()
            self._posted = anyio.Event()
            if self._closing:
                continue
            now = time.monotonic()
            if slept := self.sleep_clock.slept_s():
                self._slept(slept, now)
            while self._inbox:
                self._perform(self._inbox.popleft()(self.life, now), now)
            self._perform(self._exits(now), now)
            if self._survivors and not record.alive(self.machine.processes, self._survivors):
                self._survivors = []
                self.life.survivors_gone(now)
            self._perform(self.life.tick(now, returned=self.child is None and self._gpu_floor.returned()), now)
            self._tell()

    def _tell(self) -> None:
        if self._seen_state != self.life.state:
            self._seen_state = self.life.state
            self.log.note(f"{self.life.state}: {self.life.why}")
            if self._told:
                self._told()
        now_saved = (self.child.pid if self.child else 0, self.life.wanted, self.life.profile)
        if now_saved != self._saved:
            self._saved = now_saved
            self._save()
        self._changed.set()
        self._changed = anyio.Event()

    def _perform(self, effects: list[Effect], now: float) -> None:
        for effect in effects:
            match effect:
                case Admit(override=override):
                    assert self.life.profile is not None
                    self._tasks.start_soon(self._admit, self.life.profile, override)
                case Spawn():
                    self._perform(self._spawn(now), now)
                case Send(signal=number):
                    if self.child:
                        self.child.send(number)

    async def _admit(self, profile: Profile, override: bool) -> None:
        try:
            plan = self._plan = await self.plan(profile, override=override)
        except ProfileError as error:
            why = str(error)
            self.post(lambda life, now: life.refused(why, now))
        else:
            self.post(lambda life, now: life.admitted(plan.admission, now))

    def _spawn(self, now: float) -> list[Effect]:
        profile, plan = self.life.profile, self._plan
        assert profile is not None
        assert plan is not None
        if profile.port and not port_is_free(profile.port):
            return self.life.exited(1, [f"port {profile.port}: address already in use"], now)
        launch = launch_for(profile, plan.binary, plan.flags, port=profile.port or free_port(), mark=self._mark)
        need = round(plan.admission.need_mib * MIB)
        if launch.left_out:
            self.log.note(f"flags that this llama-server lacks were left out: {' '.join(launch.left_out)}")
        prefix = scope.prefix(launch.alias, need) if self._scoped else []
        self._oom_before = self.machine.oom_kills()
        self._warn(self._gpu_floor.note())
        try:
            self.child = Child(launch, self.machine.processes, prefix, self.log.feed)
        except OSError as error:
            return self.life.exited(None, [str(error)], now)
        loop = asyncio.get_running_loop()
        loop.add_reader(self.child.output_fd, self._on_output, self.child)
        loop.add_reader(self.child.pidfd, self._on_exit, self.child)
        observer = Observer(self.child, self.machine)
        on_gpu = profile.on_gpu and self.machine.has_gpu()
        self.attention = Attention(self.child, observer, profile, need=need, on_gpu=on_gpu, now=now)
        return self.life.spawned(now)

    def _on_output(self, child: Child) -> None:
        if not child.read_output():
            asyncio.get_running_loop().remove_reader(child.output_fd)

    def _on_exit(self, child: Child) -> None:
        asyncio.get_running_loop().remove_reader(child.pidfd)
        self.post(lambda _life, _now: [])

    def _exits(self, now: float) -> list[Effect]:
        """Notice that the process we watch is gone; go on with another of its launch, or tell its end."""
        child = self.child
        if child is None or self._lives(child):
            return []
        if child.members():
            if self.life.state in UP and child.adopt():
                self.log.note(f"the first process ended, its descendant {child.pid} is watched")
                asyncio.get_running_loop().add_reader(child.pidfd, self._on_exit, child)
            return []
        return self._bury(child, now)

    def _lives(self, child: Child) -> bool:
        if child.exit_code() is None:
            return True
        seen = look(self.machine.processes, child.pid)
        return seen is not None and seen.state not in "ZX" and child.pid in child.known

    def _bury(self, child: Child, now: float) -> list[Effect]:
        child.drain()
        self._close_child(child)
        self._learn()
        killed = self.machine.oom_kills() - self._oom_before
        effects = self.life.exited(child.exit_code() or 0, self.log.tail(100), now, oom_kills=killed)
        if self.life.last_exit and self.life.last_exit.cause == "scope":
            self._scoped = False
        return effects

    def _close_child(self, child: Child) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(child.output_fd)
        loop.remove_reader(child.pidfd)
        child.close()
        self.child = None

    # What is remembered.

    def _save(self) -> None:
        """Leave the record for the next guard."""
        profile, child = self.life.profile, self.child
        if profile is None or not self._runtime.is_dir():
            return
        seen = look(self.machine.processes, child.pid) if child else None
        entry = record.Record(
            boot=record.boot_id(self.machine.processes),
            pid=child.pid if child else 0,
            start=seen.start if seen else 0,
            argv=child.launch.argv if child else [],
            url=child.launch.url if child else "",
            key=child.launch.key if child else "",
            profile=profile,
            wanted=self.life.wanted,
            override=bool(self.life.admission and self.life.admission.verdict == "overridden"),
        )
        try:
            record.save(self._record_path, entry)
        except OSError as error:
            self._warn(f"the next guard will not know of this model: {error}")

    async def _inherit(self) -> None:
        """End what an earlier guard left, and take up its wish."""
        past = record.load(self._record_path)
        left = record.orphans(self.machine.processes, self._mark, past)
        if left:
            self.log.note(f"ending what an earlier guard left: {left}")
            self._survivors = await record.end(self.machine.processes, left, ORPHAN_GRACE_S)
        survivors, same_boot = self._survivors, past and past.boot == record.boot_id(self.machine.processes)
        if past and same_boot and (past.wanted or survivors):
            self.post(lambda life, now: life.inherit(past.profile, now, override=past.override, survivors=survivors))

    def _learn(self) -> None:
        """Keep what the load really took, once it was ready."""
        if self._plan and self.attention and self.attention.was_ready:
            estimated = round(sum(part.mib for part in self._plan.admission.need) * MIB)
            try:
                self.ledger.add(Loaded(key=self._plan.ledger_key, estimated=estimated, measured=self.attention.peak))
            except OSError as error:
                self._warn(f"what this load took could not be kept: {error}")

    # Looking.

    async def _observe(self) -> None:
        while True:
            await anyio.sleep(self.look_s * (IDLE_LOOKS if self.life.state == "ready" else 1))
            attention = self.attention
            if attention is None or self.child is None or self.life.state not in UP:
                continue
            seen = await attention.look()
            self.post(lambda life, now, at=attention, seen=seen: self._judge(life, at, seen, now))

    def _judge(self, life: Life, attention: Attention, seen: Observation, now: float) -> list[Effect]:
        if attention is not self.attention or self.child is None:
            return []
        effects = life.observed(attention.judge(seen, now), now)
        self._warn(attention.warning)
        if life.state == "ready" and attention.probe_is_due(now):
            self._tasks.start_soon(attention.probe)
        return effects

    def _slept(self, slept_s: float, now: float) -> None:
        self.log.note(f"the machine slept for {slept_s:.0f} s")
        if self.attention:
            self.attention.slept(now)

    def _load(self) -> gauge.Load | None:
        profile, admission = self.life.profile, self.life.admission
        if profile is None or admission is None or self.life.state not in UP | {"stopping"}:
            return None
        seen = self.attention.last if self.attention else None
        admitted = 0 if profile.on_gpu else round(admission.need_mib * MIB)
        return gauge.Load(profile, admitted, seen.anonymous if seen else 0)

    def _pressed(self, finding: pressure.Finding) -> None:
        self.finding = finding
        if finding.level not in {"ok", "low"}:
            self.post(lambda life, now: life.pressed(finding, now))

    def _warn(self, text: str) -> None:
        if text and text not in self.warnings:
            self.warnings = [*self.warnings, text][-WARNINGS_MAX:]
            self.log.note(text)
