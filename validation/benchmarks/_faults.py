"""Writers that survive anything, and the hand that kills: the parts of the faults benchmark."""

import os
import random
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import psutil

from protocol.client import Client, NoDaemon
from validation.mcp_lines import Gone, LinesClient, Silence

_ANSWER_WAIT_S: Final = 60.0
_RETRYABLE: Final = frozenset({"actor_restarted", "unavailable", "busy", "timeout", "cancelled"})


class Writer(threading.Thread):
    """A client that writes one fact after the other through a bridge of its own, until told to stop.

    It repeats what was not acknowledged, under the same `request_id`, through a new bridge when its own died.
    `acknowledged` maps each subject to how many edges the daemon said it made: 1, if nothing was doubled.
    """

    def __init__(self, number: int, environment: Mapping[str, str]) -> None:
        super().__init__(name=f"writer-{number}", daemon=True)
        self.acknowledged: dict[str, int] = {}
        self.missing: list[str] = []
        self.refused: Counter[str] = Counter()
        self.solved = 0
        self.bridges = 0
        self.bridge: LinesClient | None = None
        self._number = number
        self._environment = environment
        self._stop_asked = threading.Event()
        self._rng = random.Random(number)

    def stop(self) -> None:
        """Ask for the end; the write under way is finished first."""
        self._stop_asked.set()

    def run(self) -> None:
        """Write, and now and then recall and solve, until told to stop."""
        count = 0
        while not self._stop_asked.is_set():
            count += 1
            subject = f"writer {self._number} item {count}"
            self._insist(subject)
            if self._rng.random() < 0.3:
                self._once("memory", "recall", {"query": subject, "k": 3})
            if self._rng.random() < 0.3:
                self._once("reason", "solve", {"vars": {"x": "int 1..9"}, "constraints": [f"x > {count % 9}"]})
        if self.bridge is not None:
            self.bridge.close()

    def _insist(self, subject: str) -> None:
        params = {
            "triples": [[subject, "has serial", f"serial {uuid.uuid4().hex}"]],
            "source": f"writer {self._number}",
            "request_id": uuid.uuid4().hex,
        }
        while (envelope := self._once("memory", "ingest", params)) is None or envelope["status"] == "error":
            if envelope is not None and envelope["data"]["code"] not in _RETRYABLE:
                self.missing.append(f"{subject}: {envelope['summary']}")
                return
            time.sleep(0.05)
        self.acknowledged[subject] = envelope["data"]["new_edges"]

    def _once(self, domain: str, action: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """One call; None when the bridge died under it."""
        try:
            if self.bridge is None:
                self.bridge = LinesClient(self._environment, f"writer-{self._number}")
                self.bridges += 1
                self.bridge.initialize()
            number = self.bridge.begin_call(domain, action, params)
            answer = self.bridge.wait(number, _ANSWER_WAIT_S)
        except Gone:
            self._drop_bridge()
            return None
        except Silence as silence:
            self.missing.append(f"{action}: {silence}")
            self._drop_bridge()
            return None
        envelope = answer["result"]["structuredContent"]
        if envelope["status"] == "error":
            self.refused[envelope["data"]["code"]] += 1
        elif action == "solve":
            self.solved += 1
        return envelope

    def _drop_bridge(self) -> None:
        if self.bridge is not None:
            self.bridge.close()
            self.bridge = None


def our_processes(runtime_dir: str) -> dict[str, list[psutil.Process]]:
    """The live processes that belong to one runtime directory, by kind."""
    kinds: dict[str, list[psutil.Process]] = {"daemon": [], "bridge": [], "worker": []}
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if "-m" not in words or process.environ().get("CHRYSALIS_RUNTIME_DIR") != runtime_dir:
                continue
            module = words[words.index("-m") + 1]
        except (psutil.Error, IndexError):
            continue
        if module == "daemon" or module.startswith("actors.") or module == "launcher.bridge":
            kind = module.removeprefix("actors.").removeprefix("launcher.")
            kind = "worker" if kind.startswith("solver.") else kind
            kinds.setdefault(kind, []).append(process)
    return kinds


class Executioner:
    """Kills one random process of ours after the other, sparing an actor that would go fatal by policy."""

    _SPARE_AFTER: Final = 3
    _PERIOD_S: Final = 62.0

    def __init__(self, runtime_dir: str, rng: random.Random) -> None:
        self._runtime_dir = runtime_dir
        self._rng = rng
        self._deaths: dict[str, list[float]] = {}
        self.killed: Counter[str] = Counter()

    def strike(self) -> str | None:
        """Kill one; its kind, or None when there was nothing to kill just now."""
        alive = {kind: found for kind, found in our_processes(self._runtime_dir).items() if found}
        allowed = [kind for kind in alive if self._may(kind)]
        if not allowed:
            return None
        kind = self._rng.choice(sorted(allowed))
        try:
            os.kill(self._rng.choice(alive[kind]).pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        self.killed[kind] += 1
        if kind == "daemon":
            self._deaths.clear()
        self._deaths.setdefault(kind, []).append(time.monotonic())
        return kind

    def _may(self, kind: str) -> bool:
        if kind in ("daemon", "bridge", "worker"):
            return True
        recent = [at for at in self._deaths.get(kind, []) if time.monotonic() - at < self._PERIOD_S]
        return len(recent) < self._SPARE_AFTER


def wait_healthy(endpoint: str, timeout_s: float) -> float | None:
    """Seconds until every actor runs and memory and solver answer a call; None when that takes longer."""
    started = time.monotonic()
    while time.monotonic() - started < timeout_s:
        try:
            with Client(kind="test", client="health", endpoint=endpoint, connect_timeout_s=0.5) as client:
                if _healthy(client):
                    return time.monotonic() - started
        except NoDaemon:
            pass
        time.sleep(0.02)
    return None


def _healthy(client: Client) -> bool:
    actors = client.control("status", timeout_s=2.0)["actors"]
    if any(actor["state"] != "running" for actor in actors.values()):
        return False
    solve = {"vars": {"x": "int 1..3"}, "constraints": ["x > 2"]}
    answers = (
        client.call("memory", "recall", {"query": "health", "k": 1}, deadline_ms=4_000),
        client.call("reason", "solve", solve, deadline_ms=4_000),
    )
    return all(answer["status"] == "ok" for answer in answers)


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Whether a condition comes true in time."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return condition()
