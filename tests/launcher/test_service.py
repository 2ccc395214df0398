"""The systemd unit and the commands around it; a real user manager is met in the `service` benchmark."""

import os
import subprocess

import pytest

from launcher import service
from launcher.cli import main


@pytest.fixture
def systemctl(tmp_path, monkeypatch):
    """A systemctl that records what it is asked; `answers` are lines of shell."""
    tools, log = tmp_path / "bin", tmp_path / "asked"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(service, "_stop_other_daemon", lambda: False)
    for name in ("CHRYSALIS_RUNTIME_DIR", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)

    def write(answers="exit 0", linger="echo yes"):
        for tool, body in (("systemctl", f'echo "$*" >> {log}\n{answers}'), ("loginctl", linger)):
            (tools / tool).write_text(f"#!/bin/sh\n{body}\n")
            (tools / tool).chmod(0o755)

    write()
    systemctl.write, systemctl.log = write, log
    return systemctl


def asked():
    return [line.removeprefix("--user --no-pager ") for line in systemctl.log.read_text().splitlines()]


def test_the_unit_has_what_a_service_of_ours_needs():
    text = service.unit_text("/env/bin/python", {"CHRYSALIS_DB": "/d b", "HOME": "/h", "XDG_DATA_HOME": "/x"})
    for line in (
        "Type=notify",
        "NotifyAccess=main",
        "ExecStart=/env/bin/python -m daemon",
        "Restart=on-failure",
        "WatchdogSec=30",
        "KillMode=mixed",
        "OOMPolicy=continue",
        'Environment="CHRYSALIS_DB=/d b"',
        'Environment="XDG_DATA_HOME=/x"',
    ):
        assert line in text.splitlines()
    assert "HOME=/h" not in text
    assert "@" not in text


def test_values_are_escaped_as_systemd_reads_them():
    text = service.unit_text("/my env/python", {"CHRYSALIS_DB": '50%"\\'})
    assert 'ExecStart="/my env/python" -m daemon' in text
    assert 'Environment="CHRYSALIS_DB=50%%\\"\\\\"' in text
    with pytest.raises(service.ServiceError, match="control character"):
        service.unit_text("p", {"CHRYSALIS_DB": "a\nExecStart=/bin/sh"})


def test_the_unit_stands_up_to_systemd_analyze(tmp_path):
    path = tmp_path / service.UNIT
    path.write_text(service.unit_text("/bin/true", {}))
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    try:
        done = subprocess.run(
            ["systemd-analyze", "--user", "verify", str(path)], capture_output=True, text=True, env=environment,
            check=False, timeout=60,
        )  # fmt: skip
    except FileNotFoundError:
        return  # a machine without systemd has nothing to verify with
    complaints = [line for line in done.stderr.splitlines() if service.UNIT in line and "RestartSteps" not in line]
    assert not [line for line in complaints if "RestartMaxDelaySec" not in line]


def test_print_shows_the_unit_and_changes_nothing(systemctl, capsys, tmp_path):
    assert main(["service", "install", "--print"]) == 0
    assert "ExecStart" in capsys.readouterr().out
    assert not (tmp_path / "config").exists()
    assert not systemctl.log.exists()


def test_install_writes_enables_and_starts_and_doing_it_again_changes_nothing(systemctl, capsys):
    assert main(["service", "install"]) == 0
    assert service.unit_path().exists()
    assert asked()[1:] == ["daemon-reload", f"enable {service.UNIT}", f"restart {service.UNIT}"]
    assert main(["service", "install"]) == 0
    assert "unchanged" in capsys.readouterr().out
    assert asked()[-1] == f"start {service.UNIT}"


def test_a_daemon_that_ran_without_systemd_is_ended_first(systemctl, monkeypatch, capsys):
    monkeypatch.setattr(service, "_stop_other_daemon", lambda: True)
    assert main(["service", "install"]) == 0
    assert "ran without systemd was ended" in capsys.readouterr().out


def test_the_linger_hint_appears_only_when_lingering_is_off(systemctl, capsys):
    systemctl.write(linger="echo no")
    main(["service", "install", "--no-start"])
    assert "loginctl enable-linger" in capsys.readouterr().out
    assert service.linger_hint(lambda: True) == ""
    assert service.linger_hint(lambda: None) == ""


def test_uninstall_leaves_nothing_and_is_no_error_twice(systemctl, capsys):
    main(["service", "install", "--no-start"])
    assert main(["service", "uninstall"]) == 0
    assert not service.unit_path().exists()
    assert f"disable --now {service.UNIT}" in asked()
    assert main(["service", "uninstall"]) == 0
    assert "not installed" in capsys.readouterr().out


def test_no_user_manager_is_told_with_what_to_do(systemctl, capsys):
    systemctl.write("echo 'Failed to connect to bus' >&2; exit 1")
    assert main(["service", "install"]) == 1
    assert "cannot be reached" in capsys.readouterr().err
    assert not service.unit_path().exists()


def test_a_refusal_of_systemd_is_passed_on(systemctl, capsys):
    systemctl.write('case "$*" in *enable*) echo "Unit is masked" >&2; exit 1;; esac')
    assert main(["service", "install"]) == 1
    assert "Unit is masked" in capsys.readouterr().err


def test_status_shows_what_systemd_says(systemctl, capsys):
    assert main(["service", "status"]) == 3
    main(["service", "install", "--no-start"])
    systemctl.write('case "$*" in *show*) printf "ActiveState=active\\nStatusText=2 clients\\n";; esac')
    capsys.readouterr()
    assert main(["service", "status"]) == 0
    assert "2 clients" in capsys.readouterr().out
    systemctl.write('case "$*" in *show*) printf "ActiveState=failed\\n";; esac')
    assert main(["service", "status"]) == 1
