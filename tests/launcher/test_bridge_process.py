"""The bridge as a process: what it answers, when it leaves, and how it outlives its daemon."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.launcher.partner import BRIDGE, MODERN, ROOT, Bridge, Daemon
from validation.benchmarks._bridge_fuzz import Line, Tally, lines

EXIT_S = 1.0 if len(os.sched_getaffinity(0)) > 4 else 3.0
"""It leaves within a second; a busy machine is given more before that counts as a fault."""


@pytest.fixture
def run(tmp_path):
    """A runtime directory in which nobody may start a daemon: the start lock is held."""
    path = tmp_path / "r"
    path.mkdir(mode=0o700)
    lock = os.open(path / "start.lock", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    yield path
    os.close(lock)


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_the_tool_is_listed_without_any_daemon_in_both_eras(run):
    with Bridge(run) as bridge:
        assert bridge.initialize()["serverInfo"]["name"] == "chrysalis"
        legacy = bridge.ask("tools/list")["result"]["tools"]
        assert bridge.ask("tools/list", {"_meta": MODERN})["result"]["tools"] == legacy
        assert not (run / "bridge.sock").exists()


def test_only_a_known_few_modules_are_loaded_before_the_first_answer():
    """The start is every client's wait: a new import in the bridge has to be meant."""
    code = "import sys; before = set(sys.modules); import launcher.bridge; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    ours = {"launcher", "protocol"}
    loaded = {name.partition(".")[0] for name in done.stdout.split()} - ours
    assert loaded <= {
        "_collections_abc", "_stat", "genericpath", "os", "posixpath", "stat",  # what site would have loaded
        "__future__", "_bisect", "_collections", "_functools", "_json", "_operator", "_sre", "collections", "copyreg",
        "enum", "functools", "itertools", "json", "keyword", "operator", "re", "reprlib", "select", "types", "_types",
    }  # fmt: skip


def test_a_call_goes_to_the_daemon_and_its_answer_comes_back(run):
    with Daemon(run) as daemon, Bridge(run) as bridge:
        bridge.initialize()
        bridge.call("echo", {"x": "ä\ud800\U0001f98b"})
        result = bridge.read()["result"]
        assert result["structuredContent"]["data"]["arguments"]["params"] == {"x": "ä\ufffd\U0001f98b"}
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        (hello,) = daemon.wait_received("hello")
        assert (hello["kind"], hello["client"], hello["pid"]) == ("bridge", "test", bridge.process.pid)


def test_neither_a_call_nor_a_ping_waits_for_a_slow_call(run):
    with Daemon(run), Bridge(run) as bridge:
        bridge.initialize()
        bridge.call("hang")
        assert bridge.call("echo") == bridge.read()["id"]
        assert "result" in bridge.ask("ping")


def test_progress_comes_before_the_answer(run):
    with Daemon(run), Bridge(run) as bridge:
        bridge.initialize()
        bridge.call("steps", {"n": 3}, meta={"progressToken": 7})
        told = [bridge.read() for _ in range(4)]
        assert [m["params"]["progress"] for m in told[:3]] == [0, 1, 2]
        assert told[0]["params"]["progressToken"] == 7 and "result" in told[3]


def test_a_cancelled_call_reaches_the_daemon_and_is_not_answered(run):
    with Daemon(run) as daemon, Bridge(run) as bridge:
        bridge.initialize()
        cancelled = bridge.call("hang")
        (call,) = daemon.wait_received("call")
        bridge.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": cancelled}})
        assert daemon.wait_received("cancel")[0]["id"] == call["id"]
        assert "result" in bridge.ask("ping")


def test_a_notice_changes_the_description_and_is_announced(run):
    with Daemon(run), Bridge(run) as bridge:
        bridge.initialize()
        bridge.ask("tools/list")
        bridge.call("notice", {"slot": "Use recall for everything."})
        assert bridge.read()["method"] == "notifications/tools/list_changed"
        assert "result" in bridge.read()
        assert "Use recall for everything." in bridge.ask("tools/list")["result"]["tools"][0]["description"]


def test_the_advice_that_a_daemon_left_is_shown_before_any_connection(run):
    (run / "advisory.json").write_text(json.dumps({"slot": "Solve with solve.", "instructions": "Think."}))
    with Bridge(run) as bridge:
        assert bridge.initialize()["instructions"] == "Think."
        assert "Solve with solve." in bridge.ask("tools/list")["result"]["tools"][0]["description"]


@pytest.mark.parametrize("left", [b"", b"[]", b"{", b'{"slot": 3}', b"\xff", b"[" * 50_000])
def test_advice_that_cannot_be_read_is_left_aside(run, left):
    (run / "advisory.json").write_bytes(left)
    with Bridge(run) as bridge:
        assert "instructions" not in bridge.initialize()


def test_a_call_under_way_when_the_daemon_dies_is_served_by_the_next_under_the_same_id(run):
    with Bridge(run) as bridge:
        with Daemon(run) as daemon:
            bridge.initialize()
            bridge.call("die", {"once": True})
            daemon.process.wait()
        with Daemon(run) as daemon:
            result = bridge.read()["result"]
            assert result["structuredContent"]["data"]["attempt"] == 2
            calls = daemon.received("call")
            assert len(calls) == 2 and calls[0]["id"] == calls[1]["id"]


def test_a_call_that_two_daemons_died_of_is_answered_unavailable(run):
    with Bridge(run) as bridge:
        with Daemon(run) as daemon:
            bridge.initialize()
            bridge.call("die")
            daemon.process.wait()
        with Daemon(run) as daemon:
            daemon.process.wait()
        envelope = bridge.read()["result"]["structuredContent"]
        assert envelope["data"]["code"] == "unavailable" and envelope["data"]["retryable"] is True
        with Daemon(run):
            bridge.call("echo")
            assert bridge.read()["result"]["isError"] is False


def test_an_error_of_the_daemon_is_marked_as_one(run):
    with Daemon(run), Bridge(run) as bridge:
        bridge.initialize()
        bridge.call("error")
        assert bridge.read()["result"]["isError"] is True


def test_a_daemon_of_another_version_is_told_in_its_own_words(run):
    with Daemon(run, FAKE_REFUSES="Update chrysalis: version 9 is wanted."), Bridge(run) as bridge:
        bridge.initialize()
        for _ in range(2):
            bridge.call("hang")
            envelope = bridge.read()["result"]["structuredContent"]
            assert envelope["summary"] == "Update chrysalis: version 9 is wanted."


def test_a_socket_that_speaks_something_else_costs_an_error_not_the_bridge(run):
    import socket

    with socket.socket(socket.AF_UNIX) as listener, Bridge(run) as bridge:
        listener.bind(str(run / "bridge.sock"))
        listener.listen()
        listener.settimeout(20)
        bridge.initialize()
        bridge.call("echo")
        for _ in range(3):
            stream, _ = listener.accept()
            with stream:
                stream.sendall(b"220 mail.example SMTP".ljust(64))
        assert "result" in bridge.ask("ping")


@pytest.mark.parametrize("seed", [1, 2])
def test_fuzzed_lines_get_exactly_one_answer_per_id(run, seed):
    print("seed", seed)
    tally, fuzz = Tally(), list(lines(seed, 2_000))
    for line in fuzz:
        tally.sent(line)
    with Daemon(run), Bridge(run) as bridge:
        bridge.initialize()
        writer = threading.Thread(target=lambda: [bridge.write(line.text + b"\n") for line in fuzz])
        writer.start()
        for _ in range(tally.expected):
            tally.answered(bridge.read_line())
        writer.join()
        assert "result" in bridge.ask("ping")
        assert tally.faults() == []


def test_a_line_of_ten_mebibytes_is_refused_and_the_next_is_served(run):
    with Bridge(run) as bridge:
        bridge.initialize()
        writer = threading.Thread(
            target=bridge.write,
            args=(b'{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"' + b"y" * (10 << 20) + b'"}}\n',),
        )
        writer.start()
        answer = bridge.read()
        writer.join()
        assert (answer["id"], answer["error"]["code"]) == ("big", -32600)
        assert "result" in bridge.ask("ping")


def test_a_client_that_does_not_read_stops_being_read_and_loses_nothing(run):
    count = 3_000
    with Daemon(run), Bridge(run) as bridge:
        bridge.initialize()
        request = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n' % n for n in range(1000, 1000 + count))
        writer = threading.Thread(target=bridge.write, args=(request,))
        writer.start()
        writer.join(1.0)
        assert [bridge.read()["id"] for _ in range(count)] == list(range(1000, 1000 + count))
        writer.join()


def test_stderr_stays_empty_and_standard_output_carries_nothing_but_json(run):
    with Daemon(run), Bridge(run) as bridge:
        bridge.initialize()
        for _ in range(200):
            bridge.call("echo")
        assert all("result" in bridge.read() for _ in range(200))
        bridge.process.stdin.close()
        assert bridge.ended(EXIT_S) == 0
        assert bridge.read_line() == b"" and bridge.stderr() == b""


# leaving


def test_it_leaves_at_the_end_of_input_with_everything_answered(run):
    with Daemon(run) as daemon, Bridge(run) as bridge:
        bridge.initialize()
        ids = [bridge.call("echo"), bridge.begin("ping"), bridge.call("wait", {"ms": 100})]
        bridge.process.stdin.close()
        assert bridge.ended(EXIT_S) == 0
        assert sorted(bridge.read()["id"] for _ in ids) == sorted(ids)
        assert bridge.stderr() == b""
        assert daemon.wait_received("bye")


def test_a_last_line_without_a_newline_is_served(run):
    with Bridge(run) as bridge:
        bridge.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        bridge.process.stdin.close()
        assert bridge.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert bridge.ended(EXIT_S) == 0


def test_at_the_end_of_input_a_call_that_takes_too_long_is_answered_cancelled(run):
    with Daemon(run), Bridge(run) as bridge:
        bridge.initialize()
        bridge.call("hang")
        bridge.process.stdin.close()
        assert bridge.ended(EXIT_S) == 0
        assert bridge.read()["result"]["structuredContent"]["data"]["code"] == "cancelled"


def test_a_closed_output_ends_it_silently_even_while_idle(run):
    with Bridge(run) as bridge:
        bridge.initialize()
        bridge.process.stdout.close()
        assert bridge.ended(EXIT_S) == 0
        assert bridge.stderr() == b""


def test_a_closed_output_ends_it_silently_in_mid_answer(run):
    with Bridge(run) as bridge:
        bridge.initialize()
        for _ in range(500):
            bridge.begin("tools/list")
        bridge.read()
        bridge.process.stdout.close()
        assert bridge.ended(EXIT_S) == 0
        assert bridge.stderr() == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it_silently_while_its_pipes_are_open(run, number, busy):
    with Daemon(run) as daemon, Bridge(run) as bridge:
        bridge.initialize()
        if busy:
            bridge.call("hang")
        daemon.wait_received("call" if busy else "hello")
        bridge.process.send_signal(number)
        assert bridge.ended(EXIT_S) == 0
        assert bridge.stderr() == b""
        assert daemon.wait_received("bye")


def test_its_parents_end_is_its_end_though_a_sibling_holds_the_pipe(run):
    """The pipes stay open here, in this process, while the one that started the bridge is killed."""
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(sys.argv[1:])\n"
        "print(child.pid, file=sys.stderr, flush=True)\n"
        "time.sleep(600)\n"
    )
    with Bridge(run, [sys.executable, "-c", code, *BRIDGE]) as parent:
        pid = int(parent.process.stderr.readline())
        parent.initialize()
        pidfd = os.pidfd_open(pid)
        parent.process.kill()
        import select

        assert select.select([pidfd], [], [], EXIT_S)[0], "the bridge outlived its parent"
        os.close(pidfd)


def test_nothing_is_burnt_while_it_waits(run):
    with Daemon(run) as daemon, Bridge(run) as bridge:
        bridge.initialize()
        daemon.wait_received("hello")
        before = cpu_s(bridge.process.pid)
        time.sleep(0.5)
        assert cpu_s(bridge.process.pid) - before <= 0.03


def test_a_bridge_that_was_stopped_goes_on_when_it_is_continued(run):
    with Daemon(run), Bridge(run) as bridge:
        bridge.initialize()
        bridge.process.send_signal(signal.SIGSTOP)
        bridge.call("echo")
        bridge.process.send_signal(signal.SIGCONT)
        assert bridge.read()["result"]["isError"] is False


@pytest.mark.parametrize(
    ("answers", "faults"),
    [
        ([b'{"jsonrpc":"2.0","id":"a","result":{}}', b'{"jsonrpc":"2.0","id":null,"error":{}}'], 0),
        ([b'{"jsonrpc":"2.0","id":"a","result":{}}'], 1),
        ([b'{"jsonrpc":"2.0","id":"a","result":{}}'] * 2 + [b'{"jsonrpc":"2.0","id":null,"error":{}}'], 1),
        ([b'{"jsonrpc":"2.0","id":"b","result":{}}', b'{"jsonrpc":"2.0","id":null,"error":{}}'], 2),
        ([b'{"jsonrpc":"2.0","id":"a"}', b'{"jsonrpc":"2.0","id":null,"error":{}}'], 1),
    ],
)
def test_the_judge_of_the_fuzz_finds_an_answer_missing_doubled_invented_or_malformed(answers, faults):
    tally = Tally()
    tally.sent(Line("sound", b"", "a", 1, sure=True))
    tally.sent(Line("noise", b"", None, 1, sure=False))
    for answer in answers:
        tally.answered(answer)
    assert len(tally.faults()) == faults
