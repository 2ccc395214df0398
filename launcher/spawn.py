"""The two ways in which a daemon comes to be: systemd starts its unit, or a process is spawned and let go."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from protocol.endpoints import state_dir

from .autostart import log_file

UNIT = "chrysalis.service"
_LOG_MAX_BYTES = 4 << 20


def unit_installed() -> bool:
    """Whether the daemon is systemd's to start: its unit is installed and would serve this same directory."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    installed = os.path.exists(os.path.join(config, "systemd", "user", UNIT))
    return installed and not os.environ.get("CHRYSALIS_RUNTIME_DIR") and shutil.which("systemctl") is not None


def _open_log() -> int:
    os.makedirs(state_dir(), mode=0o700, exist_ok=True)
    path = log_file()
    if os.path.exists(path) and os.path.getsize(path) > _LOG_MAX_BYTES:
        os.replace(path, path + ".1")
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def start_daemon() -> int:
    """Start the daemon detached; returns the read end of its ready pipe.

    The shell in between ends at once, so that the daemon is nobody's child here: it is neither a zombie of
    ours when it ends nor in the tree that a client kills with us.
    """
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    log = _open_log()
    command = [sys.executable, "-m", "daemon", "--ready-fd", str(theirs)]
    try:
        shell = subprocess.Popen(
            ["/bin/sh", "-c", '"$@" &', "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=(theirs,),
            start_new_session=True,
            cwd=_source_root(),
        )
        shell.wait()
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
        os.close(log)
    os.set_blocking(ours, False)
    return ours


def _source_root() -> str:
    """The directory that holds the packages: what `python -m daemon` finds, installed or not."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def start_unit() -> int:
    """Have systemd start the unit; returns a pipe with its complaint, which ends when it is done."""
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    environment = dict(os.environ)
    environment.setdefault("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    try:
        subprocess.Popen(
            ["/bin/sh", "-c", '"$@" &', "sh", "systemctl", "--user", "start", UNIT],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        ).wait()
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    os.set_blocking(ours, False)
    return ours
