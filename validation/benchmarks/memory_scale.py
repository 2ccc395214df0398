"""How recall, storing, opening and memory grow from ten thousand to a million facts, beside scipy's power iteration."""

import os
import resource
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from scipy.sparse import csr_matrix

from actors.memory import pagerank
from actors.memory.embed.base import Floats, Kind
from actors.memory.graph import Graph
from validation.result import RESULTS, Goal, Measured
from validation.stack import Stack

from ._memory import Memory, open_memory

SIZES = (10_000, 100_000, 1_000_000)
GOALS_MS = {10_000: 5.0, 100_000: 15.0, 1_000_000: 40.0}
CHUNK = 20_000
ASKED = 60
DIMENSION = 896
RELATIONS = (
    "works with",
    "lives near",
    "wrote to",
    "met",
    "is older than",
    "sold a house to",
    "taught",
    "owes money to",
)


class Drawn:
    """Vectors drawn by the text's hash: as many, as long and as costly to search as real ones, at no cost to make."""

    name = "drawn"
    fingerprint = f"drawn-{DIMENSION}"
    dimension = DIMENSION
    links = ()
    batch = 2_048

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:  # noqa: ARG002
        rows = np.stack(
            [np.random.default_rng(zlib.crc32(t.encode())).standard_normal(DIMENSION, np.float32) for t in texts]
        )
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def as_query(self, vector: Floats, text: str) -> Floats:  # noqa: ARG002
        """As the default embedder does for English: one half of the vector."""
        half = vector.copy()
        half[384:] = 0
        return half * np.float32(2)

    def as_foreign(self, vector: Floats, text: str) -> Floats | None:  # noqa: ARG002
        return None


def run(context: Any) -> Measured:
    """A memory for each size."""
    rows = [_measure(context, size) for size in (SIZES[:1] if context.quick else SIZES)]
    goals = [
        Goal(
            f"recall p50 at {r['edges']:,} facts",
            f"<= {GOALS_MS[r['edges']]} ms",
            r["recall p50 ms"],
            r["recall p50 ms"] <= GOALS_MS[r["edges"]],
        )
        for r in rows
    ]
    figures: dict[str, Any] = {"sizes": rows}
    goals += [
        Goal(f"stored per second at {r['edges']:,}", ">= 5,000", r["stored per s"], r["stored per s"] >= 5_000)
        for r in rows
    ]
    if not context.quick:
        idle = figures["idle"] = _idle()
        goals += [
            Goal("RSS of an idle memory actor", "<= 400 MB", idle["rss mb"], idle["rss mb"] <= 400),
            Goal("opening 100,000 facts", "<= 1 s", rows[1]["open s"], rows[1]["open s"] <= 1.0),
            Goal("RSS at 1,000,000 facts", "<= 1,200 MB", rows[2]["rss mb"], rows[2]["rss mb"] <= 1_200),
        ]
        (RESULTS / "memory_scale.svg").write_text(_plot(rows), encoding="utf-8")
    line = ", ".join(f"{r['edges']:,}: p50 {r['recall p50 ms']} ms" for r in rows)
    notes = [
        "embedding apart: vectors are drawn, of the default embedder's length; no synonym edges",
        "recall times are processor time of the one thread that does it; wall times are given beside the load",
    ]
    return Measured(headline=f"recall {line}", figures=figures, goals=goals, n=ASKED, notes=notes)


def _held(process: psutil.Process) -> dict[str, int]:
    """Resident memory, and how much of it is the process's own and how much are mapped files."""
    held = process.memory_info()
    return {
        "rss mb": round(held.rss / 1e6),
        "rss anon mb": round((held.rss - held.shared) / 1e6),
        "rss file mb": round(held.shared / 1e6),
    }


def _idle() -> dict[str, int]:
    """What the memory actor of a fresh daemon holds, with the default embedder loaded and used once."""
    with Stack() as stack:
        client, patience = stack.client(), {"deadline_ms": 120_000, "verbosity": "detail"}
        told = client.call("memory", "ingest", {"triples": [["Ada", "works at", "the lab"]], "wait": True}, **patience)
        assert told["status"] == "ok" and not told.get("notes"), told  # noqa: PT018 - waited for its vectors
        found = client.call("memory", "recall", {"query": "where does Ada work?"}, **patience)
        assert found["status"] == "ok" and not found.get("notes"), found  # noqa: PT018 - searched with the model
        actor = next(process for process in stack.processes() if "actors.memory" in " ".join(process.cmdline()))
        return _held(actor)


def _triples(size: int) -> Iterator[list[list[str]]]:
    """Facts with a heavy tail of popular objects, in chunks."""
    rng = np.random.default_rng(size)
    nodes = size // 5
    made = 0
    while made < size:
        count = min(CHUNK, size - made)
        subjects = rng.integers(0, nodes, count)
        objects = (nodes * rng.power(0.45, count)).astype(np.int64)
        relations = rng.integers(0, len(RELATIONS), count)
        yield [
            [f"Person {a} Quill", f"{RELATIONS[r]} {i % 97}", f"Person {b} Quill"]
            for i, (a, r, b) in enumerate(zip(subjects.tolist(), relations.tolist(), objects.tolist(), strict=True))
        ]
        made += count


def _measure(context: Any, size: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="chrysalis-scale-") as home:
        path = Path(home) / "m.db"
        with open_memory(path, embedder=Drawn(), hold=True) as memory:
            stored, seconds = _store(context, memory, size)
            memory.release()
            begun = time.monotonic()
            context.progress(f"{size:,}: vectors")
            memory.settle()
            vectors_s = time.monotonic() - begun
        begun = time.monotonic()
        with open_memory(path, embedder=Drawn()) as memory:
            memory.call("memory.stats")
            open_s = time.monotonic() - begun
            context.progress(f"{size:,}: opened in {open_s:.2f} s")
            memory.settle()
            took = _ask(memory, size)
            held = _held(psutil.Process())
            walk = _walk(memory.store().present().graph)
        return {
            "edges": size,
            "facts stored": stored,
            "stored per s": round(stored / seconds),
            "vectors per s": round(memory_texts(size) / vectors_s),
            "open s": round(open_s, 2),
            "recall p50 ms": round(float(np.percentile([cpu for _, cpu in took], 50)), 1),
            "recall p95 ms": round(float(np.percentile([cpu for _, cpu in took], 95)), 1),
            "wall p50 ms": round(float(np.percentile([wall for wall, _ in took], 50)), 1),
            "load 1 min": round(os.getloadavg()[0], 1),
            **held,
            "peak rss mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
            "file mb": round(path.stat().st_size / 1e6),
            "walk": walk,
        }


def memory_texts(size: int) -> int:
    """Facts and names that need a vector, about."""
    return size + size // 5


def _store(context: Any, memory: Memory, size: int) -> tuple[int, float]:
    stored, seconds = 0, 0.0
    for rows in _triples(size):
        begun = time.process_time()
        stored += memory.call("memory.ingest", triples=rows, source="scale", wait=False).data.stored
        seconds += time.process_time() - begun
        context.progress(f"{size:,}: {stored:,} stored, {stored / seconds:,.0f} a second")
    return stored, seconds


def _ask(memory: Memory, size: int) -> list[tuple[float, float]]:
    """Wall and processor milliseconds of each recall within the actor."""
    rng = np.random.default_rng(1)
    for i, node in enumerate(rng.integers(0, size // 5, ASKED + 5).tolist()):
        found = memory.call("memory.recall", query=f"who {RELATIONS[i % len(RELATIONS)]} Person {node} Quill?", k=10)
        assert found.data.nodes
    return memory.actor.took[5:]


def _walk(graph: Graph) -> dict[str, Any]:
    """Push against scipy's power iteration on the same seeds: time, and how many of the best twenty agree."""
    every = np.flatnonzero(graph.degree > 0)
    source, target, weight, _ = graph.out(every)
    shares = weight / graph.degree[every][source]
    matrix = csr_matrix((shares, (target, every[source])), shape=(graph.size, graph.size))
    pushed, power, overlap = [], [], []
    for seed in range(3):
        seeds = np.random.default_rng(seed).choice(every, 5, replace=False)
        begun = time.perf_counter()
        walk = pagerank.push(graph, seeds, np.ones(5), epsilon=1e-5)
        pushed.append((time.perf_counter() - begun) * 1000)
        begun = time.perf_counter()
        start = np.zeros(graph.size)
        start[seeds] = 0.2
        mass = start.copy()
        while True:
            after = 0.5 * start + 0.5 * (matrix @ mass)
            done = np.abs(after - mass).sum() < 1e-6
            mass = after
            if done:
                break
        power.append((time.perf_counter() - begun) * 1000)
        best = set(np.argsort(-mass)[:20].tolist())
        overlap.append(len(best & set(walk.vertices[np.argsort(-walk.mass)[:20]].tolist())))
    return {
        "push ms": round(float(np.median(pushed)), 2),
        "scipy power iteration ms": round(float(np.median(power)), 1),
        "best 20 that agree": round(float(np.mean(overlap)), 1),
    }


def _plot(rows: Sequence[dict[str, Any]]) -> str:
    """Recall p50 and p95 against the number of facts, both axes logarithmic."""

    def at(edges: float, ms: float) -> tuple[float, float]:
        return 80 + (np.log10(edges) - 4) * 230, 280 - np.log10(max(ms, 1)) * 85

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 330" font-family="sans-serif" font-size="12">']
    for key, colour in (("recall p50 ms", "#c4682b"), ("recall p95 ms", "#5b7f95")):
        points = [at(row["edges"], row[key]) for row in rows]
        parts.append(
            f'<polyline fill="none" stroke="{colour}" points="{" ".join(f"{x:.0f},{y:.0f}" for x, y in points)}"/>'
        )
        parts += [
            f'<text x="{x:.0f}" y="{y - 6:.0f}" fill="{colour}">{row[key]}</text>'
            for (x, y), row in zip(points, rows, strict=True)
        ]
    parts += [f'<text x="{at(row["edges"], 1)[0]:.0f}" y="305">{row["edges"]:,}</text>' for row in rows]
    parts.append('<text x="80" y="24">recall in ms (orange p50, blue p95) by number of facts</text></svg>\n')
    return "".join(parts)
