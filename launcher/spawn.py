"""The two ways in which a daemon comes to be: systemd starts its unit, or a process is spawned and let go."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .autostart import log_file

UNIT = "chrysalis.service"
_LOG_MAX_BYTES = 4 << 20


def unit_installed() -> bool:
    """Whether systemd starts the daemon: its unit is here, serves this same directory, and can be reached."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    installed = (config / "systemd" / "user" / UNIT).exists()
    if not installed or os.environ.get("CHRYSALIS_RUNTIME_DIR") or not shutil.which("systemctl"):
        return False
    return any((_user_runtime() / door).exists() for door in ("systemd/private", "bus"))


def _user_runtime() -> Path:
    return Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")


def _open_log() -> int:
    path = Path(log_file())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > _LOG_MAX_BYTES:
        path.replace(path.with_suffix(".log.1"))
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


def _source_root() -> Path:
    """The directory that holds the packages: what `python -m daemon` finds, installed or not."""
    return Path(__file__).resolve().parent.parent


def start_unit() -> int:
    """Have systemd start the unit; returns a pipe with its complaint, which ends when it is done."""
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(_user_runtime())}
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
