"""The entry that makes an MCP client start our bridge."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from protocol.settings import all_settings

_HOMES: Final = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_NOT_THEIRS: Final = frozenset({"CHRYSALIS_DATA"})


def entry(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Command, arguments and environment, all absolute: clients start servers anywhere with little environment."""
    script = Path(sys.executable).with_name("chrysalis-mcp")
    environment = _environment()
    if script.exists():
        command, args = str(script), list[str]()
    else:  # run from a source tree
        command, args = sys.executable, ["-m", "launcher.bridge"]
        environment = {"PYTHONPATH": str(Path(__file__).resolve().parent.parent.parent), **environment}
    return {**extra, "command": command, "args": args, **({"env": environment} if environment else {})}


def _environment() -> dict[str, str]:
    """What is set here and must be set there for both to meet at the same daemon and database."""
    ours = {s.name: s.value for s in all_settings() if s.source == "environment" and s.name not in _NOT_THEIRS}
    return ours | {name: os.environ[name] for name in _HOMES if os.environ.get(name)}


def merged(old: Any, new: dict[str, Any]) -> dict[str, Any]:
    """The new entry over an old one, of which what the user added stays."""
    if not isinstance(old, dict):
        return new
    both = {**old, **new}
    if isinstance(old.get("env"), dict):
        both["env"] = {**old["env"], **new.get("env", {})}
    return both
