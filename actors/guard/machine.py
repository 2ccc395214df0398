"""What the machine has: memory, pressure and GPU memory, read from /proc and /sys under roots that tests replace."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

MIB: Final = 1 << 20
_UNITS: Final = {"B": 1, "": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Memory(Struct, frozen=True):
    """System memory in bytes."""

    total: int
    available: int


class Pressure(Struct, frozen=True):
    """PSI of memory, in percent of time over ten seconds: some task, and all tasks, waited for memory."""

    some: float = 0.0
    full: float = 0.0


class Gpu(Struct, frozen=True):
    """One GPU's memory in bytes; `source` names the files."""

    name: str
    total: int
    used: int
    source: str

    @property
    def free(self) -> int:
        return max(0, self.total - self.used)


class GpuUse(Struct, frozen=True):
    """What one process holds and does on GPUs, from its fdinfo: bytes, and engine time in nanoseconds."""

    bytes: int = 0
    engine_ns: int = 0
    seen: bool = False


class ProcessState(Struct, frozen=True):
    """One process: kernel state letter, CPU seconds, bytes resident and anonymous, bytes read, start time."""

    state: str
    cpu_s: float
    rss: int
    anonymous: int
    start: int
    read: int = 0


class Machine:
    """The readers. All return what is there now; None or an empty list where the machine has no such thing.

    `processes` is the /proc that single processes are read from; `proc` and `sys` hold the machine's own figures.
    """

    def __init__(self, proc: Path = Path("/proc"), sys: Path = Path("/sys"), processes: Path = Path("/proc")) -> None:
        self.proc, self.sys, self.processes = proc, sys, processes
        self._tick = os.sysconf("SC_CLK_TCK")
        self._page = os.sysconf("SC_PAGE_SIZE")

    def memory(self) -> Memory:
        """MemTotal and MemAvailable."""
        lines = (self.proc / "meminfo").read_text().splitlines()
        fields = {key: int(rest.split()[0]) * 1024 for key, _, rest in (line.partition(":") for line in lines) if rest}
        return Memory(fields["MemTotal"], fields.get("MemAvailable", fields.get("MemFree", 0)))

    def pressure(self) -> Pressure | None:
        """PSI of memory; None where the kernel has none."""
        try:
            lines = (self.proc / "pressure" / "memory").read_text().splitlines()
        except OSError:
            return None
        tens = {line.split()[0]: float(line.split()[1].partition("=")[2]) for line in lines if " avg10=" in line}
        return Pressure(tens.get("some", 0.0), tens.get("full", 0.0))

    def oom_kills(self) -> int:
        """How many processes the kernel has killed for memory since it started."""
        try:
            lines = (self.proc / "vmstat").read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)

    def gpus(self) -> list[Gpu]:
        """Memory of every amdgpu: carve-out (VRAM) and GTT together, as an APU uses both."""
        found: list[Gpu] = []
        for device in sorted((self.sys / "class" / "drm").glob("card[0-9]*/device")):
            pools = [_pool(device, name) for name in ("vram", "gtt")]
            known = [pool for pool in pools if pool]
            if known:
                total, used = sum(pool[0] for pool in known), sum(pool[1] for pool in known)
                found.append(Gpu(device.parent.name, total, used, "amdgpu mem_info_vram and mem_info_gtt"))
        return found

    def has_gpu(self) -> bool:
        """Whether any GPU is visible, with or without figures of its memory."""
        cards = (self.sys / "class" / "drm").glob("card[0-9]*")
        return any(cards) or (self.proc / "driver" / "nvidia").exists()

    def process(self, pid: int) -> ProcessState | None:
        """State, CPU time and memory of a process; None when there is none."""
        base = self.processes / str(pid)
        try:
            fields = (base / "stat").read_text().rpartition(")")[2].split()
            status = (base / "status").read_text()
        except OSError:
            return None
        cpu = (int(fields[11]) + int(fields[12])) / self._tick
        anonymous = _kib(status, "RssAnon") or int(fields[21]) * self._page
        return ProcessState(fields[0], cpu, int(fields[21]) * self._page, anonymous, int(fields[19]), _read_bytes(base))

    def gpu_use(self, pid: int) -> GpuUse:
        """What the process holds on GPUs, each client once (i915, xe and amdgpu fdinfo)."""
        clients: dict[tuple[str, str], GpuUse] = {}
        for fields in self._drm_clients(pid):
            held = sum(_bytes(v) for k, v in fields.items() if k.startswith("drm-total-"))
            busy = sum(int(v.split()[0]) for k, v in fields.items() if k.startswith("drm-engine-") and v.endswith("ns"))
            clients[fields.get("drm-pdev", ""), fields.get("drm-client-id", "")] = GpuUse(held, busy, seen=True)
        used = clients.values()
        return GpuUse(sum(use.bytes for use in used), sum(use.engine_ns for use in used), seen=bool(clients))

    def _drm_clients(self, pid: int) -> Iterator[dict[str, str]]:
        try:
            entries = sorted((self.processes / str(pid) / "fdinfo").iterdir())
        except OSError:
            return
        for entry in entries:
            try:
                text = entry.read_text()
            except OSError:
                continue
            if "drm-driver" in text:
                yield {
                    key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())
                }


def _pool(device: Path, name: str) -> tuple[int, int] | None:
    try:
        return tuple(int((device / f"mem_info_{name}_{which}").read_text()) for which in ("total", "used"))  # pyright: ignore[reportReturnType] - two entries by construction
    except (OSError, ValueError):
        return None


def _kib(text: str, key: str) -> int:
    for line in text.splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0


def _read_bytes(base: Path) -> int:
    try:
        text = (base / "io").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("rchar:")), 0)


def _bytes(value: str) -> int:
    number, _, unit = value.partition(" ")
    return int(number) * _UNITS.get(unit.strip(), 1) if number.isdigit() else 0
