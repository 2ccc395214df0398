"""What an earlier guard left: recognised by mark or by record, ended, and never joined by a second model."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import msgspec
import pytest

from actors.guard import record
from actors.guard.command import MARK
from actors.guard.processes import command_line, look, marked
from actors.guard.profiles import Profile
from validation.benchmarks._guard_rig import Rig

PROC = Path("/proc")
SLEEP = [sys.executable, "-I", "-S", "-c", "import time; print('up', flush=True); time.sleep(60)"]


@pytest.fixture
def start():
    """Processes that are ended with the test."""
    started = []

    def start(mark=""):
        environment = os.environ | ({MARK: mark} if mark else {})
        started.append(subprocess.Popen(SLEEP, env=environment, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline() == "up\n"  # by then /proc shows what it runs
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def entry(process, **changes):
    seen = look(PROC, process.pid)
    found = record.Record(
        boot=record.boot_id(PROC), pid=process.pid, start=seen.start, argv=command_line(PROC, process.pid), url="",
        key="", profile=Profile(), wanted=True,
    )  # fmt: skip
    return msgspec.structs.replace(found, **changes)


def test_the_mark_finds_every_process_of_a_guard_and_no_other(start):
    one, two, other, none = start("/run/a#x"), start("/run/a#y"), start("/run/a/b#x"), start()
    found = {seen.pid for seen in marked(PROC, "/run/a#")}
    assert found == {one.pid, two.pid}
    assert record.orphans(PROC, "/run/a", None) == sorted(found)
    assert not found & {other.pid, none.pid}


def test_a_record_names_an_orphan_only_with_start_time_boot_and_command_line(start):
    process = start()
    right = entry(process)
    assert record.orphans(PROC, "/run/none", right) == [process.pid]
    for wrong in ({"start": right.start + 1}, {"boot": "another"}, {"argv": ["llama-server"]}, {"pid": 1}):
        assert record.orphans(PROC, "/run/none", msgspec.structs.replace(right, **wrong)) == []


def test_a_record_is_for_its_owner_only_and_damage_is_no_record(start, tmp_path):
    path = tmp_path / "llm.json"
    kept = entry(start())
    record.save(path, kept)
    assert record.load(path) == kept
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("{")
    assert record.load(path) is None
    assert record.load(tmp_path / "none") is None


def test_ending_is_term_then_kill_and_wakes_the_stopped(start):
    polite, stopped = start(), start()
    os.kill(stopped.pid, signal.SIGSTOP)
    assert anyio.run(record.end, PROC, [polite.pid, stopped.pid, 2**22 + 1], 5.0) == []
    assert look(PROC, polite.pid) is None
    assert look(PROC, stopped.pid) is None


def test_an_orphan_that_survives_kill_wedges_the_new_guard_until_it_is_gone(start, tmp_path, monkeypatch):
    rig = Rig(tmp_path)
    orphan = start(f"{rig.runtime}#old")
    record.save(rig.runtime / "llm.json", entry(orphan, profile=rig.profile))

    async def survives(_proc, pids, _grace_s):
        return list(pids)

    async def scenario():
        async with rig.running() as server:
            await rig.until("wedged")
            await rig.start()
            await anyio.sleep(0.5)
            assert server.life.state == "wedged"
            assert server.child is None
            orphan.kill()
            orphan.wait()
            monkeypatch.undo()
            await rig.until("ready")

    monkeypatch.setattr(record, "end", survives)
    anyio.run(scenario)
