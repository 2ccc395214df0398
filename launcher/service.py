"""`chrysalis service install|uninstall|status|logs`: the daemon as a systemd user service.

Type=notify with a watchdog that is fed only while every actor makes progress; ended children do not end it
(OOMPolicy=continue); unknown keys (RestartSteps before systemd 254) are only warned of by systemd.
"""

import argparse
import getpass
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

from protocol.client import Client, NoDaemon

from . import autostart

UNIT: Final = "chrysalis.service"
CARRIED: Final = ("CHRYSALIS_", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
"""Variables in force at the installation that the service gets, too."""
COMMAND_MAX_S: Final = 90.0
STOP_MAX_S: Final = 20.0


class ServiceError(ValueError):
    """Raised when systemd cannot be asked or refuses; the message says what to do."""


def register(subparsers: Any) -> None:
    """Add `service` and its verbs to the command line."""
    parser = subparsers.add_parser("service", help="run the daemon as a systemd user service")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    install = verbs.add_parser("install", help="write the unit, enable it and start it")
    install.add_argument("--no-start", action="store_true", help="do not start it now")
    install.add_argument("--print", action="store_true", dest="only_print", help="show the unit and change nothing")
    install.set_defaults(run=run_install)
    for verb, run, text in (
        ("uninstall", run_uninstall, "stop it and take the unit away"),
        ("status", run_status, "show what systemd says of it"),
    ):
        verbs.add_parser(verb, help=text).set_defaults(run=run)
    logs = verbs.add_parser("logs", help="its journal")
    logs.add_argument("-n", "--lines", type=int, default=100, help="how many of the last lines (default: %(default)s)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on showing new ones")
    logs.set_defaults(run=run_logs)


def unit_path() -> Path:
    """Where the user's unit lies."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user" / UNIT


def unit_text(python: str, environment: Mapping[str, str]) -> str:
    """The unit for this interpreter; the variables of ours that are set now go with it."""
    template = resources.files("launcher").joinpath("systemd/chrysalis.service.in").read_text(encoding="utf-8")
    carried = sorted((key, value) for key, value in environment.items() if key.startswith(CARRIED) and value)
    lines = [f'Environment="{key}={_escaped(value)}"' for key, value in carried if key != "CHRYSALIS_RUNTIME_DIR"]
    roots = [root for root in environment.get("PYTHONPATH", "").split(os.pathsep) if root]
    lines += [f'Environment="PYTHONPATH={_escaped(os.pathsep.join(roots))}"'] if roots else []
    return template.replace("@PYTHON@", _escaped(python, spaces=True)).replace("@ENVIRONMENT@\n", _joined(lines))


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str, *, spaces: bool = False) -> str:
    """A value as systemd reads it back: specifiers and quotes escaped."""
    if any(ord(letter) < 32 for letter in text):  # noqa: PLR2004 - control characters
        raise ServiceError(f"{text!r} holds a control character, which a unit file cannot.")
    escaped = text.replace("\\", "\\\\").replace("%", "%%").replace('"', '\\"')
    return f'"{escaped}"' if spaces and " " in escaped else escaped


def run_install(options: argparse.Namespace) -> int:
    """Write, enable and start the unit; prints what was done and the linger hint."""
    text, path = unit_text(sys.executable, os.environ), unit_path()
    if options.only_print:
        print(text, end="")
        return 0
    _require_manager()
    changed = not path.exists() or path.read_text(encoding="utf-8") != text
    if changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".tmp")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    _systemctl("daemon-reload")
    _systemctl("enable", UNIT)
    print(f"{'written' if changed else 'unchanged'}: {path}")
    if not options.no_start:
        if _stop_other_daemon():
            print("the daemon that ran without systemd was ended; its clients find the new one by themselves")
        _systemctl("restart" if changed else "start", UNIT)
        print("started; see: chrysalis service status")
    if hint := linger_hint(_lingers):
        print(hint)
    return 0


def _stop_other_daemon() -> bool:
    """End a daemon that systemd did not start: only one may hold the runtime directory.

    Raises:
        ServiceError: it does not end.
    """
    if show("MainPID").get("MainPID", "0") != "0":
        return False
    try:
        with Client(connect_timeout_s=1.0) as client:
            client.control("stop")
    except NoDaemon:
        return False
    until = time.monotonic() + STOP_MAX_S
    while autostart.listening():
        if time.monotonic() > until:
            raise ServiceError("The daemon that runs without systemd does not end; see: chrysalis status")
        time.sleep(0.05)
    return True


def run_uninstall(_: argparse.Namespace) -> int:
    """Stop, disable and remove the unit; nothing is left of it."""
    path = unit_path()
    if not path.exists():
        print("not installed")
        return 0
    _require_manager()
    _systemctl("disable", "--now", UNIT)
    path.unlink()
    _systemctl("daemon-reload")
    _systemctl("reset-failed", UNIT, check=False)
    print(f"removed: {path}")
    return 0


def run_status(_: argparse.Namespace) -> int:
    """Show systemd's view; 0 when it runs, 1 when not, 3 when it is not installed."""
    if not unit_path().exists():
        print("not installed; install it with: chrysalis service install")
        return 3
    properties = show("ActiveState", "SubState", "StatusText", "MainPID", "NRestarts", "Result", "WatchdogUSec")
    for key, value in properties.items():
        print(f"{key:14} {value}")
    return 0 if properties.get("ActiveState") == "active" else 1


def run_logs(options: argparse.Namespace) -> int:
    """Show the journal of the unit."""
    if shutil.which("journalctl") is None:
        raise ServiceError("There is no journalctl here; the daemon's log is where systemd puts it.")
    follow = ["--follow"] if options.follow else []
    command = ["journalctl", "--user", "--unit", UNIT, "--lines", str(options.lines), "--output", "short", *follow]
    return subprocess.run([*command, "--no-pager"], check=False).returncode


def show(*names: str) -> dict[str, str]:
    """Properties of the unit as systemd tells them."""
    done = _systemctl("show", UNIT, *(f"--property={name}" for name in names))
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return {key: value for key, _, value in pairs if key}


def linger_hint(lingers: Callable[[], bool | None]) -> str:
    """What to do so that the service outlives the log-out; empty when it does already or cannot be known."""
    if lingers() is not False:
        return ""
    return f"It ends when you log out; to keep it: loginctl enable-linger {getpass.getuser()}"


def _lingers() -> bool | None:
    if shutil.which("loginctl") is None:
        return None
    command = ["loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() == "yes" if done.returncode == 0 else None


def _require_manager() -> None:
    if shutil.which("systemctl") is None:
        raise ServiceError("There is no systemctl here; run `chrysalis daemon` by other means.")
    done = subprocess.run(["systemctl", "--user", "show-environment"], capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip() or "no answer"
        raise ServiceError(f"The systemd user manager cannot be reached ({why}); log in through a session, not sudo.")


def _systemctl(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = ["systemctl", "--user", "--no-pager", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_MAX_S)
    except subprocess.TimeoutExpired as error:
        raise ServiceError(f"systemctl {arguments[0]} did not answer in {COMMAND_MAX_S:.0f} s.") from error
    if check and done.returncode:
        why = done.stderr.strip() or done.stdout.strip()
        raise ServiceError(f"systemctl {' '.join(arguments)} failed: {why}. See: chrysalis service logs")
    return done
