"""`python -m pytest -m bench`: every offline benchmark, its quick part, each goal met.

Resumes: a result that was measured at a commit since which no code changed is judged as it stands. By environment:
`CHRYSALIS_BENCH_FULL=1` runs the whole of each, `CHRYSALIS_BENCH_FORCE=1` runs again what still stands.
"""

import json
import os
import subprocess
import sys

import pytest

from validation import result, run
from validation.resume import standing

FETCHES = {"clients", "conformance", "peers", "guard_real"}
"""They install programs of others or need a model, so they are run by hand."""
QUICK = os.environ.get("CHRYSALIS_BENCH_FULL") != "1"
FORCE = os.environ.get("CHRYSALIS_BENCH_FORCE") == "1"
MISSING_DATA = 2


@pytest.mark.bench
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", [name for name in run.names() if name not in FETCHES])
def test_every_goal_of_a_benchmark_is_met(name):
    """Run by the command that anyone would use; without its data it is left out, with the reason."""
    body = None if FORCE else standing(name, quick=QUICK)
    if body is None:
        body = measure(name)
    missed = [f"{g['name']}: {g['measured']} (wanted {g['wanted']})" for g in body["goals"] if not g["met"]]
    assert not missed, body["headline"]


def measure(name):
    """The result that a run has just written."""
    command = [sys.executable, "-m", "validation.run", name, *(["--quick"] if QUICK else [])]
    done = subprocess.run(command, cwd=result.ROOT, capture_output=True, text=True, check=False)
    if done.returncode == MISSING_DATA:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode in {0, 1}, done.stderr[-2_000:]
    path = result.RESULTS / f"{name}{'.quick' if QUICK else ''}.json"
    return json.loads(path.read_text(encoding="utf-8"))
