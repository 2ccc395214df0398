"""`python -m validation.benchmarks._service_inside OUT`: the checks beside a real `systemd --user`, in its sandbox."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from launcher import service
from protocol.client import Client, NoDaemon
from validation.benchmarks._guard_rig import Rig

UNIT = service.UNIT
MEMCG = Path("/run/memcg")
LIMIT_BYTES = 96 << 20
WAIT_S = 100.0


def wait(what: str, condition: Callable[[], Any], wait_s: float = WAIT_S) -> float:
    """Seconds until the condition holds.

    Raises:
        TimeoutError: it does not in time.
    """
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > wait_s:
            raise TimeoutError(f"no {what} in {wait_s:.0f} s; systemd says {properties()}")
        time.sleep(0.1)
    return round(time.monotonic() - begun, 2)


def chrysalis(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    command = [sys.executable, "-m", "launcher.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S)


def properties() -> dict[str, str]:
    """What systemd says of the unit."""
    return service.show("ActiveState", "StatusText", "MainPID", "NRestarts", "Result", "WatchdogUSec", "OOMPolicy")


def call(domain: str, action: str, params: dict[str, Any], deadline_ms: int = 60_000) -> dict[str, Any]:
    """One call; an envelope of the daemon's."""
    with Client(kind="test", connect_timeout_s=15) as client:
        return client.call(domain, action, params, verbosity="detail", deadline_ms=deadline_ms)


def answers() -> bool:
    """Whether the daemon answers with all actors running."""
    with contextlib.suppress(NoDaemon), Client(kind="test", connect_timeout_s=1) as client:
        actors = client.control("status", timeout_s=3)["actors"].values()
        return all(actor["state"] == "running" for actor in actors)
    return False


def install(told: dict[str, Any]) -> None:
    """Install and start where a daemon runs already without systemd; READY and STATUS are seen."""
    other = subprocess.Popen([sys.executable, "-m", "daemon"], stderr=subprocess.DEVNULL)
    wait("daemon without systemd", answers)
    begun = time.monotonic()
    done = chrysalis("service", "install")
    told["install"] = {"code": done.returncode, "said": done.stdout.strip().splitlines()[-1:]}
    told["install_to_active_s"] = round(time.monotonic() - begun, 2)
    told["other_daemon_ended"] = other.wait(20) == 0
    wait("running actors", answers)
    wait("status text", lambda: "running" in properties().get("StatusText", ""))
    told["unit"] = properties()


def bridge_call(told: dict[str, Any]) -> None:
    """A real bridge process: initialize, then a call of the tool."""
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "service", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "chrysalis", "arguments": {"domain": "llm", "action": "status", "params": {}}}},
    ]  # fmt: skip
    bridge = subprocess.Popen(
        [sys.executable, "-m", "launcher.bridge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert bridge.stdin is not None
    assert bridge.stdout is not None
    for line in lines:
        bridge.stdin.write(json.dumps(line) + "\n")
    bridge.stdin.flush()
    replies = [json.loads(bridge.stdout.readline()) for _ in range(2)]
    bridge.stdin.close()
    bridge.wait(10)
    bridge.stdout.close()
    told["bridge_call"] = replies[1]["result"]["structuredContent"]["status"]


def watchdog(told: dict[str, Any]) -> None:
    """SIGSTOP of the daemon: systemd ends and restarts it; acknowledged writes are there."""
    acknowledged = [n for n in range(20) if _write(n)]
    pid = int(properties()["MainPID"])
    os.kill(pid, signal.SIGSTOP)
    told["stopped_to_new_daemon_s"] = wait("new daemon", lambda: int(properties()["MainPID"]) not in {0, pid})
    told["new_daemon_to_serving_s"] = wait("running actors", answers)
    told["acknowledged"] = len(acknowledged)
    told["lost"] = [n for n in acknowledged if not _is_there(n)]
    told["restarts"] = int(properties()["NRestarts"])


def _write(n: int) -> bool:
    return call("memory", "ingest", {"triples": [[f"sentinel{n}", "was_written_as", f"fact{n}"]]})["status"] == "ok"


def _is_there(n: int) -> bool:
    return f"fact{n}" in json.dumps(call("memory", "recall", {"query": f"sentinel{n} was written as", "k": 5}))


def children_die(told: dict[str, Any], rig: Rig) -> None:
    """A model that the kernel kills for memory, then an actor killed: the service itself goes on."""
    pid = int(properties()["MainPID"])
    started = call("llm", "start", {"model": rig.profile.model, "ctx": 2048})
    server = started["data"]["pid"]
    group = _limit_memory(server)
    try:
        _grow(started["data"])
        told["oom_noticed_s"] = wait("end of the model", lambda: not psutil.pid_exists(server))
    finally:
        _take_away(group)
    told["model_back_s"] = wait("another model", lambda: _model().get("state") in {"ready", "busy"})
    told["model_end"] = (_model().get("last_exit") or {}).get("cause")
    actors = [p for p in psutil.Process(pid).children() if "actors.solver" in " ".join(p.cmdline())]
    actors[0].kill()
    told["actor_back_s"] = wait("running actors", lambda: not actors[0].is_running() and answers())
    told["same_daemon"] = int(properties()["MainPID"]) == pid
    call("llm", "stop", {"now": True})


def _model() -> dict[str, Any]:
    return call("llm", "status", {})["data"]


def _limit_memory(pid: int) -> Path:
    """Put a process into a memory cgroup with a small limit, so that the kernel's own OOM killer ends it."""
    MEMCG.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "cgroup", "-o", "memory", "none", str(MEMCG)], check=True)
    group = MEMCG / f"chrysalis-service-{uuid.uuid4().hex}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(LIMIT_BYTES))
    (group / "cgroup.procs").write_text(str(pid))
    return group


def _take_away(group: Path) -> None:
    """The hierarchy is the whole machine's: leave nothing of ours in it."""
    for pid in (group / "cgroup.procs").read_text().split():
        (MEMCG / "cgroup.procs").write_text(pid)
    group.rmdir()


def _grow(status: dict[str, Any]) -> None:
    """Make the model allocate more than its limit."""
    key = json.loads(Path(status["key_file"]).read_text(encoding="utf-8"))["key"]
    url = f"{status['url']}/completion"
    data = json.dumps({"prompt": "x", "n_predict": 1})
    subprocess.run(
        ["curl", "-s", "-m", "10", "-H", f"Authorization: Bearer {key}", "-d", data, url],
        capture_output=True,
        check=False,
    )


def uninstall(told: dict[str, Any]) -> None:
    """Nothing is left."""
    done = chrysalis("service", "uninstall")
    runtime = Path(os.environ["XDG_RUNTIME_DIR"]) / "chrysalis"
    units = subprocess.run(
        ["systemctl", "--user", "list-units", "--all", "--plain", "--no-legend", "chrysalis*"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    processes = [p.pid for p in psutil.process_iter() if _ours(p)]
    told["uninstall"] = {
        "code": done.returncode,
        "units": units.stdout.split(),
        "unit_file": service.unit_path().exists(),
        "processes": len(processes),
        "sockets": [path.name for path in runtime.glob("*.sock")],
    }


def _ours(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        words = process.cmdline()
        return process.pid != os.getpid() and any(
            word in {"daemon", "launcher.bridge"} or "actors." in word for word in words
        )
    return False


def main() -> int:
    """Run the checks in order and write what was seen."""
    out, watchdog_s = Path(sys.argv[1]), float(sys.argv[2])
    told: dict[str, Any] = {"watchdog_s": watchdog_s}
    directory = out.parent / "rig"
    directory.mkdir()
    rig = Rig(directory)
    os.environ |= {"CHRYSALIS_LLAMA_SERVER": str(rig.binary)}
    rig.binary.write_text(rig.binary.read_text().replace("exec", "FAKE='{\"allocate_mb\": 400}' exec"))
    log = out.parent / "daemon.log"
    override = service.unit_path().with_name(f"{UNIT}.d")
    override.mkdir(parents=True)
    conf = f"[Service]\nWatchdogSec={watchdog_s:.0f}\nStandardError=append:{log}\n"
    (override / "bench.conf").write_text(conf)
    try:
        install(told)
        bridge_call(told)
        children_die(told, rig)
        watchdog(told)
    except (AssertionError, TimeoutError, OSError, subprocess.SubprocessError, KeyError) as error:
        told["error"] = f"{type(error).__name__}: {error}"
        told["log"] = log.read_text(errors="replace")[-6000:]
    uninstall(told)
    out.write_text(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
