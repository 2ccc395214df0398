"""What a worker takes from itself before it reads a request: memory, time, files, network, other processes."""

import os
import resource
import signal
import sys
from typing import Literal

from . import landlock, seccomp

Sandbox = Literal["landlock+seccomp", "landlock", "seccomp", "rlimits"]

_MEMORY_BYTES = 1 << 30
_CPU_GRACE_S = 5
_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel kill this process when the thread that spawned it ends; leave when it already has."""
    if sys.platform.startswith("linux"):
        landlock.libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def limit(cpu_s: int) -> None:
    """Set the resource limits: 1 GiB of address space, CPU seconds, no core, no file growth, 16 descriptors."""
    for name, value in (
        (resource.RLIMIT_AS, _MEMORY_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 16),
    ):
        resource.setrlimit(name, (value, value))
    limit_cpu(cpu_s)


def limit_cpu(seconds: int) -> None:
    """The backstop behind the parent's clock: soft and hard limit of CPU time from now on."""
    used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime) + 1
    value = used + seconds + _CPU_GRACE_S
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (value, value))


def confine() -> Sandbox:
    """Landlock, then the seccomp filter; the answer tells what this kernel granted."""
    files, calls = landlock.deny_all(), seccomp.install()
    if files and calls:
        return "landlock+seccomp"
    return "landlock" if files else "seccomp" if calls else "rlimits"
