"""A cgroup of its own for the server, where a systemd user manager may give one with a memory limit.

The limit holds what the server takes on the host; GPU memory of an integrated GPU is not charged to it, which is
why the floor on MemAvailable stays the first defence.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

GROWTH: Final = 1.5
TASKS_MAX: Final = 512


def available(sys: Path, environment: Mapping[str, str]) -> bool:
    """Whether the user manager is there and may limit memory."""
    uid = os.getuid()
    controllers = sys / "fs/cgroup/user.slice" / f"user-{uid}.slice" / f"user@{uid}.service" / "cgroup.controllers"
    manager = Path(environment.get("XDG_RUNTIME_DIR") or "/nonexistent") / "systemd" / "private"
    try:
        delegated = "memory" in controllers.read_text(encoding="ascii").split()
    except OSError:
        return False
    return delegated and manager.exists() and shutil.which("systemd-run") is not None


def prefix(unit: str, admitted_bytes: int) -> list[str]:
    """The command in front of the server's that runs it in a scope; it replaces itself by the server."""
    limits = [f"MemoryMax={round(admitted_bytes * GROWTH)}", "MemorySwapMax=0", f"TasksMax={TASKS_MAX}"]
    properties = [word for limit in limits for word in ("-p", limit)]
    return ["systemd-run", "--user", "--scope", "--quiet", "--collect", f"--unit={unit}", *properties, "--"]
