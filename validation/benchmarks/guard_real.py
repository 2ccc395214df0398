"""The guard with llama.cpp's real server and real GGUF files: estimate, life, crash, orphan (opt-in by environment)."""

import os
import signal
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
import msgspec
import psutil

from actors.guard import probe
from actors.guard.command import Launch
from actors.guard.gathering import make_plan
from actors.guard.ledger import Ledger
from actors.guard.machine import Machine
from actors.guard.profiles import Profile, choose
from actors.guard.server import ModelServer
from protocol.client import Client
from validation.result import Goal, Measured
from validation.run import Context
from validation.stack import Stack

from ._guard_real import available_mib, buffers, compare_header, models, write_binary

CONTEXTS = (2048, 8192, 32768)
PROMPT_TOKENS = 640
"""More than one micro-batch, so that the whole compute buffer is touched."""
CPU_MAX_S = 0.1
TOTAL_ERROR_MAX = 0.15


def run(context: Context) -> Measured:
    """Everything with the first model, the estimate with all of them."""
    found = models()
    with tempfile.TemporaryDirectory() as directory:
        binary = write_binary(Path(directory))
        os.environ["CHRYSALIS_LLAMA_SERVER"] = str(binary)
        headers = [compare_header(model) for model in found]
        context.progress(f"headers: {headers}")
        sizes: list[dict[str, Any]] = []
        for model in found[: 1 if context.quick else None]:
            for ctx in CONTEXTS[: 1 if context.quick else None]:
                sizes.append(anyio.run(_measure, Path(directory), model, ctx))
                context.progress(str(sizes[-1]))
        life = _life(binary, found[0], context)
    return _measured(headers, sizes, life)


async def _measure(directory: Path, model: Path, ctx: int) -> dict[str, Any]:
    """One load: what was predicted, what the server says it allocated, what it held after a long prompt."""
    profile = _profile(model, ctx)
    plan = make_plan(profile, Machine(), Ledger(directory / "none.json"), "x").admission
    predicted = {part.name: part.mib for part in plan.need}
    total, seen = sum(predicted.values()), _Load()
    await _load_once(directory, profile, seen)
    told = seen.told
    return {
        "model": model.name,
        "ctx": ctx,
        "ready_s": round(seen.ready_s, 1),
        "kv_predicted_mib": predicted["KV cache"],
        "kv_reported_mib": round(told.get("KV", 0.0), 2),
        "compute_predicted_mib": predicted["compute"],
        "compute_reported_mib": round(told.get("compute", 0.0), 2),
        "weights_predicted_mib": predicted["weights"],
        "weights_reported_mib": round(told.get("weights", 0.0), 2),
        "copies_predicted_mib": predicted.get("copies of weights", 0.0),
        "copies_reported_mib": round(told.get("copies", 0.0), 2),
        "total_predicted_mib": round(total, 1),
        "rss_ready_mib": round(seen.rss_ready_mib, 1),
        "rss_peak_mib": round(seen.rss_peak_mib, 1),
        "total_error": round(total / seen.rss_peak_mib - 1, 4),
        "prompt_status": seen.prompt_status,
    }


class _Load(msgspec.Struct):
    """What one load showed."""

    ready_s: float = 0.0
    rss_ready_mib: float = 0.0
    rss_peak_mib: float = 0.0
    prompt_status: int | None = None
    told: dict[str, float] = {}


async def _load_once(directory: Path, profile: Profile, seen: _Load) -> None:
    server = ModelServer(directory, Ledger(directory / "none.json"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        begun = time.monotonic()
        await server.ask(lambda life, now: life.start(profile, now))
        await server.settle(180)
        seen.ready_s = time.monotonic() - begun
        assert server.child is not None, server.life.why
        seen.rss_ready_mib = psutil.Process(server.child.pid).memory_info().rss / 2**20
        seen.prompt_status = await _long_prompt(server.child.launch)
        seen.rss_peak_mib = _peak_mib(server.child.pid)
        seen.told = buffers(server.log.tail(2000))
        await server.ask(lambda life, now: life.stop(now))
        await server.settle(60, "stopped")
        (directory / "llm.json").unlink(missing_ok=True)
        tasks.cancel_scope.cancel()


def _profile(model: Path, ctx: int) -> Profile:
    profile = choose("small", str(model), ctx)
    assert profile is not None
    return msgspec.structs.replace(profile, threads=1, stall_s=30.0, extra=["--verbosity", "5"])


async def _long_prompt(launch: Launch) -> int | None:
    body = {"prompt": "one two three four " * (PROMPT_TOKENS // 4), "n_predict": 8}
    return (await probe.request(launch, "/completion", body=body, wait_s=400)).status


def _peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def _life(binary: Path, model: Path, context: Context) -> dict[str, Any]:
    """Through a real daemon: plan, start, a completion, a crash, a stop, an orphan."""
    told: dict[str, Any] = {}
    with Stack({"CHRYSALIS_LLAMA_SERVER": str(binary)}) as stack:
        client = stack.client()
        told["plan"] = _ask(client, "plan", {"model": str(model), "ctx": 2048})["text"]
        begun = time.monotonic()
        status = _ask(client, "start", {"model": str(model), "ctx": 2048}, 300_000)
        told["start_to_ready_s"] = round(time.monotonic() - begun, 1)
        told["completion"] = anyio.run(_chat, stack, status["url"])
        told["back_after_kill_s"] = _kill_and_wait(client, status["pid"])
        context.progress(f"{told}")
        told |= _stop(client)
        _ask(client, "start", {"model": str(model), "ctx": 2048}, 300_000)
        told |= _orphan(stack, client, context)
    return told


def _ask(client: Client, action: str, params: dict[str, Any], deadline_ms: int = 60_000) -> dict[str, Any]:
    envelope = client.call("llm", action, params, verbosity="detail", deadline_ms=deadline_ms)
    if envelope["status"] != "ok":
        raise AssertionError(f"llm.{action}: {envelope['summary']}")
    return envelope["data"]


async def _chat(stack: Stack, url: str) -> dict[str, Any]:
    key = msgspec.json.decode((stack.runtime / "llm.json").read_bytes())["key"]
    launch = Launch(argv=[], environment={}, port=int(url.rpartition(":")[2]), alias="", key=key)
    body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8}
    with_key = await probe.request(launch, "/v1/chat/completions", body=body, wait_s=120)
    without = await probe.request(msgspec.structs.replace(launch, key=""), "/v1/chat/completions", body=body)
    return {"status": with_key.status, "status_without_key": without.status}


def _kill_and_wait(client: Client, pid: int) -> float:
    """Seconds from `kill -9` of the server until another one is ready."""
    os.kill(pid, signal.SIGKILL)
    begun = time.monotonic()
    while time.monotonic() - begun < 120:
        status = _ask(client, "status", {})
        if status["state"] in {"ready", "busy"} and status["pid"] != pid:
            return round(time.monotonic() - begun, 1)
        time.sleep(0.2)
    raise AssertionError("the model did not come back")


def _stop(client: Client) -> dict[str, Any]:
    """Stop; is the port free, the process gone, the memory back?"""
    status, before = _ask(client, "status", {}), available_mib()
    begun = time.monotonic()
    _ask(client, "stop", {}, 120_000)
    seconds = time.monotonic() - begun
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(status["url"].rpartition(":")[2])))
    return {
        "stop_s": round(seconds, 2),
        "gone": not psutil.pid_exists(status["pid"]),
        "port_free": True,
        "returned_mib": round(available_mib() - before),
        "rss_before_stop_mib": status["rss_mib"],
    }


def _orphan(stack: Stack, client: Client, context: Context) -> dict[str, Any]:
    """Daemon and guard killed at once while the server is stopped (deaf to TERM): the next daemon ends it."""
    pid = _ask(client, "status", {})["pid"]
    guard = psutil.Process(psutil.Process(pid).ppid())
    os.kill(pid, signal.SIGSTOP)
    guard.suspend()
    stack.kill()
    guard.kill()
    psutil.wait_procs([guard], timeout=5)
    orphaned = psutil.pid_exists(pid)
    context.progress(f"orphan {pid} lives: {orphaned}")
    begun = time.monotonic()
    stack.start()
    fresh = stack.client()
    state: dict[str, Any] = {}
    while time.monotonic() - begun < 120 and state.get("state") not in {"ready", "busy"}:
        state = _ask(fresh, "status", {})
        time.sleep(0.2)
    told = {
        "orphan_lived": orphaned,
        "orphan_ended": not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE,
        "back_with_next_daemon_s": round(time.monotonic() - begun, 1),
        "state_after": state.get("state"),
    }
    _ask(fresh, "stop", {}, 120_000)
    return told


def _measured(headers: list[dict[str, Any]], sizes: list[dict[str, Any]], life: dict[str, Any]) -> Measured:
    exact = sum(abs(s["kv_predicted_mib"] - s["kv_reported_mib"]) < 0.05 for s in sizes)
    worst = max(abs(s["total_error"]) for s in sizes)
    slowest = max(h["cpu_s"] for h in headers)
    same = not any(h["different"] or h["missing"] for h in headers)
    orphan = life["orphan_lived"] and life["orphan_ended"] and life["state_after"] in {"ready", "busy"}
    chat = life["completion"] == {"status": 200, "status_without_key": 401}
    return Measured(
        headline=f"guard real: KV exact {exact}/{len(sizes)}, total within {100 * worst:.1f} % of the peak, "
        f"back {life['back_after_kill_s']} s after kill -9, header in {slowest} CPU-s",
        figures={"headers": headers, "sizes": sizes, "life": life},
        goals=[
            Goal("KV as the server says", f"{len(sizes)}/{len(sizes)}", f"{exact}/{len(sizes)}", exact == len(sizes)),
            Goal("total against peak RSS", "<= 15 %", f"{100 * worst:.1f} %", worst <= TOTAL_ERROR_MAX),
            Goal("header, CPU seconds", f"<= {CPU_MAX_S}", slowest, slowest <= CPU_MAX_S),
            Goal("header as PyPI's gguf reads it", "no difference", "none" if same else "some", same),
            Goal("completion with the key only", "200 and 401", str(life["completion"]), chat),
            Goal("stop: process gone, port free", "both", str(life["gone"] and life["port_free"]), life["gone"]),
            Goal("orphan of killed daemon and guard", "ended, model back", str(orphan), orphan),
        ],
        n=len(sizes),
    )
