"""Every public fault that can be checked in a moment; the slower ones run with `-m slow` and in `memory_faults`."""

import tempfile

import pytest

from validation.benchmarks import _memory_cases_recall, _memory_cases_store  # noqa: F401 - they register themselves
from validation.benchmarks._memory import open_memory
from validation.benchmarks._memory_cases import CASES

PARAMS = [
    pytest.param(one.check, id=f"{one.number}-{one.check.__name__}", marks=[pytest.mark.slow] if one.slow else [])
    for one in sorted(CASES, key=lambda one: one.number)
]


@pytest.mark.parametrize("check", PARAMS)
def test_the_fault_that_others_had_is_right_here(check):
    check()


def test_there_is_a_case_for_each_of_the_53_faults():
    assert sorted(one.number for one in CASES) == list(range(1, 54))


def test_a_memory_with_a_file_of_its_own_makes_no_folder_that_a_kill_would_leave(tmp_path, monkeypatch):
    """The benchmarks' writers are killed in the middle, a thousand times."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with open_memory(tmp_path / "memory.db", choice="hash:64", remember=False) as memory:
        memory.call("memory.ingest", triples=[["a", "b", "c"]], source="s")
        assert not [path for path in tmp_path.iterdir() if not path.name.startswith("memory.db")]
