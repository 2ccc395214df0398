"""The zygote: what its forks inherit, that it stays clean, and what follows when it is killed, stopped or refused."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import msgspec
import psutil
import pytest

from actors.solver import process
from actors.solver.forking import Zygote, ZygoteDied
from actors.solver.pool import Pool
from actors.solver.process import Orphaned, Worker, WorkerDied
from actors.solver.wire import Task, frame
from protocol.actions.reason import Solve
from protocol.errors import Fault
from tests.actors.solver.test_workers import ENDLESS, HUGE, SMALL, running, solve, until
from validation.benchmarks._solver_cases import CASES

ROOT = Path(__file__).resolve().parents[3]
WIDE = (
    "(declare-const a (_ BitVec 20000))(declare-const b (_ BitVec 20000))"
    "(assert (= (bvmul a b) (bvmul b (bvmul a a))))(assert (not (= a b)))"
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


pytestmark = pytest.mark.anyio
IGNORING_LIMITS = {1, 2, 3, 4, 8, 10, 13, 14}
"""Cases that only the actor's clock ends."""


async def in_reserve(actor) -> psutil.Process:
    await until(lambda: actor.pool.pids)
    return psutil.Process(actor.pool.pids[0])


def ended(worker: psutil.Process) -> bool:
    """Whether it runs no more; in a process that was made a reaper it may stay as a zombie."""
    try:
        return worker.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def descriptors(pid: int) -> dict[int, Path]:
    return {int(fd.name): fd for fd in Path(f"/proc/{pid}/fd").iterdir()}


def threads(pid: int) -> int:
    return psutil.Process(pid).num_threads()


async def test_a_worker_inherits_its_own_socket_and_nothing_else():
    async with running() as actor:
        worker = await in_reserve(actor)
        await until(lambda: worker.status() == psutil.STATUS_SLEEPING)
        links = descriptors(worker.pid)
        assert sorted(links) == [0, 1, 2, 3]
        assert {str(links[fd].readlink()) for fd in (0, 1, 2)} == {"/dev/null"}
        assert stat.S_ISSOCK(links[3].stat().st_mode)
        assert worker.ppid() == actor.pool.zygote
        assert os.getsid(worker.pid) == worker.pid


async def test_the_zygote_has_one_thread_and_neither_grows_nor_changes_with_what_its_workers_suffer():
    async with running() as actor:
        await in_reserve(actor)
        zygote = actor.pool.zygote
        size = psutil.Process(zygote).memory_info().rss
        for script in (HUGE, WIDE, ENDLESS):
            await solve(actor, Solve(smt2=script, timeout_ms=700))
        outcome = await solve(actor, SMALL)
        assert outcome.data["model"] == {"x": 5}
        assert actor.pool.zygote == zygote
        assert threads(zygote) == 1
        assert psutil.Process(zygote).memory_info().rss <= size + (1 << 20)


async def test_a_zygote_that_is_killed_is_replaced_and_the_call_under_way_is_answered():
    async with running() as actor:
        await in_reserve(actor)
        zygote = actor.pool.zygote

        async def kill():
            await until(lambda: actor.pool.busy)
            os.kill(zygote, signal.SIGKILL)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            outcome = await solve(actor, Solve(smt2=ENDLESS, timeout_ms=1500))
        assert (outcome.data.result, outcome.data.reason) == ("unknown", "timeout")
        assert actor.pool.zygote != zygote
        assert (await solve(actor, SMALL)).data["model"] == {"x": 5}


async def test_a_zygote_that_is_killed_while_nobody_asks_is_replaced_at_the_next_call():
    async with running() as actor:
        worker = await in_reserve(actor)
        os.kill(actor.pool.zygote, signal.SIGKILL)
        await until(lambda: ended(worker))
        assert (await solve(actor, SMALL)).data["model"] == {"x": 5}


async def test_a_call_whose_workers_are_lost_twice_is_told_so_and_may_be_retried():
    async with running() as actor:
        killed = set()

        async def kill():
            while len(killed) < 2:
                await until(lambda: actor.pool.busy and actor.pool.zygote not in {None, *killed})
                killed.add(actor.pool.zygote)
                os.kill(actor.pool.zygote, signal.SIGKILL)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            with pytest.raises(Fault, match="ended from outside") as error:
                await solve(actor, Solve(smt2=ENDLESS, timeout_ms=20_000))
        assert error.value.failure.code == "unavailable"
        assert error.value.failure.retryable


async def test_a_zygote_that_is_stopped_is_replaced_when_it_does_not_fork(monkeypatch):
    monkeypatch.setattr(process, "FORK_MAX_S", 0.5)
    async with running() as actor:
        await in_reserve(actor)
        zygote = actor.pool.zygote
        os.kill(zygote, signal.SIGSTOP)
        for _ in range(2):
            assert (await solve(actor, SMALL)).data["model"] == {"x": 5}
        assert actor.pool.zygote != zygote
        assert not psutil.pid_exists(zygote)


class Refusing:
    """A zygote that cannot fork: it closes each socket that it is given."""

    alive = True

    async def survives(self) -> bool:
        return True

    def fork(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.close()
        return ours


async def test_a_refused_fork_is_a_worker_that_did_not_start_and_costs_no_descriptor():
    before = psutil.Process().num_fds()
    with pytest.raises(WorkerDied) as error:
        await Worker.spawn(Refusing())
    assert not isinstance(error.value, Orphaned)
    assert psutil.Process().num_fds() == before


async def test_the_pool_asks_again_when_a_zygote_cannot_be_started(monkeypatch):
    started = Zygote.start
    failing = iter([ZygoteDied(), OSError("no process")])

    async def fails_at_first():
        error = next(failing, None)
        if error:
            raise error
        return await started()

    monkeypatch.setattr(Zygote, "start", fails_at_first)
    async with anyio.create_task_group() as tasks:
        pool = Pool(tasks)
        pool.start()
        await until(lambda: pool.pids)
        assert pool.failures == 0
        await pool.close()


async def test_a_zygote_ends_when_the_actor_lets_go_of_it_and_takes_its_workers_along():
    zygote = await Zygote.start()
    worker = await Worker.spawn(zygote)
    assert zygote.alive
    assert worker.alive
    zygote._control.close()
    await until(lambda: not worker.alive and not zygote.alive)
    with pytest.raises(ZygoteDied):
        zygote.fork()
    await worker.kill()
    await zygote.kill()


async def test_nothing_of_the_actor_is_open_after_many_workers():
    async with running() as actor:
        await solve(actor, SMALL)
        await until(lambda: actor.pool.pids and not actor.pool.busy)
        before = psutil.Process().num_fds()
        for _ in range(10):
            await solve(actor, SMALL)
        await until(lambda: actor.pool.pids and not actor.pool.busy)
        assert psutil.Process().num_fds() == before


LOADED = """
import sys
from actors.solver import zygote
from actors.solver.clock import Budget
from actors.solver.serve import serve
from actors.solver.wire import HEADER_BYTES, decode_task
zygote.warm_up()
loaded = set(sys.modules)
while header := sys.stdin.buffer.read(HEADER_BYTES):
    serve(decode_task(sys.stdin.buffer.read(int.from_bytes(header, "big"))), zygote.Unlimited(), lambda _: None)
print(zygote.threads(), sorted(set(sys.modules) - loaded))
"""


def test_what_a_solve_needs_is_loaded_before_the_zygote_forks():
    """A confined worker opens no file, so an import on first use would fail there; and a second thread ends forking."""
    tasks = b"".join(
        frame(Task(action=_action(case.request), params=_given(case.request), budget_ms=0))
        for case in CASES
        if case.number not in IGNORING_LIMITS
    )
    run = subprocess.run([sys.executable, "-B", "-c", LOADED], cwd=ROOT, input=tasks, capture_output=True, check=False)
    assert run.stdout == b"1 []\n", run.stderr


def _action(request):
    return "reason.solve" if isinstance(request, Solve) else "reason.check"


def _given(request):
    return {name: value for name, value in msgspec.structs.asdict(request).items() if value is not None}


async def test_requests_at_once_come_out_of_different_forks():
    async with running() as actor:
        models = []

        async def one(number):
            outcome = await solve(actor, Solve(vars={"x": "int"}, constraints=[f"x = {number}"]))
            models.append(outcome.data["model"]["x"])

        async with anyio.create_task_group() as tasks:
            for number in range(12):
                tasks.start_soon(one, number)
        assert sorted(models) == list(range(12))


async def test_workers_that_end_at_the_same_time_are_told_apart_from_a_lost_zygote():
    async with running() as actor:
        await in_reserve(actor)
        found = []

        async def crash():
            found.append(await solve(actor, Solve(smt2=HUGE)))

        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(crash)
        assert [outcome.data.reason for outcome in found] == ["memory"] * 6
