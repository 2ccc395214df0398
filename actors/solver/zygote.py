"""`python -m actors.solver.zygote FD PARENT`: the warm process of which every worker is a fork.

It imports all that a solve needs and uses it once; then it only forks. It never sees a request and never solves
again, so each worker starts clean. fork() copies the calling thread alone, hence the zygote must have no other: the
warm-up runs without time limits, because Z3 starts a thread for each limit that it is given and keeps it.
"""

import gc
import importlib.util
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Final, NoReturn

from protocol.action import Outcome

from . import sandbox, worker
from .clock import Unlimited
from .serve import serve
from .smtlib.session import prepare
from .wire import FORK, READY, Task

_RECURSION: Final = 20_000
_PARAMS: Final = {
    "vars": {"x": "int 1..3", "y": ["a", "b"], "r": "real"},
    "constraints": ["x > 1", "y = b", "r = x / 2"],
}
_WARMING: Final = (
    Task(action="reason.solve", params={**_PARAMS, "maximize": "x"}, budget_ms=0),
    Task(action="reason.solve", params={**_PARAMS, "constraints": ["x >", "q = 1"]}, budget_ms=0),
    Task(action="reason.solve", params={**_PARAMS, "constraints": ["x > 4"]}, budget_ms=0),
    Task(action="reason.check", params={**_PARAMS, "assignment": {"x": 1}}, budget_ms=0),
    Task(
        action="reason.solve",
        params={"smt2": "(declare-const x Int)(assert (> x 1))(check-sat)(get-model)"},
        budget_ms=0,
    ),
    Task(action="reason.solve", params={"smt2": "(nope)"}, budget_ms=0),
)


_LAZY: Final = ("_pylong",)
"""Modules of Python's own that it imports when first needed: this one, since 3.12, to write huge integers as text."""


def warm_up() -> None:
    """Solve something small on each path, so that whatever loads on first use is loaded."""
    for name in _LAZY:
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    for task in _WARMING:
        serve(task, Unlimited(), _ignore)
    prepare()


def _ignore(_: Outcome) -> None:
    """Interim answers of the warm-up are nobody's."""


def threads() -> int:
    """How many threads this process has, those of C libraries included; 1 where the kernel does not tell."""
    listing = Path("/proc/self/task")
    return len(list(listing.iterdir())) if listing.exists() else 1


def fork_worker(fd: int, zygote: int) -> None:
    """Fork a worker that has the socket `fd`; when the kernel refuses, the socket's end tells the actor so."""
    try:
        forked = os.fork()
    except OSError:
        return
    if forked == 0:
        try:
            worker.live(fd, zygote)
        finally:
            os._exit(1)


def main(fd: int, parent: int) -> NoReturn:
    """Warm up, then fork a worker for each socket that comes, until the actor is gone."""
    sandbox.die_with(parent)
    sys.setrecursionlimit(_RECURSION)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps; the actor holds a pidfd of each worker
    warm_up()
    if threads() != 1:
        sys.exit("a thread was started in the warm-up, so that no fork is safe")
    gc.collect()
    gc.freeze()  # what all share is left out of collections, which would copy it
    control = socket.socket(fileno=fd)
    control.sendall(READY)
    while True:
        word, fds, _, _ = socket.recv_fds(control, len(FORK), 1)
        if not word:
            os._exit(0)
        for given in fds:
            fork_worker(given, os.getpid())
            os.close(given)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
