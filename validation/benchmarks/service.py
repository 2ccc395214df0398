"""The systemd user service beside a real `systemd --user` in a sandbox: watchdog, killed children, clean removal."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from validation.result import ROOT, Goal, Measured, MissingData, data_root
from validation.run import Context

RUN_MAX_S = 420
NOT_STARTED = 96


def sandbox() -> str:
    """The program that runs a command beside a user manager: CHRYSALIS_SYSTEMD_SANDBOX, else beside the shared data.

    Raises:
        MissingData: there is none.
    """
    beside = data_root().parent / "tools" / "systemd-user-sandbox"
    found = os.environ.get("CHRYSALIS_SYSTEMD_SANDBOX") or str(beside)
    if not os.access(found, os.X_OK):
        raise MissingData("set CHRYSALIS_SYSTEMD_SANDBOX to a program that runs a command beside `systemd --user`")
    return found


def run(context: Context) -> Measured:
    """Install, serve, be stopped, be restarted, lose children, be removed."""
    watchdog_s = 6 if context.quick else 30
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "told.json"
        command = [sandbox(), sys.executable, "-m", "validation.benchmarks._service_inside", str(out), str(watchdog_s)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=RUN_MAX_S
        )
        if done.returncode == NOT_STARTED:
            raise MissingData(done.stderr.strip())
        if not out.exists():
            raise AssertionError(f"the sandboxed checks ended with {done.returncode}: {done.stderr[-2000:]}")
        told: dict[str, Any] = json.loads(out.read_text())
    context.progress(json.dumps(told))
    return _measured(told)


def _measured(told: dict[str, Any]) -> Measured:
    unit, removed = told.get("unit", {}), told["uninstall"]
    clean = not (removed["units"] or removed["unit_file"] or removed["processes"] or removed["sockets"])
    took_over = told.get("other_daemon_ended") is True
    lost = told.get("lost", ["unknown"])
    survived = told.get("same_daemon") is True and told.get("model_end") == "out_of_memory"
    return Measured(
        headline=f"service: up in {told.get('install_to_active_s')} s, a stopped daemon replaced after "
        f"{told.get('stopped_to_new_daemon_s')} s with {len(lost)} of {told.get('acknowledged')} writes lost, "
        f"{'nothing' if clean else 'something'} left after removal",
        figures=told,
        goals=[
            Goal("active, with a status text", "active", unit.get("ActiveState"), unit.get("ActiveState") == "active"),
            Goal("takes over from a daemon that ran before", "it ended", took_over, took_over),
            Goal("a bridge's call", "ok", told.get("bridge_call"), told.get("bridge_call") == "ok"),
            Goal("acknowledged writes lost to the watchdog", "0", len(lost), not lost),
            Goal("OOM kill of the model leaves the daemon", "same daemon", told.get("model_end"), survived),
            Goal("left after uninstall", "nothing", json.dumps(removed), clean),
        ],
        n=int(told.get("acknowledged", 0)),
        notes=[told["error"]] if "error" in told else [],
    )
