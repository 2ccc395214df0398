"""Landlock by ctypes: the kernel denies this process every file, and TCP where the kernel knows it.

Source: the kernel's Documentation/userspace-api/landlock.rst. A ruleset that handles every right and holds
no rule denies them all; it stays on for good.
"""

import ctypes
import os
import sys

_CREATE, _RESTRICT = 444, 446  # the same on every architecture
_VERSION_FLAG = 1
_PR_SET_NO_NEW_PRIVS = 38
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}  # ABI from which on so many file rights exist
_TCP_RIGHTS, _TCP_ABI = 0b11, 4
_SCOPES, _SCOPE_ABI = 0b11, 6  # abstract sockets and signals


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


def libc() -> ctypes.CDLL:
    """The C library of this process, errno kept."""
    return ctypes.CDLL(None, use_errno=True)


def no_new_privileges() -> bool:
    """Give up gaining rights by exec; both Landlock and seccomp ask for it."""
    return libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0


def abi() -> int:
    """The kernel's Landlock version; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    found = libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    return max(0, int(found))


def deny_all() -> bool:
    """Deny all files, TCP and signals to others; False where the kernel cannot."""
    version = abi()
    if version < 1 or not no_new_privileges():
        return False
    rights = max(count for since, count in _FILE_RIGHTS.items() if since <= version)
    rules = _Ruleset(
        (1 << rights) - 1,
        _TCP_RIGHTS if version >= _TCP_ABI else 0,
        _SCOPES if version >= _SCOPE_ABI else 0,
    )
    size = 24 if version >= _SCOPE_ABI else 16 if version >= _TCP_ABI else 8
    fd = int(libc().syscall(_CREATE, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0)))
    if fd < 0:
        return False
    try:
        return libc().syscall(_RESTRICT, ctypes.c_int(fd), ctypes.c_uint32(0)) == 0
    finally:
        os.close(fd)
