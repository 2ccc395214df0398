"""A memory in a process of its own that does one kind of write over and over and tells each acknowledged one.

`python -m validation.benchmarks._memory_child` reads lines `DATABASE KIND ROUND`; for each it forks a process that
prints `ready`, then a line before and after each write, flushed, so that whoever kills it knows exactly what was
promised. It prints `pid N` before and `gone` after. Forking spares a thousand starts of Python.
"""

import os
import sys
from pathlib import Path

from ._memory import Memory, open_memory

TOLD_PER_WRITE = 5


def ingest(memory: Memory, turn: str, number: int) -> None:
    """Five facts in one write; the request id carries what it promised."""
    rows = [[f"{turn} {number} {i}", "is", f"value {i}"] for i in range(TOLD_PER_WRITE)]
    memory.call("memory.ingest", triples=rows, source=f"s{turn}", wait=False, request_id=f"{turn}-{number}")


def update(memory: Memory, turn: str, number: int) -> None:
    """Teach a phrase for one of twenty entities."""
    memory.call(
        "memory.update", query=f"phrase {turn} {number}", node=f"base {number % 20}", request_id=f"{turn}-{number}"
    )


def consolidate(memory: Memory, turn: str, number: int) -> None:
    """A write, then housekeeping, which takes a backup first and rewrites the file."""
    ingest(memory, turn, number)
    memory.call("memory.consolidate", decay=0.01, request_id=f"c{turn}-{number}")


def backup(memory: Memory, turn: str, number: int) -> None:
    """A write, then a forget of what is unknown but for its source, which takes a backup first."""
    ingest(memory, turn, number)
    memory.call("memory.ingest", triples=[["passing", "is", "here"]], source="passing", wait=False)
    memory.call("memory.forget", source="passing", request_id=f"f{turn}-{number}")


def restore(memory: Memory, turn: str, number: int) -> None:
    """A write, a backup of it, a restore of that backup: the write must be there at every moment."""
    ingest(memory, turn, number)
    name = memory.call("memory.consolidate", request_id=f"c{turn}-{number}").data.backup
    memory.call("memory.restore", name=name, request_id=f"r{turn}-{number}")


KINDS = {"ingest": ingest, "update": update, "consolidate": consolidate, "backup": backup, "restore": restore}


def main(path: str, kind: str, turn: str) -> None:
    """Write until killed."""
    with open_memory(Path(path), choice="hash:64", remember=False) as memory:
        if kind == "update":
            memory.call("memory.ingest", triples=[[f"base {i}", "is", "an entity"] for i in range(20)], source="base")
        print("ready", flush=True)
        for number in range(100_000):
            print(f"try {number}", flush=True)
            KINDS[kind](memory, turn, number)
            print(f"done {number}", flush=True)


def serve() -> None:
    """One process after the other, as told; it never has threads of its own, so that forking is safe."""
    for line in sys.stdin:
        path, kind, turn = line.split()
        pid = os.fork()
        if pid == 0:
            print(f"pid {os.getpid()}", flush=True)
            main(path, kind, turn)
            os._exit(0)
        os.waitpid(pid, 0)
        print("\ngone", flush=True)  # the killed one may have left half a line


if __name__ == "__main__":
    serve()
