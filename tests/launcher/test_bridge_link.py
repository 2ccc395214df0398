"""The link to the daemon at times that tests cannot wait for: the clock is passed in."""

import fcntl
import json
import os
import select
import time

import pytest

from launcher.bridge import tool
from launcher.bridge.calls import Call
from launcher.bridge.link import Link
from protocol.limits import DAEMON_START_MAX_S
from tests.launcher.partner import WAIT_S, Daemon


class Party:
    """What a link works for; keeps what it is told."""

    client = "party"

    def __init__(self):
        self.answers, self.changes = [], 0

    def answered(self, call, envelope, *, is_error):
        self.answers.append((call, envelope, is_error))

    def progressed(self, call, done, total, message):
        pass

    def tools_changed(self):
        self.changes += 1


@pytest.fixture
def run(tmp_path, monkeypatch):
    path = tmp_path / "r"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("CHRYSALIS_RUNTIME_DIR", str(path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lock = os.open(path / "start.lock", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    yield path
    os.close(lock)


@pytest.fixture
def party():
    return Party()


@pytest.fixture
def link(party):
    link = Link(party, tool.load())
    yield link
    link.close()


def call(action="echo", now=0.0):
    return Call(1, b'{"action":"%b"}' % action.encode(), now=now, token=None, modern=False, structured=True)


def pump(link, now, until):
    """Serve the link's descriptors, at a clock that stands still, until something is so."""
    given_up_at = time.monotonic() + WAIT_S
    while not until():
        assert time.monotonic() < given_up_at, "it did not come to be"
        poller = select.poll()
        for fd, events in link.wishes():
            poller.register(fd, events)
        for fd, _ in poller.poll(10):
            link.ready(fd, now)


def envelope(party):
    return party.answers[-1][1].decode()


def test_after_a_silence_the_daemon_is_greeted_again_before_it_is_asked(run, party, link):
    with Daemon(run) as daemon:
        link.tick(0.0)
        link.submit(call(), 0.0)
        pump(link, 0.0, lambda: len(party.answers) == 1)
        link.submit(call(now=100.0), 100.0)
        pump(link, 100.0, lambda: len(party.answers) == 2)
        assert [told for told in order(daemon) if told != "alive"] == ["hello", "call", "hello", "call"]


def test_calls_under_way_are_sent_again_after_a_silence_under_the_same_id(run, party, link):
    with Daemon(run) as daemon:
        waiting = call("hang")
        link.submit(waiting, 0.0)
        link.tick(0.0)
        pump(link, 0.0, lambda: waiting.attempt == 1)
        pump(link, 0.0, lambda: bool(link.wishes()) and daemon.received("call"))
        link.tick(20.0)
        pump(link, 20.0, lambda: len(daemon.received("call")) == 2)
        assert {told["id"] for told in daemon.received("call")} == {waiting.id}


def test_a_sign_of_life_is_given_every_five_seconds(run, party, link):
    with Daemon(run) as daemon:
        link.tick(0.0)
        link.submit(call(), 0.0)
        pump(link, 0.0, lambda: len(party.answers) == 1)
        for now in (4.9, 5.0, 9.9, 10.0):
            link.tick(now)
        assert link.next_at() == 15.0
        pump(link, 10.0, lambda: len(daemon.received("alive")) == 2)


def test_a_call_past_its_deadline_is_answered_timeout_and_cancelled(run, party, link):
    with Daemon(run) as daemon:
        waiting = call("hang")
        link.submit(waiting, 0.0)
        link.tick(0.0)
        pump(link, 0.0, lambda: waiting.attempt == 1)
        link.tick(26.9)
        assert party.answers == []
        link.tick(27.0)
        assert '"timeout"' in envelope(party) and party.answers[0][2] is True
        pump(link, 27.0, lambda: bool(daemon.received("cancel")))


def test_a_daemon_that_never_comes_is_told_in_time(run, party, link):
    link.submit(call(), 0.0)
    link.tick(0.0)
    link.tick(DAEMON_START_MAX_S)
    assert party.answers == []
    link.tick(DAEMON_START_MAX_S + 0.1)
    assert '"unavailable"' in envelope(party) and "daemon.log" in envelope(party)


def test_without_calls_nobody_is_looked_for_more_often_than_every_five_seconds(run, party, link):
    link.tick(0.0)
    assert link.next_at() == 5.0 and link.wishes() == []


def test_an_answer_without_an_envelope_is_an_internal_error(run, party, link):
    waiting = call("hang")
    with Daemon(run):
        link.submit(waiting, 0.0)
        link.tick(0.0)
        pump(link, 0.0, lambda: waiting.attempt == 1)
        link._take({"t": "answer", "id": waiting.id, "envelope": "text"})
        assert '"internal"' in envelope(party)


def test_messages_that_nobody_expects_are_left_aside(run, party, link):
    for message in ({"t": "answer", "id": "x"}, {"t": "new kind"}, {}, {"t": "progress", "id": 3}):
        link._take(message)
    link._take_all([b"\xc1", b"\x01", b"\x91\x01"])
    assert party.answers == []


def order(daemon):
    return [json.loads(line)["t"] for line in daemon.log.read_text().splitlines()]
