"""Faults of exit and identity: crashes, crash loops, orphans, strays, ports."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from actors.guard import probe, record
from actors.guard.processes import marked
from validation.result import ROOT

from ._guard_faults import expect, fault
from ._guard_rig import Rig

PROC = Path("/proc")


@fault(4, "llama.cpp 28808, 28807", "DeviceLost and abort at a request", seconds=3)
async def device_lost_at_a_request(directory: Path) -> str:
    rig = Rig(directory, {"abort_on": 1})
    async with rig.running() as server:
        await rig.start()
        await rig.until("backoff")
        found = server.life.last_exit
        expect(found and found.cause == "device_lost", f"cause {found}")
        rig.change({})
        await rig.until("ready")
        return f"{found.text if found else ''}; back by itself"


@fault(5, "llama.cpp 21724, 25664", "DeviceLost now and then, told by the kernel's log", seconds=3)
async def ring_timeout(directory: Path) -> str:
    how = {"say": "amdgpu 0000:c4:00.0: ring gfx_0.0.0 timeout, signaled seq=1", "signal": 6, "exit_after_s": 1}
    rig = Rig(directory, how)
    async with rig.running() as server:
        await rig.start()
        await rig.until("backoff")
        found = server.life.last_exit
        expect(found and found.cause == "device_lost", f"cause {found}")
        expect(found and "ubatch" in found.next_action, "no advice on ubatch")
        return found.text if found else ""


@fault(6, "llama.cpp 29054, 16684", "GPU HANG, every new instance dies within minutes", seconds=6)
async def gpu_hangs_in_a_row(directory: Path) -> str:
    rig = Rig(directory, {"say": "i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:85dffffb", "signal": 6})
    async with rig.running() as server:
        await rig.start()
        took = await rig.until("fatal", wait_s=30)
        expect(server.life.restarts == 2, f"{server.life.restarts} restarts")
        return f"given up after {server.life.restarts} restarts in {took:.0f} s: {server.life.why[:60]}"


@fault(13, "lemonade 2298", "the killed child is a zombie that kill(pid, 0) calls alive", seconds=4)
async def zombie_is_noticed(directory: Path) -> str:
    rig = Rig(directory)
    async with rig.running() as server:
        await rig.start()
        await rig.until("ready")
        assert server.child is not None
        pid = server.child.pid
        os.kill(pid, signal.SIGKILL)
        took = await rig.until("stopping", "backoff", wait_s=2)
        await rig.until("ready")
        expect(not (PROC / str(pid)).exists(), "the zombie was not waited for")
        return f"noticed in {took:.2f} s, reaped, back by itself"


def _popen(command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


@asynccontextmanager
async def _other_guard(rig: Rig, **more: Any) -> AsyncGenerator[subprocess.Popen[str]]:
    """A guard in a process of its own whose model is ready; killed at the end if it still runs."""
    environment = os.environ | {
        "CHRYSALIS_RUNTIME_DIR": str(rig.runtime),
        "CHRYSALIS_LLAMA_SERVER": str(rig.binary),
        "XDG_CONFIG_HOME": str(rig.directory),
        "XDG_DATA_HOME": str(rig.directory),
        "FAKE": json.dumps(more),
        "PYTHONPATH": str(ROOT),
    }
    rig.runtime.chmod(0o700)
    command = [sys.executable, "-m", "validation.llm_server", "--model", rig.profile.model, "--ctx", "2048"]
    process = _popen(command, environment)
    assert process.stdout is not None
    try:
        with anyio.fail_after(30):
            line = await anyio.to_thread.run_sync(process.stdout.readline)
        expect('"url"' in line, f"the other guard did not start: {line!r}")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _of(rig: Rig) -> list[int]:
    """The living processes that carry the mark of the other guard."""
    return [seen.pid for seen in marked(PROC, f"{rig.runtime / 'validation'}#")]


@fault(14, "lemonade 252, 725, 1510", "the guard is killed, its server lives on", seconds=6)
async def guard_killed(directory: Path) -> str:
    rig = Rig(directory)
    async with _other_guard(rig) as guard:
        pids = _of(rig)
        expect(len(pids) == 1, f"processes {pids}")
        guard.kill()
        guard.wait()
        took = await rig.true(lambda: not _of(rig), "end of the server", wait_s=5)
        return f"the server ended {took:.2f} s after its guard was killed"


@fault(16, "ollama 4267, 3474", "INT to the guard leaves the runner behind", seconds=6)
async def guard_interrupted(directory: Path) -> str:
    rig = Rig(directory)
    async with _other_guard(rig) as guard:
        guard.send_signal(signal.SIGINT)
        await anyio.to_thread.run_sync(guard.wait)
        expect(not _of(rig), f"left: {_of(rig)}")
        return "nothing left after INT"


@fault(17, "unsloth 6426, vllm 55510", "an orphan holds memory and port; the next load fails", seconds=9)
async def orphan_is_ended(directory: Path) -> str:
    rig = Rig(directory)
    async with _other_guard(rig, ignore_term=True) as guard:
        guard.kill()
        guard.wait()
        await anyio.sleep(0.3)
        orphans = _of(rig)
        expect(len(orphans) == 1, f"no orphan to end: {orphans}")
        past = record.load(rig.runtime / "validation" / "llm.json")
        expect(past and past.pid == orphans[0], "the record does not name it")
        stranger = _popen([sys.executable, "-c", "import time; time.sleep(60)"], dict(os.environ))
        try:
            rig.runtime = rig.runtime / "validation"
            async with rig.running() as server:
                await rig.until("ready")
                expect(not (PROC / str(orphans[0])).exists(), "the orphan lives")
                expect(stranger.poll() is None, "a stranger was killed")
                expect(server.child and server.child.launch.url != (past.url if past else ""), "same launch")
        finally:
            stranger.kill()
            stranger.communicate()
        return "the orphan (deaf to TERM) was recognised and ended, the model is wanted and back"


@fault(15, "llama-swap 100", "a wrapper backgrounds the server, a kill misses it", seconds=4)
async def wrapper_forks_away(directory: Path) -> str:
    rig = Rig(directory, {"fork_away": True, "helper": True}, stop_grace_s=0.5)
    async with rig.running() as server:
        await rig.start()
        await rig.until("ready")
        assert server.child is not None
        child, mark = server.child, server.child.mark
        await rig.true(lambda: child.exit_code() is not None, "end of the wrapper")
        expect(len(marked(PROC, mark)) == 2, "server and helper expected")
        await anyio.sleep(0.6)
        expect(server.life.state == "ready", f"state {server.life.state}")
        await rig.stop()
        await rig.until("stopped")
        expect(not marked(PROC, mark), "a stray lives")
        return "the server was adopted and watched; stop ended it and its helper in another session"


@fault(19, "llama.cpp 20963, 26822", "another server answers at the port", seconds=5)
async def foreign_answer(directory: Path) -> str:
    rig = Rig(directory, {"alias": "somebody-else"})
    async with rig.running() as server:
        await rig.start()
        await rig.until("backoff")
        found = server.life.last_exit
        expect(found and found.cause == "foreign", f"cause {found}")
        expect(not rig.went_through("ready"), "it was called ready")
        rig.change({})
        await rig.until("ready")
        return "never called ready; another port was taken, and the right one answered"


@fault(20, "llama.cpp 19758, 19763", "a restart at once fails: the port is in TIME_WAIT or taken", seconds=6)
async def port_is_still_taken(directory: Path) -> str:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        rig = Rig(directory, port=listener.getsockname()[1])
        async with rig.running() as server:
            await rig.start()
            await rig.until("backoff")
            found = server.life.last_exit
            expect(found and found.cause == "port", f"cause {found}")
            listener.close()
            await rig.until("ready")
            assert server.child is not None
            for _ in range(5):
                await probe.health(server.child.launch)
            os.kill(server.child.pid, signal.SIGKILL)
            await rig.until("backoff")
            await rig.until("ready")
            return "waited for the port, and took it again after a crash"


@fault(28, "llama.cpp 23668", "a switch fails for memory: the old model is not gone when the new one loads", seconds=5)
async def old_one_goes_first(directory: Path) -> str:
    rig = Rig(directory, {"term_s": 1.2})
    async with rig.running() as server:
        await rig.start()
        await rig.until("ready")
        old, most = rig.pid(), 0
        other = msgspec.structs.replace(rig.profile, name="other", ctx=1024)
        await server.ask(lambda life, now: life.restart(other, now))
        started = time.monotonic()
        while server.life.state != "ready":
            most = max(most, len(marked(PROC, f"{rig.runtime}#")))
            expect(time.monotonic() - started < 20, f"not ready: {rig.trail()}")
            await anyio.sleep(0.02)
        expect(most == 1, f"{most} models at once")
        expect(rig.pid() != old, "not switched")
        return "the new one was admitted only when the old one was gone; never two at once"


@fault(30, "ollama 1148, 17089; flexllama 36", "SEGV at every start, restarted every 3 s for ever", seconds=36)
async def crash_loop_ends(directory: Path) -> str:
    rig = Rig(directory, {"signal": 11, "say": "starting"})
    async with rig.running() as server:
        await rig.start()
        took = await rig.until("fatal", wait_s=60)
        expect(server.life.restarts == 5, f"{server.life.restarts} restarts")
        await anyio.sleep(1.5)
        expect(server.life.state == "fatal", "it left fatal by itself")
        rig.change({})
        with contextlib.suppress(TimeoutError):
            await rig.start()
            await rig.until("ready")
        expect(server.life.state == "ready", "the operator cannot leave fatal")
        return f"given up after {took:.0f} s and 5 restarts; started again by the operator"
