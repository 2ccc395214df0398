"""A hundred times `kill -9` of the daemon while a model runs: is any process, port or memory left behind?"""

import os
import random
import signal
import socket
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from actors.guard.processes import marked
from protocol.client import Client
from validation.result import Goal, Measured
from validation.run import Context
from validation.stack import Stack

from ._guard_rig import Rig

SEED = 20261130
ROUNDS = 100
GONE_S = 10.0
KINDS: tuple[str, ...] = ("daemon", "daemon and guard", "daemon and guard, server deaf to TERM")
PROC = Path("/proc")


def run(context: Context) -> Measured:
    """Each round: the daemon starts, the model comes back by itself, everything is killed in one of three ways."""
    rounds = 6 if context.quick else ROUNDS
    chance, told = random.Random(SEED), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as directory:
        rig = Rig(Path(directory))
        with Stack({"CHRYSALIS_LLAMA_SERVER": str(rig.binary), "FAKE": "{}"}) as stack:
            _first_start(stack, rig)
            for n in range(rounds):
                told.append(_round(stack, KINDS[n % len(KINDS)], chance))
                if n % 10 == 9:
                    context.progress(f"{n + 1} rounds, left so far: {sum(t['left'] for t in told)}")
            _stop(stack)
    return _measured(told)


def _first_start(stack: Stack, rig: Rig) -> None:
    client = stack.client()
    envelope = client.call("llm", "start", {"model": rig.profile.model, "ctx": 2048}, deadline_ms=60_000)
    assert envelope["status"] == "ok", envelope


def _round(stack: Stack, kind: str, chance: random.Random) -> dict[str, Any]:
    """Kill, look, start again; `left`: processes of the old launch, or its port, that outlived the next start."""
    old = _status(stack)
    server = psutil.Process(old["pid"])
    guard = server.parent()
    assert guard is not None
    time.sleep(chance.uniform(0, 0.3))
    stack.note_processes()
    if kind == KINDS[2]:
        server.suspend()
    if kind != KINDS[0]:
        guard.suspend()
    assert stack.process is not None
    os.kill(stack.process.pid, signal.SIGKILL)
    if kind != KINDS[0]:
        guard.kill()
    stack.process.wait()
    begun = time.monotonic()
    gone_s = None if kind == KINDS[2] else _wait_gone(server, begun)
    stack.start()
    back = _status(stack)
    marks = marked(PROC, f"{stack.runtime}#")
    left = [seen.pid for seen in marks if seen.pid != back["pid"]]
    port_held = back["url"] != old["url"] and not _port_free(old["url"])
    return {
        "kind": kind,
        "gone_s": gone_s,
        "back_s": round(time.monotonic() - begun, 2),
        "left": len(left) + int(server.is_running() and server.status() != psutil.STATUS_ZOMBIE) + int(port_held),
        "unasked_left": kind != KINDS[2] and gone_s is None,
    }


def _wait_gone(server: psutil.Process, begun: float) -> float | None:
    """Seconds until the server is gone without any help; None when it is not."""
    while time.monotonic() - begun < GONE_S:
        if not server.is_running() or server.status() == psutil.STATUS_ZOMBIE:
            return round(time.monotonic() - begun, 2)
        time.sleep(0.02)
    return None


def _status(stack: Stack) -> dict[str, Any]:
    """The status once the model is ready."""
    begun, status = time.monotonic(), dict[str, Any]()
    with Client(kind="test", endpoint=stack.endpoint, connect_timeout_s=10) as client:
        while status.get("state") not in {"ready", "busy"}:
            status = client.call("llm", "status", verbosity="detail")["data"]
            if time.monotonic() - begun > 60:
                raise AssertionError(f"the model did not come back: {status}")
            time.sleep(0.05)
    return status


def _port_free(url: str) -> bool:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", int(url.rpartition(":")[2])))
        except OSError:
            return False
    return True


def _stop(stack: Stack) -> None:
    with Client(kind="test", endpoint=stack.endpoint) as client:
        client.call("llm", "stop", {"now": True}, deadline_ms=60_000)


def _measured(told: list[dict[str, Any]]) -> Measured:
    left, alone = sum(t["left"] for t in told), sum(t["unasked_left"] for t in told)
    gone = [t["gone_s"] for t in told if t["gone_s"] is not None]
    back = [t["back_s"] for t in told]
    return Measured(
        headline=f"guard orphans: {left} left after {len(told)} kill -9 of the daemon; server gone in median "
        f"{statistics.median(gone):.2f} s without help, model back in median {statistics.median(back):.1f} s",
        figures={
            "rounds": len(told),
            "by_kind": {kind: sum(t["kind"] == kind for t in told) for kind in KINDS},
            "left": left,
            "left_until_the_next_daemon": alone,
            "gone_s_median": statistics.median(gone),
            "gone_s_max": max(gone),
            "back_s_median": statistics.median(back),
            "back_s_max": max(back),
        },
        goals=[
            Goal("processes or ports left", "0", left, left == 0),
            Goal("servers that needed the next daemon although they heed TERM", "0", alone, alone == 0),
        ],
        n=len(told),
        seed=SEED,
    )
