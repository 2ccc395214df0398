"""`python -m actors.solver.worker FD PARENT`: a process that solves one problem and is gone.

Everything it will need is imported and used once before it confines itself, since afterwards no file opens.
"""

import os
import sys
import time
from typing import NoReturn

import msgspec
import z3

from protocol.action import Outcome
from protocol.errors import Failure, Fault

from . import sandbox
from .clock import Budget
from .serve import serve
from .wire import HEADER_BYTES, MAX_FRAME_BYTES, Final, Interim, Task, Warm, decode_task, frame

_IDLE_CPU_S = 3600
_RECURSION = 20_000


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


def warm_up() -> None:
    """Solve something small on each path, so that whatever loads on first use is loaded."""
    budget = Budget(time.monotonic() + 30)
    params = {"vars": {"x": "int 1..3", "y": ["a", "b"], "r": "real"}, "constraints": ["x > 1", "y = b", "r = x / 2"]}
    serve(Task(action="reason.solve", params={**params, "maximize": "x"}, budget_ms=5000), budget, _ignore)
    serve(
        Task(action="reason.solve", params={**params, "constraints": ["x >", "q = 1"]}, budget_ms=5000), budget, _ignore
    )
    serve(Task(action="reason.solve", params={**params, "constraints": ["x > 4"]}, budget_ms=5000), budget, _ignore)
    serve(Task(action="reason.check", params={**params, "assignment": {"x": 1}}, budget_ms=5000), budget, _ignore)
    text = "(declare-const x Int)(assert (> x 1))(check-sat)(get-model)"
    serve(Task(action="reason.solve", params={"smt2": text}, budget_ms=5000), budget, _ignore)
    serve(Task(action="reason.solve", params={"smt2": "(nope)"}, budget_ms=5000), budget, _ignore)


def _ignore(_: Outcome) -> None:
    """Interim answers of the warm-up are nobody's."""


def answer(task: Task, fd: int) -> Final:
    """Serve the task, telling interim answers as they come."""

    def tell(outcome: Outcome) -> None:
        write_all(fd, frame(Interim(outcome=outcome)))

    try:
        return serve(task, Budget(time.monotonic() + task.budget_ms / 1000), tell)
    except (MemoryError, z3.Z3Exception) as error:
        if isinstance(error, z3.Z3Exception) and "memory" not in str(error):
            return Final(failure=_failure("internal", f"Z3 refused the problem: {error}"[:500]))
        return Final(failure=_failure("too_large", "The problem needs more than the worker's 1 GiB of memory."))
    except Exception as error:  # noqa: BLE001
        text = f"the solver failed inside: {type(error).__name__}: {error}"[:500]
        return Final(failure=_failure("internal", text))


def _failure(code: str, message: str) -> Failure:
    kind = "too_large" if code == "too_large" else "internal"
    return Fault(kind, message, next_action="Ask for less: smaller ranges or fewer constraints.").failure


def main(fd: int, parent: int) -> NoReturn:
    """Warm up, confine, take one task, answer, leave."""
    sandbox.die_with(parent)
    sys.setrecursionlimit(_RECURSION)

    warm_up()
    sandbox.limit(_IDLE_CPU_S)
    granted = sandbox.confine()
    write_all(fd, frame(Warm(sandbox=granted)))
    try:
        task = read_task(fd)
    except (msgspec.DecodeError, RecursionError) as error:
        final = Final(failure=_failure("too_large", f"The request is malformed or nested too deep ({error})."))
    else:
        sandbox.limit_cpu(task.budget_ms // 1000 + 1)
        final = answer(task, fd)
    try:
        data = frame(final)
    except (OverflowError, UnicodeEncodeError, TypeError, msgspec.MsgspecError) as error:
        data = frame(Final(failure=_failure("internal", f"the answer cannot be sent: {error}")))
    write_all(fd, data)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
