"""Each public complaint, simulated with real processes, must end in the right state with the right words."""

import anyio
import pytest

from validation.benchmarks import _guard_faults_exit, _guard_faults_memory, _guard_faults_progress
from validation.benchmarks._guard_faults import FAULTS

assert _guard_faults_exit, _guard_faults_memory
assert _guard_faults_progress
SHORT_S = 4.0
SHORT = [fault for fault in FAULTS if fault.seconds <= SHORT_S]
LONG = [fault for fault in FAULTS if fault.seconds > SHORT_S]


def name(fault):
    return f"{fault.number}-{fault.scenario.__name__}"


@pytest.mark.parametrize("fault", SHORT, ids=name)
def test_the_fault_ends_as_it_must(fault, tmp_path):
    assert anyio.run(fault.scenario, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("fault", LONG, ids=name)
def test_the_slower_fault_ends_as_it_must(fault, tmp_path):
    assert anyio.run(fault.scenario, tmp_path)


def test_all_thirty_two_complaints_are_simulated_once():
    assert sorted(fault.number for fault in FAULTS) == list(range(1, 33))
