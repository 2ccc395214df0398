"""Whatever dies, what lives goes on: processes killed, stopped and started twice, for real."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from validation.stack import Stack

SOLVE = {"vars": {"x": "int 1..3"}, "constraints": ["x > 2"]}


def wait_for(condition, timeout_s=20.0):
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, "did not come true in time"
        time.sleep(0.02)


def actor(client, name):
    return client.control("status")["actors"][name]


@pytest.fixture
def own():
    """A daemon of the test's own, to be broken."""
    with Stack() as running:
        yield running


def test_a_killed_actor_is_back_at_once_and_nothing_acknowledged_is_lost(own):
    """The read under way is retried by the daemon itself."""
    with own.client() as client:
        for number in range(3):
            name = f"Item {number}"
            params = {"triples": [[name, "weighs", f"{number} stone"]], "source": "t"}
            assert client.call("memory", "ingest", params)["status"] == "ok"
            pid = actor(client, "memory")["pid"]
            os.kill(pid, signal.SIGKILL)
            envelope = client.call("memory", "recall", {"query": name})
            assert envelope["status"] == "ok", envelope
            assert any(fact["subject"] == name for fact in envelope["data"]["facts"])
            assert actor(client, "memory")["pid"] != pid
        assert actor(client, "memory")["last_cause"] == "crashed"
    own.note_processes()


def test_a_write_whose_actor_dies_is_told_how_to_repeat_it_once(own):
    """The same request_id again does it exactly once."""
    with own.client() as client:
        pid = actor(client, "memory")["pid"]
        os.kill(pid, signal.SIGSTOP)
        arguments = b'{"domain":"memory","action":"ingest","params":{"triples":[["a","is","b"]],"source":"t"}}'
        call_id = client.begin(arguments)
        time.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
        envelope = client.wait(call_id)
        assert envelope["data"]["code"] == "actor_restarted"
        assert envelope["data"]["retryable"]
        request_id = envelope["data"]["details"]["request_id"]
        assert request_id in envelope["next_action"]
        params = {"triples": [["a", "is", "b"]], "source": "t", "request_id": request_id}
        assert [client.call("memory", "ingest", params)["data"]["new_edges"] for _ in range(2)] == [1, 1]
    own.note_processes()


def test_five_deaths_in_a_minute_are_fatal_and_the_rest_goes_on(own):
    """The fatal actor's calls say what to do; the operator's restart brings it back."""
    with own.client() as client:
        for _ in range(5):
            wait_for(lambda: actor(client, "guard")["state"] == "running")
            pid = actor(client, "guard")["pid"]
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda gone=pid: actor(client, "guard")["pid"] != gone)
        wait_for(lambda: actor(client, "guard")["state"] == "fatal")
        refused = client.call("llm", "status")
        assert refused["data"]["code"] == "unavailable"
        assert "chrysalis restart guard" in refused["next_action"]
        assert client.call("reason", "solve", SOLVE)["data"]["model"]["x"] == 3
        client.control("restart", "guard")
        wait_for(lambda: actor(client, "guard")["state"] == "running")
        assert client.call("llm", "status")["status"] == "ok"
    own.note_processes()


def test_when_the_daemon_is_killed_everything_of_its_own_ends_by_itself():
    """And a new daemon on the same database finds what was acknowledged."""
    import pathlib
    import shutil
    import tempfile

    directory = pathlib.Path(tempfile.mkdtemp(prefix="cz"))
    first = Stack(keep=directory)
    first.start()
    with first.client() as client:
        assert (
            client.call("memory", "ingest", {"triples": [["Nell", "keeps", "bees"]], "source": "t"})["status"] == "ok"
        )
    first.kill()
    assert first.survivors(10) == []
    with Stack(keep=directory) as second, second.client() as client:
        facts = client.call("memory", "recall", {"query": "what does Nell keep?"})["data"]["facts"]
        assert facts[0]["object"] == "bees"
    shutil.rmtree(directory)


def test_a_call_under_way_when_the_daemon_dies_is_answered_by_the_next_one():
    """The client sends it again under the same id."""
    import pathlib
    import shutil
    import tempfile

    directory = pathlib.Path(tempfile.mkdtemp(prefix="cz"))
    first = Stack(keep=directory)
    first.start()
    client = first._connect(10, client="survivor")
    memory = actor(client, "memory")["pid"]
    os.kill(memory, signal.SIGSTOP)
    params = b'{"domain":"memory","action":"ingest","params":{"triples":[["x","is","y"]],"source":"t"}}'
    call_id = client.begin(params)
    client.pump(0.2)
    first.kill()
    os.kill(memory, signal.SIGKILL)
    with Stack(keep=directory):
        envelope = client.wait(call_id, 30_000)
        assert envelope["status"] == "ok", envelope
        assert envelope["data"]["new_edges"] == 1
        client.close()
    assert first.survivors() == []
    shutil.rmtree(directory)


def test_a_second_daemon_is_refused_and_the_first_goes_on(stack, client):
    """By the lock, before anything is bound."""
    second = subprocess.run(
        [sys.executable, "-m", "daemon"], env=stack.environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert second.returncode == 1
    assert "already running" in second.stderr
    assert client.call("meta", "discover")["status"] == "ok"


def test_a_stale_socket_and_a_foreign_file_in_its_place_do_not_stop_the_daemon():
    """What a killed daemon leaves is replaced."""
    with Stack() as running:
        running.kill()
        running.runtime.joinpath("bridge.sock").unlink()
        running.runtime.joinpath("bridge.sock").write_text("not a socket", encoding="utf-8")
        running.start()
        with running.client() as client:
            assert client.call("meta", "discover")["status"] == "ok"


def test_a_client_that_vanishes_takes_its_work_with_it(stack):
    """Its solver worker ends within about a second, though Z3 itself cannot be interrupted."""
    slow = "(declare-const x Int)(assert (> " + "(+ 1 (* x " * 40 + "x" + "))" * 40 + " 5))(check-sat)"
    code = (
        "import sys, json; from protocol.client import Client\n"
        "c = Client(kind='test', operator=False)\n"
        "c.begin(json.dumps({'domain':'reason','action':'solve','params':{'smt2':sys.argv[1],'timeout_ms':60000}})"
        ".encode(), deadline_ms=60000)\n"
        "print('begun', flush=True)\n"
        "c.wait('never', 60000)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, slow], env=stack.environment, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "begun\n"
    with stack.client() as client:
        wait_for(lambda: actor(client, "solver")["running"] == 1, 5)
        child.kill()
        child.wait()
        child.stdout.close()
        wait_for(lambda: actor(client, "solver")["running"] == 0, 5)
        wait_for(lambda: not busy_workers(stack), 3)


def busy_workers(stack):
    """Solver workers that burn processor time."""
    return [p for p in stack.processes() if "actors.solver.zygote" in " ".join(_words(p)) and p.cpu_percent(0.1) > 50]


def _words(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.slow
def test_an_actor_that_is_stopped_is_suspected_then_ended_and_replaced(own):
    """SIGSTOP: no ping comes back; stacks are asked for, then KILL, cause hung."""
    with own.client() as client:
        pid = actor(client, "solver")["pid"]
        os.kill(pid, signal.SIGSTOP)
        wait_for(lambda: actor(client, "solver")["state"] == "suspect", 10)
        assert client.call("memory", "recall", {"query": "anything"})["status"] == "ok"
        wait_for(lambda: actor(client, "solver")["pid"] not in (pid, 0), 25)
        wait_for(lambda: actor(client, "solver")["state"] == "running", 15)
        assert actor(client, "solver")["last_cause"] == "hung"
        assert client.call("reason", "solve", SOLVE)["status"] == "ok"
    own.note_processes()


@pytest.mark.slow
def test_a_daemon_that_was_stopped_for_a_while_blames_nobody_for_the_silence(own):
    """As after a laptop's sleep: same actors, same clients, next call works."""
    with own.client() as client:
        pids = {name: a["pid"] for name, a in client.control("status")["actors"].items()}
        os.kill(own.process.pid, signal.SIGSTOP)
        time.sleep(13)
        os.kill(own.process.pid, signal.SIGCONT)
        assert client.call("reason", "solve", SOLVE)["status"] == "ok"
        time.sleep(2)
        assert {name: a["pid"] for name, a in client.control("status")["actors"].items()} == pids


def test_an_unused_daemon_that_a_client_started_ends_itself():
    """And says READY on the pipe before."""
    running = Stack({"CHRYSALIS_IDLE_EXIT_S": "1"})
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "daemon", "--ready-fd", str(write)],
        env=running.environment,
        pass_fds=(write,),
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    assert os.read(read, 100) == b"READY\n"
    os.close(read)
    assert process.wait(20) == 0
    assert list(running.runtime.glob("*.sock")) == []
    running.close()


def test_a_daemon_that_cannot_start_says_why_on_the_pipe():
    """A runtime directory that others may enter is refused."""
    running = Stack()
    running.runtime.mkdir(mode=0o755)
    running.runtime.chmod(0o755)
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "daemon", "--ready-fd", str(write)],
        env=running.environment,
        pass_fds=(write,),
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    assert b"chmod 700" in os.read(read, 1000)
    os.close(read)
    assert process.wait(20) == 1
    running.close()
