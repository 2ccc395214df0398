"""What the service tells systemd."""

import os
import socket

from daemon.notify import Notifier


def test_a_message_arrives_at_the_notification_socket(tmp_path):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        assert Notifier({"NOTIFY_SOCKET": path}).notify("READY=1\nSTATUS=serving")
        assert manager.recv(100) == b"READY=1\nSTATUS=serving"


def test_an_abstract_address_is_reached():
    name = f"chrysalis-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name)
        assert Notifier({"NOTIFY_SOCKET": "@" + name}).notify("WATCHDOG=1")
        assert manager.recv(100) == b"WATCHDOG=1"


def test_without_a_manager_nothing_is_sent_and_nothing_raised(tmp_path):
    assert not Notifier({}).notify("READY=1")
    assert not Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).notify("READY=1")


def test_children_do_not_inherit_the_variables():
    environment = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "HOME": "/h"}
    Notifier(environment)
    assert environment == {"HOME": "/h"}


def test_the_watchdog_is_fed_at_half_its_interval_and_only_by_the_process_it_watches():
    assert Notifier({"WATCHDOG_USEC": "30000000"}).watchdog_interval_s == 15
    assert Notifier({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}).watchdog_interval_s == 15
    assert Notifier({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}).watchdog_interval_s is None
    assert Notifier({"WATCHDOG_USEC": "soon"}).watchdog_interval_s is None
