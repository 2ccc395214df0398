"""`python -m pytest -m bench`: every offline benchmark, its quick part, each goal met.

Resumes: a result that was measured at a commit since which no code changed is judged as it stands. By environment:
`CHRYSALIS_BENCH_FULL=1` runs the whole of each, `CHRYSALIS_BENCH_FORCE=1` runs again what still stands. A run in which
nothing stood writes how long it took (`bench.quick.json`).
"""

import json
import os
import subprocess
import sys
import time

import pytest

from validation import result, run
from validation.result import Goal, Measured, write
from validation.resume import standing

FETCHES = {"clients", "conformance", "peers", "guard_real"}
"""They install programs of others or need a model, so they are run by hand."""
QUICK = os.environ.get("CHRYSALIS_BENCH_FULL") != "1"
FORCE = os.environ.get("CHRYSALIS_BENCH_FORCE") == "1"
MISSING_DATA = 2
LIMIT_S = 1_800
NAMES = [name for name in run.names() if name not in FETCHES]


@pytest.fixture(scope="module")
def took():
    """Seconds by benchmark, of those that were measured; written down when that was each of them."""
    seconds = {}
    yield seconds
    if len(seconds) < len(NAMES):
        return
    whole = round(sum(seconds.values()))
    goal = Goal("every offline benchmark, its quick part", f"<= {LIMIT_S} s", whole, whole <= LIMIT_S)
    headline = f"{len(seconds)} benchmarks in {whole} s"
    measured = Measured(headline=headline, figures={"seconds": seconds}, goals=[goal], n=len(seconds))
    write("bench", measured, quick=QUICK, seconds=whole)


@pytest.mark.bench
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", NAMES)
def test_every_goal_of_a_benchmark_is_met(name, took):
    """Run by the command that anyone would use; without its data it is left out, with the reason."""
    body = None if FORCE else standing(name, quick=QUICK)
    if body is None:
        started = time.monotonic()
        body = measure(name)
        took[name] = round(time.monotonic() - started, 1)
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
