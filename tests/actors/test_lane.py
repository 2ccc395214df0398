"""The lane: one at a time, callers before background turns, and background turns not left waiting for ever."""

import threading

import anyio
import pytest

from actors.lane import PATIENCE_S, Lane


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


async def ran(clock, *turns):
    """In which order turns of (name, background, when) run that came while the lane was held."""
    lane, release, done = Lane(clock), threading.Event(), []

    async def turn(name, background):
        await lane.run(done.append, name, background=background)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lane.run, release.wait)
        await anyio.wait_all_tasks_blocked()
        for name, background, clock.now in turns:
            tasks.start_soon(turn, name, background)
            await anyio.wait_all_tasks_blocked()
        release.set()
    return done


def test_callers_go_before_background_turns_each_in_order():
    turns = (("b1", True, 0), ("c1", False, 0), ("b2", True, 0), ("c2", False, 0))
    assert anyio.run(ran, Clock(), *turns) == ["c1", "c2", "b1", "b2"]


def test_a_background_turn_that_has_waited_long_goes_first():
    late = 1.1 * PATIENCE_S
    turns = (("b1", True, 0), ("c1", False, 0), ("b2", True, late), ("c2", False, late))
    assert anyio.run(ran, Clock(), *turns) == ["b1", "c1", "c2", "b2"]


def test_nobody_is_in_the_lane_beside_another():
    inside, most = [], []

    def work():
        inside.append(1)
        most.append(len(inside))
        inside.pop()

    async def scene():
        lane = Lane()
        async with anyio.create_task_group() as tasks:
            for n in range(200):

                async def turn(background=bool(n % 3)):
                    await lane.run(work, background=background)

                tasks.start_soon(turn)

    anyio.run(scene)
    assert len(most) == 200
    assert max(most) == 1


@pytest.mark.parametrize("background", [False, True])
def test_who_is_cancelled_or_fails_leaves_the_lane_to_the_next(background):
    done = []

    async def scene():
        lane, release, scope = Lane(), threading.Event(), anyio.CancelScope()

        async def given_up():
            with scope:
                await lane.run(done.append, "never", background=background)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lane.run, release.wait)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(given_up)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            release.set()
        with pytest.raises(ZeroDivisionError):
            await lane.run(lambda: 1 // 0, background=background)
        await lane.run(done.append, "next", background=background)

    anyio.run(scene)
    assert done == ["next"]


def test_a_turn_that_comes_while_its_owner_is_cancelled_is_handed_on():
    done = []

    async def scene():
        lane, release, scope = Lane(), threading.Event(), anyio.CancelScope()

        async def given_up():
            with scope:
                await lane.run(done.append, "never")

        async def holder():
            await lane.run(release.wait)
            scope.cancel()  # the turn has been handed on by now, and its owner has not run since

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(holder)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(given_up)
            await anyio.wait_all_tasks_blocked()
            release.set()
        with anyio.fail_after(5):
            await lane.run(done.append, "next")

    anyio.run(scene)
    assert done == ["next"]
