"""A seccomp allowlist by ctypes: what a solver needs, threads included; no file, socket, exec, fork or kill.

Classic BPF over `struct seccomp_data` (nr at 0, arch at 4, low halves of the arguments from 16 on). A call
that is not listed fails with EPERM, so that Z3 and Python get an error instead of a dead process. Source:
the kernel's Documentation/userspace-api/seccomp_filter.rst; numbers from its syscall tables.
"""

import ctypes
import errno
import platform
import struct
from typing import Final

from .landlock import libc, no_new_privileges

_ARCHITECTURE: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_ALLOWED: Final[dict[str, tuple[int, ...]]] = {
    # read write close lseek munmap brk rt_sigaction rt_sigprocmask rt_sigreturn writev mremap madvise getpid exit
    # sigaltstack gettid futex sched_getaffinity set_tid_address clock_gettime clock_getres clock_nanosleep exit_group
    # tgkill set_robust_list getrandom rseq sched_yield nanosleep getrusage sysinfo getcpu poll restart_syscall times
    "x86_64": (
        0, 1, 3, 8, 11, 12, 13, 14, 15, 20, 25, 28, 39, 60, 131, 186, 202, 204, 218, 228, 229, 230, 231,
        234, 273, 318, 334, 24, 35, 98, 99, 309, 7, 219, 100, 96, 201,
    ),
    "aarch64": (
        63, 64, 57, 62, 215, 214, 134, 135, 139, 66, 216, 233, 172, 93, 132, 178, 98, 123, 96, 113, 114,
        115, 94, 131, 99, 278, 293, 124, 101, 165, 179, 168, 73, 128, 153, 169,
    ),
}  # fmt: skip
_MAPPING: Final = {"x86_64": (9, 10), "aarch64": (222, 226)}
"""mmap and mprotect: allowed unless they ask for executable memory."""
_LIMITS: Final = {"x86_64": 302, "aarch64": 261}
"""prlimit64: for this process only."""
_CLONE: Final = {"x86_64": 56, "aarch64": 220}
_CLONE3: Final = 435
_CLONE_THREAD, _PROT_EXEC = 0x10000, 4
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NR, _ARCH, _ARG0, _ARG2 = 0, 4, 16, 32
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _when(nr: int, *body: bytes) -> list[bytes]:
    """Run `body`, which returns, when the call is `nr`."""
    return [_step(_EQUAL, nr, 0, len(body)), *body]


def build(machine: str) -> bytes:
    """The filter for one architecture, as an array of `struct sock_filter`.

    Raises:
        KeyError: for an architecture whose numbers we do not know.
    """
    refuse = _step(_RETURN, _FAIL | errno.EPERM)
    allow = _step(_RETURN, _ALLOW)
    steps = [_step(_LOAD, _ARCH), _step(_EQUAL, _ARCHITECTURE[machine], 1, 0), refuse, _step(_LOAD, _NR)]
    for nr in _ALLOWED[machine]:
        steps += _when(nr, allow)
    for nr in _MAPPING[machine]:
        steps += _when(nr, _step(_LOAD, _ARG2), _step(_ANY_BIT, _PROT_EXEC, 1, 0), allow, refuse)
    steps += _when(_CLONE[machine], _step(_LOAD, _ARG0), _step(_ANY_BIT, _CLONE_THREAD, 0, 1), allow, refuse)
    steps += _when(_LIMITS[machine], _step(_LOAD, _ARG0), _step(_EQUAL, 0, 0, 1), allow, refuse)
    # glibc falls back to clone, whose flags a filter can read
    steps += _when(_CLONE3, _step(_RETURN, _FAIL | errno.ENOSYS))
    return b"".join([*steps, refuse])


def install() -> bool:
    """Put the filter on for good; False where the kernel or the architecture cannot."""
    machine = platform.machine()
    if machine not in _ARCHITECTURE or not no_new_privileges():
        return False
    code = build(machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0
