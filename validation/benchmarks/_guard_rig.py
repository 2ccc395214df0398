"""A guard on a bench: a real `ModelServer`, a little server that misbehaves, and trees in place of /proc and /sys."""

import json
import os
import struct
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec

from actors.guard.ledger import Ledger
from actors.guard.machine import Machine
from actors.guard.profiles import Profile
from actors.guard.server import ModelServer
from validation.result import ROOT

FAKE_SERVER = ROOT / "tests" / "actors" / "guard" / "fake_server.py"
MIB = 1 << 20
LOOK_S = 0.2
HEAD: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.block_count": 4,
    "llama.embedding_length": 64,
    "llama.feed_forward_length": 128,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.context_length": 8192,
}


def write_gguf(path: Path, metadata: dict[str, Any] | None = None, weights_mib: int = 8) -> Path:
    """A GGUF file with this header and one F32 tensor of the given size, sparse on disk."""
    entries = HEAD | {"tokenizer.ggml.tokens": [f"t{n}" for n in range(100)]} if metadata is None else metadata
    body = b"GGUF" + struct.pack("<IQQ", 3, 1, len(entries))
    for key, value in entries.items():
        body += _text(key) + _value(value)
    elements = weights_mib * MIB // 4
    body += _text("token_embd.weight") + struct.pack("<IQQIQ", 2, 64, elements // 64, 0, 0)
    with path.open("wb") as file:
        file.write(body)
        file.truncate(len(body) + 64 + weights_mib * MIB)
    return path


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<Iq", 11, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    kind = 8 if isinstance(value[0], str) else 7 if isinstance(value[0], bool) else 11
    items = b"".join(_value(entry)[4:] for entry in value)
    return struct.pack("<IIQ", 9, kind, len(value)) + items


class Rig:
    """Everything that one scenario needs, in a directory of its own.

    Args:
        directory: an empty directory.
        how: what the little server is to do (see its docstring).
        changes: to the profile; times are short unless said otherwise.
    """

    def __init__(self, directory: Path, how: dict[str, Any] | None = None, **changes: Any) -> None:
        self.directory = directory
        self.binary = self._write_binary()
        for name in ("proc/pressure", "sys/class/drm", "run"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        self.proc, self.sys, self.runtime = directory / "proc", directory / "sys", directory / "run"
        self.memory(available_mib=16_000)
        self.pressure(0.0)
        (self.proc / "vmstat").write_text("oom_kill 0\n")
        model = write_gguf(directory / "model.gguf")
        base = Profile(
            name="rig", model=str(model), ctx=2048, gpu_layers="0", cache_ram_mib=0, ctx_checkpoints=0,
            env={"FAKE": json.dumps(how or {})}, stall_s=10, load_s=10, stop_grace_s=2, probe_idle_s=300,
        )  # fmt: skip
        self.profile = msgspec.structs.replace(base, **changes)
        self.machine = Machine(self.proc, self.sys)
        self.ledger = Ledger(directory / "ledger.json")
        self.server: ModelServer

    def _write_binary(self) -> Path:
        path = self.directory / "llama-server"
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{FAKE_SERVER}" "$@"\n')
        path.chmod(0o755)
        return path

    def memory(self, *, available_mib: int, total_mib: int = 24_000) -> None:
        """What /proc/meminfo says from now on."""
        self._write(
            self.proc / "meminfo", f"MemTotal: {total_mib * 1024} kB\nMemAvailable: {available_mib * 1024} kB\n"
        )

    def pressure(self, full: float) -> None:
        """What PSI says from now on, in percent."""
        line = f"avg10={full:.2f} avg60=0.00 avg300=0.00 total=0\n"
        self._write(self.proc / "pressure" / "memory", f"some {line}full {line}")

    def gpu(self, *, used_mib: int, total_mib: int = 16_000) -> None:
        """An amdgpu with this GTT."""
        device = self.sys / "class" / "drm" / "card0" / "device"
        device.mkdir(parents=True, exist_ok=True)
        for name, mib in (("gtt_total", total_mib), ("gtt_used", used_mib), ("vram_total", 512), ("vram_used", 0)):
            self._write(device / f"mem_info_{name}", f"{mib * MIB}\n")

    def oom_kill(self) -> None:
        """The kernel has killed one more for memory."""
        count = int((self.proc / "vmstat").read_text().split()[1])
        self._write(self.proc / "vmstat", f"oom_kill {count + 1}\n")

    @staticmethod
    def _write(path: Path, text: str) -> None:
        partial = path.with_name(path.name + ".new")
        partial.write_text(text)
        partial.replace(path)

    def change(self, how: dict[str, Any]) -> None:
        """Another behaviour from the next start on."""
        self.profile = msgspec.structs.replace(self.profile, env={"FAKE": json.dumps(how)})
        self.server.life.profile = self.profile

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[ModelServer]:
        """The guarded server's owner, running; what it started is ended at the end."""
        with self.environment():
            self.server = ModelServer(self.runtime, self.ledger, self.machine)
            self.server.look_s = self.server.gauge.sample_s = LOOK_S
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.server.run)
                try:
                    yield self.server
                finally:
                    with anyio.CancelScope(shield=True):
                        await self.server.close()
                    tasks.cancel_scope.cancel()

    @contextmanager
    def environment(self) -> Generator[None]:
        """The rig's binary is the one that is found."""
        before = os.environ.get("CHRYSALIS_LLAMA_SERVER")
        os.environ["CHRYSALIS_LLAMA_SERVER"] = str(self.binary)
        try:
            yield
        finally:
            os.environ.pop("CHRYSALIS_LLAMA_SERVER")
            if before is not None:
                os.environ["CHRYSALIS_LLAMA_SERVER"] = before

    async def start(self, *, override: bool = False) -> None:
        """Ask for the profile to be started."""
        await self.server.ask(lambda life, now: life.start(self.profile, now, override=override))

    async def stop(self, *, hurry: bool = False) -> None:
        """Ask for it to be stopped."""
        await self.server.ask(lambda life, now: life.stop(now, hurry=hurry))

    async def until(self, *states: str, wait_s: float = 20.0) -> float:
        """Wait until the life is in one of the states; the seconds it took.

        Raises:
            TimeoutError: with the trail, so that it can be read what happened instead.
        """
        return await self.true(lambda: self.server.life.state in states, f"state {states}", wait_s=wait_s)

    async def true(self, condition: Callable[[], bool], what: str, wait_s: float = 20.0) -> float:
        """Wait until a condition holds; the seconds it took; TimeoutError with the trail otherwise."""
        started = time.monotonic()
        while not condition():
            if time.monotonic() - started > wait_s:
                raise TimeoutError(f"no {what} in {wait_s} s; trail: {self.trail()}; log: {self.server.log.tail(5)}")
            await anyio.sleep(0.02)
        return time.monotonic() - started

    def trail(self) -> list[str]:
        """The transitions so far, with their reasons."""
        return [f"{step.state}: {step.why}" for step in self.server.life.trail]

    def pid(self) -> int:
        """The process that is watched; 0 when there is none."""
        return self.server.child.pid if self.server.child else 0

    def went_through(self, *states: str) -> bool:
        """Whether these states were passed in this order."""
        passed = iter(step.state for step in self.server.life.trail)
        return all(any(state == other for other in passed) for state in states)
