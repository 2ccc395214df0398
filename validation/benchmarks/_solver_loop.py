"""`python -m validation.benchmarks._solver_loop FD PARENT`: the worker's own confinement and code, task after task.

For the fuzzing benchmark only: a worker of the actor serves one task, which makes ten thousand of them cost an hour;
here one confined process serves many, and is replaced when it ends.
"""

import sys

import msgspec

from actors.solver import sandbox
from actors.solver.wire import Final, Warm, frame
from actors.solver.worker import answer, read_task, warm_up, write_all
from protocol.errors import Fault


def main(fd: int, parent: int) -> None:
    """Warm up, confine, then serve until the other end is gone."""
    sandbox.die_with(parent)
    sys.setrecursionlimit(20_000)
    warm_up()
    sandbox.limit(3600)
    write_all(fd, frame(Warm(sandbox=sandbox.confine())))
    while True:
        try:
            data = frame(answer(read_task(fd), fd))
        except (msgspec.DecodeError, RecursionError, OverflowError, UnicodeEncodeError, TypeError) as error:
            data = frame(Final(failure=Fault("internal", f"not sent: {type(error).__name__}", next_action="-").failure))
        write_all(fd, data)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
