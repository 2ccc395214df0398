"""A memory in this process with the hashing embedder, which needs no model."""

from collections.abc import Iterator

import pytest

from validation.benchmarks._memory import Memory, open_memory

FACTS = [
    ["Ada", "works at", "the lab"],
    ["the lab", "is owned by", "Babbage Ltd"],
    ["Babbage Ltd", "is based in", "London"],
    ["Grace", "works at", "the navy"],
]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with open_memory(choice="hash:256", remember=False) as opened:
        yield opened


@pytest.fixture
def stored(memory: Memory) -> Memory:
    """A memory that holds FACTS from the source `notes`."""
    memory.call("memory.ingest", triples=FACTS, source="notes")
    return memory
