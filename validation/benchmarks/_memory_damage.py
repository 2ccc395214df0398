"""Torn and bit-flipped files, full disks: recovered or refused with the way out, never silently reset."""

import contextlib
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from protocol.errors import Fault
from validation.result import ROOT

from ._memory import open_memory

FACTS = 400
CHOICE = "hash:64"


def damaged_files(rounds: int, *, seed: int, progress: Any = None) -> dict[str, Any]:
    """Cut or flip the log or the database of a killed memory, open it, and see that nothing is silently gone."""
    rng = random.Random(seed)
    outcome: dict[str, int] = dict.fromkeys(("whole", "recovered to a commit", "refused", "silently wrong"), 0)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="chrysalis-damage-") as home:
        source = Path(home) / "source"
        source.mkdir()
        commits = _prepare(source)
        for number in range(rounds):
            place = Path(home) / f"copy{number}"
            shutil.copytree(source, place)
            how = _damage(rng, place)
            found = _look(place / "m.db", commits)
            outcome[found] += 1
            if found == "silently wrong":
                wrong.append(how)
            shutil.rmtree(place)
            if progress and number % 20 == 19:
                progress(f"damaged files: {number + 1} of {rounds}")
    return {"n": rounds, **outcome, "wrong": wrong}


def _prepare(home: Path) -> list[int]:
    """A memory that was killed with a log full of commits; the numbers of facts after each."""
    script = (
        "import os, sys; from pathlib import Path; from validation.benchmarks._memory import open_memory\n"
        "with open_memory(Path(sys.argv[1]), choice='hash:64', remember=False) as m:\n"
        f"    m.call('memory.ingest', triples=[[f'a{{i}}', 'is', f'b{{i}}'] for i in range({FACTS})], source='s')\n"
        "    m.store().database.checkpoint()\n"
        "    for n in range(10):\n"
        "        m.call('memory.ingest', triples=[[f'c{n} {i}', 'is', 'd'] for i in range(10)], source='t')\n"
        "    os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(home / "m.db")], cwd=ROOT, check=True, capture_output=True)
    assert (home / "m.db-wal").stat().st_size > 0
    return [FACTS + 10 * n for n in range(11)]


def _damage(rng: random.Random, home: Path) -> str:
    path = home / ("m.db-wal" if rng.random() < 0.5 else "m.db")
    raw = bytearray(path.read_bytes())
    match rng.choice(("cut", "flip", "zero")):
        case "cut":
            at = rng.randrange(len(raw))
            del raw[at:]
            how = f"{path.name} cut at {at}"
        case "flip":
            at = rng.randrange(len(raw))
            raw[at] ^= 1 << rng.randrange(8)
            how = f"{path.name} bit flipped at {at}"
        case _:
            at = rng.randrange(max(1, len(raw) - 4_096))
            raw[at : at + 4_096] = bytes(4_096)
            how = f"{path.name} zeroed at {at}"
    path.write_bytes(raw)
    return how


def _look(path: Path, commits: list[int]) -> str:
    """How a memory opens on it: whole, recovered to a former commit (a torn log), refused, or silently wrong."""
    with open_memory(path, choice=CHOICE, remember=False) as memory:
        try:
            edges = memory.call("memory.stats").data.edges
            memory.call("memory.recall", query="a1", k=5)
            total = memory.call("memory.export", operator=True, limit=5_000).data.total
        except Fault as fault:
            return "refused" if fault.failure.next_action else "silently wrong"
    if edges == commits[-1] and total == edges:
        return "whole"
    return "recovered to a commit" if edges in commits else "silently wrong"


FULL_SCRIPT = """
import resource, signal, sys
from pathlib import Path
from protocol.errors import Fault
from validation.benchmarks._memory import open_memory
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, room, step = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with open_memory(path, choice="hash:64", remember=False) as memory:
    memory.call("memory.ingest", triples=[[f"a{i}", "is", f"b{i}"] for i in range(200)], source="s")
    memory.call("memory.update", query="the first", node="a1")
    name = memory.call("memory.consolidate").data.backup
    before = memory.call("memory.stats").data.edges
    limit = max(p.stat().st_size for p in (path, Path(f"{path}-wal")) if p.exists()) if room < 0 else room
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    steps = {
        "ingest": dict(action="memory.ingest", triples=[[f"n{i}", "is", "x" * 500] for i in range(3000)], wait=False),
        "update": dict(action="memory.update", query="another phrase entirely", node="a2"),
        "forget": dict(action="memory.forget", source="s"),
        "consolidate": dict(action="memory.consolidate", decay=0.5),
        "restore": dict(action="memory.restore", name=name),
    }
    try:
        memory.call(**steps[step])
        said = "done"
    except Fault as fault:
        said = "refused: " + fault.failure.next_action
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    after = memory.call("memory.stats").data.edges
    whole = memory.store().database.rows("PRAGMA integrity_check(1)") == [("ok",)]
    memory.call("memory.ingest", triples=[["after", "is", "fine"]], source="z")
    print(f"{said}|{before}|{after}|{whole}")
"""


def full_disk(progress: Any = None) -> dict[str, Any]:
    """Each step with no room left in its files: it says so, nothing is changed, and all is well once there is room."""
    results: dict[str, Any] = {}
    for step in ("ingest", "update", "forget", "consolidate", "restore"):
        for room in (4_096, 200_000):
            with tempfile.TemporaryDirectory(prefix="chrysalis-full-") as home:
                command = [sys.executable, "-c", FULL_SCRIPT, str(Path(home) / "m.db"), str(room), step]
                done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180)
            results[f"{step}, files up to {room} bytes"] = _full_outcome(done.stdout.strip(), done.stderr)
        if progress:
            progress(f"full disk: {step}")
    return results


def _full_outcome(line: str, error: str) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        said, before, after, whole = line.splitlines()[-1].split("|") if line else ("", "", "", "")
        if said:
            unchanged = before == after or said == "done"
            return {
                "said": said[:80],
                "nothing changed": unchanged,
                "whole": whole == "True",
                "right": unchanged and whole == "True",
            }
    return {"said": error[-300:], "right": False}
