"""The user's hour, with few facts: every promise of the benchmark of that name."""

import pytest

from validation.benchmarks import users_hour
from validation.run import Context


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_hour_with_the_memory_goes_as_promised():
    """Import, kill, resume, change the embedder, kill, resume, forget, restore."""
    missed = [goal for goal in users_hour.run(Context(quick=True)).goals if not goal.met]
    assert not missed
