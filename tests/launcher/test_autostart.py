"""Bridges find the real daemon or start it: exactly one, detached, and with its reason when it cannot."""

import fcntl
import os
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

from launcher import autostart
from tests.launcher.partner import WAIT_S, Bridge, Daemon


class Place:
    """Directories of its own for a daemon that bridges start; ends what is left of it."""

    def __init__(self, root: Path) -> None:
        self.run = root / "r"
        self.environment = {f"XDG_{name}_HOME": str(root / name.lower()) for name in ("STATE", "DATA", "CONFIG")}
        self.log = root / "state" / "chrysalis" / "daemon.log"

    def bridge(self, **more: str) -> Bridge:
        return Bridge(self.run, **{**self.environment, **more})

    def daemons(self) -> list[psutil.Process]:
        """Every daemon process of this directory, by its environment."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.cmdline()[1:3] == ["-m", "daemon"] and process.environ().get("CHRYSALIS_RUNTIME_DIR") == str(
                    self.run
                ):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def end(self) -> None:
        daemons = self.daemons()
        everyone = daemons + [child for daemon in daemons for child in daemon.children(recursive=True)]
        for daemon in daemons:
            daemon.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs(everyone, timeout=WAIT_S)
        assert not alive


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.end()


def discover(bridge: Bridge) -> None:
    bridge.begin("tools/call", {"name": "chrysalis", "arguments": {"domain": "meta", "action": "discover"}})


def test_bridges_of_one_instant_share_one_daemon_which_outlives_them_and_is_replaced_when_killed(place):
    bridges = [place.bridge() for _ in range(3)]
    try:
        for bridge in bridges:
            bridge.initialize()
        for bridge in bridges:
            discover(bridge)
        for bridge in bridges:
            assert bridge.read()["result"]["structuredContent"]["status"] == "ok"
        (daemon,) = place.daemons()
        assert os.getsid(daemon.pid) not in {os.getsid(0), *(bridge.process.pid for bridge in bridges)}
        assert daemon.ppid() not in {bridge.process.pid for bridge in bridges}
        inherited = {str(Path(f"/proc/{daemon.pid}/fd/{n}").readlink()) for n in (0, 1, 2)}
        assert inherited == {"/dev/null", str(place.log)}

        bridges[0].process.kill()
        bridges[0].process.wait()
        assert daemon.is_running()

        actors = daemon.children()
        daemon.kill()
        discover(bridges[1])
        assert bridges[1].read()["result"]["structuredContent"]["status"] == "ok"
        (second,) = place.daemons()
        assert second.pid != daemon.pid
        psutil.wait_procs(actors, timeout=WAIT_S)
    finally:
        for bridge in bridges:
            bridge.end()


def test_a_daemon_that_cannot_start_says_why_through_the_bridge(place):
    config = Path(place.environment["XDG_CONFIG_HOME"]) / "chrysalis" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("this is = = not TOML")
    with place.bridge() as bridge:
        bridge.initialize()
        discover(bridge)
        envelope = bridge.read()["result"]["structuredContent"]
        assert envelope["data"]["code"] == "unavailable"
        assert "config.toml" in envelope["summary"] or str(place.log) in envelope["summary"]
        config.unlink()
        discover(bridge)
        assert bridge.read()["result"]["structuredContent"]["status"] == "ok"


def test_a_runtime_directory_that_others_may_enter_is_told_with_the_remedy(place):
    place.run.mkdir(mode=0o755)
    place.run.chmod(0o755)
    with place.bridge() as bridge:
        bridge.initialize()
        discover(bridge)
        assert "chmod 700" in bridge.read()["result"]["structuredContent"]["summary"]


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """The runtime directory of this process."""
    path = tmp_path / "r"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("CHRYSALIS_RUNTIME_DIR", str(path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return path


def test_while_another_starts_the_daemon_one_waits_for_it(directory):
    lock = os.open(directory / "start.lock", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert autostart.begin() is None
    waiting = threading.Thread(target=autostart.ensure, args=(WAIT_S,))
    waiting.start()
    with Daemon(directory):
        waiting.join(WAIT_S)
        assert not waiting.is_alive() and autostart.listening()
        os.close(lock)
        assert autostart.begin() is None


def test_waiting_for_a_daemon_that_never_comes_ends_in_time(directory):
    lock = os.open(directory / "start.lock", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    before = time.monotonic()
    with pytest.raises(autostart.StartError, match="No daemon within"):
        autostart.ensure(0.3)
    assert time.monotonic() - before < WAIT_S
    os.close(lock)


def test_a_socket_whose_daemon_was_killed_is_nobody_listening(directory):
    with Daemon(directory) as daemon:
        assert autostart.listening()
        daemon.kill()
        assert (directory / "bridge.sock").exists()
        assert not autostart.listening()


@pytest.fixture
def unit(tmp_path, monkeypatch):
    """An installed unit and a systemctl of our own that does what the test writes into it."""
    monkeypatch.delenv("CHRYSALIS_RUNTIME_DIR", raising=False)
    runtime = tmp_path / "x"
    (runtime / "systemd").mkdir(parents=True)
    (runtime / "systemd" / "private").touch()
    (runtime / "chrysalis").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "systemd" / "user").mkdir(parents=True)
    (tmp_path / "config" / "systemd" / "user" / "chrysalis.service").touch()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    def write(script: str) -> Path:
        program = tmp_path / "bin" / "systemctl"
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/told; mv {tmp_path}/told {tmp_path}/asked\n{script}\n')
        program.chmod(0o755)
        return tmp_path / "asked"

    write.directory = runtime / "chrysalis"
    return write


def test_an_installed_unit_is_started_by_systemd(unit):
    asked = unit("exit 0")
    waiting = threading.Thread(target=autostart.ensure, args=(WAIT_S,))
    waiting.start()
    until = time.monotonic() + WAIT_S
    while not asked.exists() and time.monotonic() < until:
        waiting.join(0.01)
    assert asked.read_text() == "--user start chrysalis.service\n"
    with Daemon(unit.directory):
        waiting.join(WAIT_S)
        assert not waiting.is_alive()


def test_a_unit_that_fails_is_told_in_systemds_words(unit):
    asked = unit("echo 'Unit is masked.' >&2; exit 1")
    with pytest.raises(autostart.StartError, match=r"systemd could not start chrysalis\.service: Unit is masked\."):
        autostart.ensure(WAIT_S)
    assert asked.read_text() == "--user start chrysalis.service\n"
