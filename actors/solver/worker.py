"""The life of a worker: forked from the zygote, it confines itself, solves one problem and is gone."""

import os
import select
import socket
import time
from pathlib import Path
from typing import Final as Constant
from typing import NoReturn

import msgspec
import z3

from protocol.action import Outcome
from protocol.errors import Failure, Fault

from . import sandbox
from .clock import Budget, Unlimited
from .outcomes import expired
from .serve import serve
from .wire import HEADER_BYTES, HERE, MAX_FRAME_BYTES, Final, Interim, Task, Warm, decode_task, frame

_IDLE_CPU_S: Constant = 3600
_SETTLE_AFTER_MS: Constant = 5
_OUTPUT: Constant = 1
_ERRORS: Constant = 2
_SOCKET: Constant = 3
_SETTLING: Constant = {"vars": {"x": "int 1..3"}, "constraints": ["x > 1"]}


def read_exactly(fd: int, count: int) -> bytes:
    """`count` bytes from the socket; the process leaves when the other end is gone."""
    parts = bytearray()
    while len(parts) < count:
        part = os.read(fd, count - len(parts))
        if not part:
            os._exit(0)
        parts += part
    return bytes(parts)


def write_all(fd: int, data: bytes) -> None:
    """All of `data` to the socket."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_task(fd: int) -> Task:
    """The one task."""
    length = int.from_bytes(read_exactly(fd, HEADER_BYTES), "big")
    return decode_task(read_exactly(fd, min(length, MAX_FRAME_BYTES)))


def has_come(fd: int, wait_ms: int) -> bool:
    """Whether there is something to read, waiting so long for it."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(wait_ms))


def settle() -> None:
    """While nobody asks, have the pages copied that every solve writes to: 5 of 9 ms of a small one, measured."""
    serve(Task(action="reason.solve", params=_SETTLING, budget_ms=0), Unlimited(), lambda _: None)


def answer(task: Task, fd: int) -> Final:
    """Serve the task, telling interim answers as they come; the last of them stands when Z3 fails after it."""
    known: Outcome | None = None

    def tell(outcome: Outcome) -> None:
        nonlocal known
        known = outcome
        write_all(fd, frame(Interim(outcome=outcome)))

    try:
        return serve(task, Budget(time.monotonic() + task.budget_ms / 1000), tell)
    except (MemoryError, z3.Z3Exception) as error:
        if known is not None:
            return Final(outcome=expired(task.action, known, task.budget_ms, timed_out=False))
        if isinstance(error, z3.Z3Exception) and "memory" not in str(error):
            return Final(failure=_failure("internal", f"Z3 refused the problem: {error}"[:500]))
        return Final(failure=_failure("too_large", "The problem needs more than the worker's 1 GiB of memory."))
    except Exception as error:  # noqa: BLE001
        text = f"the solver failed inside: {type(error).__name__}: {error}"[:500]
        return Final(failure=_failure("internal", text))


def _failure(code: str, message: str) -> Failure:
    kind = "too_large" if code == "too_large" else "internal"
    return Fault(kind, message, next_action="Ask for less: smaller ranges or fewer constraints.").failure


def keep_only(fd: int) -> None:
    """Have the socket as descriptor 3, the standard streams on /dev/null, as the zygote's output is, and no other."""
    os.dup2(fd, _SOCKET)
    os.dup2(_OUTPUT, _ERRORS)
    os.closerange(_SOCKET + 1, 1 + max(int(entry.name) for entry in Path("/proc/self/fd").iterdir()))


def introduce() -> None:
    """Send the actor a pidfd of this process: it can end it and see its end, whoever reaps it."""
    pidfd = os.pidfd_open(os.getpid())
    ours = socket.socket(fileno=_SOCKET)
    socket.send_fds(ours, [HERE], [pidfd])
    ours.detach()
    os.close(pidfd)


def live(fd: int, zygote: int) -> NoReturn:
    """Confine this fork of the zygote, take one task from the socket `fd`, answer, leave."""
    os.setsid()
    sandbox.die_with(zygote)
    keep_only(fd)
    introduce()
    sandbox.limit(_IDLE_CPU_S)
    granted = sandbox.confine()
    write_all(_SOCKET, frame(Warm(sandbox=granted, pid=os.getpid())))
    if not has_come(_SOCKET, _SETTLE_AFTER_MS):
        settle()
    try:
        task = read_task(_SOCKET)
    except (msgspec.DecodeError, RecursionError) as error:
        final = Final(failure=_failure("too_large", f"The request is malformed or nested too deep ({error})."))
    else:
        sandbox.limit_cpu(task.budget_ms // 1000 + 1)
        final = answer(task, _SOCKET)
    try:
        data = frame(final)
    except (OverflowError, UnicodeEncodeError, TypeError, msgspec.MsgspecError) as error:
        data = frame(Final(failure=_failure("internal", f"the answer cannot be sent: {error}")))
    write_all(_SOCKET, data)
    os._exit(0)
