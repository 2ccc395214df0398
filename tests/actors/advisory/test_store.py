"""advisory.db: exclusive, exactly once, refuses what is not its own, and never keeps the actor from serving."""

import signal
import subprocess
import sys
from pathlib import Path

import apsw
import msgspec
import pytest

from actors.advisory.store import SessionState, Store, StoreError, open_store
from evidence.records import Model

ROOT = Path(__file__).resolve().parents[3]
STATE = SessionState(declared=Model(name="m"), context=7)


def test_what_was_applied_is_there_after_a_kill(tmp_path):
    """A child applies, says so, and is killed without closing anything."""
    code = (
        "import sys, pathlib, time\n"
        "from actors.advisory.store import Store, SessionState\n"
        "store = Store(pathlib.Path(sys.argv[1]))\n"
        "store.apply('r1', b'reply', 's', SessionState(context=7), b'sitting')\n"
        "print('applied', flush=True)\n"
        "sys.stdin.read()\n"
    )
    path = tmp_path / "advisory.db"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as child:
        assert child.stdout.readline() == b"applied\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
    store = Store(path)
    assert store.replay("r1") == b"reply"
    assert store.sessions() == {"s": SessionState(context=7)}
    assert store.calibration("s") == b"sitting"
    store.close()


def test_a_request_cannot_be_applied_twice_and_the_second_changes_nothing(tmp_path):
    store = Store(tmp_path / "a.db")
    store.apply("r", b"first", "s", STATE, None)
    with pytest.raises(apsw.ConstraintError):
        store.apply("r", b"second", "s", SessionState(context=8), b"x")
    assert store.replay("r") == b"first"
    assert store.sessions() == {"s": STATE}
    assert store.calibration("s") is None
    store.close()


def test_the_secret_is_made_once(tmp_path):
    store = Store(tmp_path / "a.db")
    secret = store.secret
    store.close()
    again = Store(tmp_path / "a.db")
    assert again.secret == secret
    assert len(secret) == 32
    again.close()


def test_a_second_process_is_kept_out(tmp_path):
    store = Store(tmp_path / "a.db")
    with pytest.raises(StoreError, match="another process"):
        Store(tmp_path / "a.db", lock_wait_s=0.1)
    store.close()
    Store(tmp_path / "a.db", lock_wait_s=0.1).close()


@pytest.mark.parametrize("pragma", ["application_id=77", "user_version=99"])
def test_a_foreign_or_newer_file_is_refused_and_left_alone(tmp_path, pragma):
    path = tmp_path / "a.db"
    apsw.Connection(str(path)).execute(f"PRAGMA {pragma}")
    with pytest.raises(StoreError, match="move it away"):
        Store(path)


def test_garbage_is_refused_with_a_word_on_what_to_do(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(b"not a database" * 500)
    with pytest.raises(StoreError, match="move the file away"):
        Store(path)
    assert path.read_bytes().startswith(b"not a database")


def test_without_a_usable_file_the_store_lives_in_memory_and_says_so(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(b"not a database" * 500)
    notes = []
    store = open_store(path, notes.append)
    store.apply("r", b"reply", "s", STATE, None)
    assert store.sessions() == {"s": STATE}
    assert not store.kept
    assert "not kept" in notes[0]
    store.close()


def test_old_lines_are_trimmed_so_that_nothing_grows_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("actors.advisory.store.LOG_MAX", 100)
    monkeypatch.setattr("actors.advisory.store.APPLIED_MAX", 100)
    monkeypatch.setattr("actors.advisory.store.SESSIONS_KEPT", 100)
    store = Store(tmp_path / "a.db")
    for i in range(150):
        store.log([(f"a-{i}", msgspec.msgpack.encode(i))])
        store.apply(f"r-{i}", b"", f"s-{i}", STATE, None)
    assert 80 <= len(store.logged()) <= 100
    assert 80 <= len(store.sessions()) <= 100
    assert store.replay("r-0") is None
    assert store.replay("r-149") == b""
    store.close()
