"""What every test gets: a watch for processes left behind, and a real daemon where a module asks for one."""

import contextlib
import os
import random

import psutil
import pytest

from validation.stack import Stack


@pytest.fixture(autouse=True)
def nothing_is_left_running(request):
    """Each test ends with the child processes it started with, shared daemons of its module left out."""
    before = {p.pid for p in psutil.Process().children(recursive=True)}
    yield
    after = {p for p in psutil.Process().children(recursive=True) if p.pid not in before}
    shared: set[int] = set()  # looked up last: what the daemon starts in between is its own
    if "stack" in request.fixturenames:
        shared = {p.pid for p in request.getfixturevalue("stack").processes()}
    _, alive = psutil.wait_procs([p for p in after if p.pid not in shared], timeout=5)
    left = [" ".join(_cmdline(p)) for p in alive]
    assert not left, f"still running: {left}"


def _cmdline(process):
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return ["?"]


@pytest.fixture(scope="session")
def stack():
    """One real daemon for the whole run; tests use sessions and sources of their own."""
    with Stack() as running:
        yield running


@pytest.fixture
def client(stack):
    """A client of the shared daemon, as an operator."""
    with stack.client() as connected:
        yield connected


@pytest.fixture
def rng():
    """A random generator whose seed is printed, so that a failure can be repeated with CHRYSALIS_SEED."""
    seed = int(os.environ.get("CHRYSALIS_SEED") or random.SystemRandom().randrange(2**32))
    print(f"CHRYSALIS_SEED={seed}")
    return random.Random(seed)
