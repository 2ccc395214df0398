"""Faults of progress: servers that hang, spin, load for ever, or only look as if they did."""

from pathlib import Path

import anyio

from actors.guard import probe

from ._guard_faults import expect, fault
from ._guard_rig import Rig


async def _comes_back(rig: Rig, cause: str) -> str:
    """The guard ends the launch for this cause, and a healthy one follows."""
    life = rig.server.life
    await rig.true(lambda: rig.went_through("stopping", "backoff"), "end of the launch")
    found = life.last_exit
    expect(found and found.cause == cause, f"cause {found}, not {cause}")
    rig.change({})
    await rig.until("ready")
    return f"{found.text if found else ''}; back by itself"


@fault(1, "llama.cpp 27388", "mid-decode stall, /health ok, /slots hangs, TERM ignored", seconds=6)
async def stall_behind_green_health(directory: Path) -> str:
    how = {"serve": 100, "token_s": 0.05, "stall_after": 10, "slots": "silent", "ignore_term": True}
    rig = Rig(directory, how, stop_grace_s=0.5, stall_s=1.5)
    async with rig.running():
        await rig.start()
        await rig.until("suspect", "stuck", "stopping")
        return await _comes_back(rig, "stuck")


@fault(2, "llama.cpp 13281", "completions send headers and no body, health ok", seconds=8)
async def headers_without_body(directory: Path) -> str:
    rig = Rig(directory, {"no_body_after": 0}, stall_s=1.0)
    async with rig.running():
        await rig.start()
        words = await _comes_back(rig, "stuck")
        expect(any("one-token" in step for step in rig.trail()), "not found by the one-token request")
        return words


@fault(3, "llama.cpp 24810", "GPU reset by the kernel, the server spins for ever", seconds=6)
async def spinning_on_a_lost_gpu(directory: Path) -> str:
    how = {"serve": 100, "token_s": 0.05, "stall_after": 10, "stall": "spin"}
    rig = Rig(directory, how, gpu_layers="all", stall_s=1.5)
    rig.gpu(used_mib=0)
    async with rig.running():
        await rig.start()
        return await _comes_back(rig, "stuck")


@fault(7, "llama.cpp 15128", "load never ends, one core at 100 %, KILL does not help", seconds=20)
async def unkillable_load(directory: Path) -> str:
    rig = Rig(directory, {"load_s": 9999}, load_s=0.5, stop_grace_s=0.5)
    async with rig.running() as server:
        await rig.start()
        await rig.true(lambda: server.child is not None, "child")
        child = server.child
        assert child is not None
        real = child.send
        child.send = _ignored  # as the kernel does to a process in D state
        await rig.until("wedged", wait_s=30)
        await rig.start()
        expect(server.life.state == "wedged", "a start while wedged was let through")
        expect("SIGKILL" in server.life.why, f"words: {server.life.why}")
        words = server.life.why
        rig.change({})
        real(9)
        await rig.until("ready")
        return f"wedged ({words}); start refused; left when the process was gone"


def _ignored(number: int) -> None:
    """A signal that does nothing."""
    del number


@fault(8, "llama.cpp 27998", "pipeline compile spins, never listening", seconds=5)
async def never_listens(directory: Path) -> str:
    rig = Rig(directory, {"never_bind": True}, load_s=0.5)
    async with rig.running():
        await rig.start()
        return await _comes_back(rig, "stuck")


@fault(18, "llama-swap 92, 38, 75", "a load slower than usual, a slow stop", seconds=8)
async def slow_load_and_stop(directory: Path) -> str:
    rig = Rig(directory, {"load_s": 4, "term_s": 1.0})
    async with rig.running() as server:
        await rig.start()
        loaded = await rig.until("ready")
        await rig.stop()
        stopped = await rig.until("stopped")
        code = server.life.last_exit and server.life.last_exit.code
        expect(code == 0, f"it was killed during its orderly stop: {code}")
        return f"ready after {loaded:.1f} s without an alarm, stopped in order in {stopped:.1f} s"


@fault(24, "ollama 5464, 8426, 10053", "after suspend the model runs on the CPU, ten times slower", seconds=8)
async def slower_after_suspend(directory: Path) -> str:
    slow = directory / "slow"
    rig = Rig(directory, {"serve": 100_000, "token_s": 0.02, "slow_file": str(slow)})
    async with rig.running() as server:
        await rig.start()
        await rig.true(
            lambda: bool(server.attention and server.attention.watch.tokens_per_s), "a rate before the sleep"
        )
        slow.touch()
        before = server.sleep_clock.asleep_s
        server.sleep_clock.asleep_s = lambda: before() + 3600
        await rig.true(lambda: bool(server.warnings), "a warning")
        expect(not rig.went_through("stuck"), "it was taken for stuck")
        return server.warnings[0]


@fault(31, "omlx 1884, 2852", "body never comes, health green for hours while idle", seconds=9)
async def dead_while_idle(directory: Path) -> str:
    rig = Rig(directory, {"no_body_after": 1}, stall_s=1.0, probe_idle_s=1.0)
    async with rig.running() as server:
        await rig.start()
        await rig.until("ready")
        words = await _comes_back(rig, "stuck")
        expect(server.life.restarts == 1, f"{server.life.restarts} restarts")
        return f"found by a one-token request while idle; {words}"


@fault(32, "ik_llama 1210", "no answer from /health and /slots during a long prefill on the CPU", seconds=9)
async def silent_prefill(directory: Path) -> str:
    how = {"serve": 5, "prefill_s": 9, "slots": "silent", "health": "silent"}
    rig = Rig(directory, how, stall_s=2.0)
    async with rig.running() as server:
        await rig.start()
        await rig.until("ready", "busy", "suspect")
        await anyio.sleep(4.5)
        expect(not rig.went_through("stuck"), f"a busy server was taken for stuck: {rig.trail()}")
        assert server.attention is not None
        cpu = server.attention.last.cpu_s if server.attention.last else 0.0
        return f"silent for 4.5 s with {cpu:.1f} CPU-seconds used: {server.life.state}, left alone"


@fault(27, "llama.cpp 28698, 25528", "a model in use is evicted; one that loads is restarted", seconds=7)
async def stop_waits_for_the_request(directory: Path) -> str:
    rig = Rig(directory, {"token_s": 0.1})
    async with rig.running() as server:
        await rig.start()
        await rig.until("ready")
        await rig.true(lambda: server.life.state == "ready" and server.attention is not None, "idle")
        assert server.child is not None
        launch, answers = server.child.launch, list[int | None]()

        async def ask() -> None:
            answer = await probe.request(launch, "/completion", body={"prompt": "x", "n_predict": 20}, wait_s=15)
            answers.append(answer.status)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await rig.until("busy", "slow")
            await rig.stop()
        await rig.until("stopped")
        expect(answers == [200], f"the request under way got {answers}")
        rig.change({"load_s": 1})
        await rig.start()
        await rig.until("loading")
        await server.ask(lambda life, now: life.restart(rig.profile, now))
        await rig.until("ready")
        return "stop waited for the request under way; a restart during loading ended in order"
