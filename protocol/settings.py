"""Settings in force: environment first, then config.toml, then defaults; each knows where it came from."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from .limits import IDLE_EXIT_DEFAULT_S


class Setting(Struct, frozen=True):
    """One value in force and its source: environment, config or default."""

    name: str
    value: str
    source: str


_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    # environment variable: (dotted key in config.toml, default)
    "CHRYSALIS_DB": ("memory.db", ""),
    "CHRYSALIS_EMBEDDER": ("memory.embedder", ""),
    "CHRYSALIS_MODEL_PROFILE": ("advisory.profile", ""),
    "CHRYSALIS_ENFORCE_ADVISORY": ("advisory.enforce", ""),
    "CHRYSALIS_OUTCOME_LOG": ("advisory.outcome_log", "1"),
    "CHRYSALIS_EVIDENCE": ("advisory.evidence", ""),
    "CHRYSALIS_LLM_URL": ("llm.url", ""),
    "CHRYSALIS_LLAMA_SERVER": ("llm.binary", ""),
    "CHRYSALIS_LLM_PROFILE": ("llm.profile", ""),
    "CHRYSALIS_LLM_AUTOSTART": ("llm.autostart", ""),
    "CHRYSALIS_RUNTIME_DIR": ("daemon.runtime_dir", ""),
    "CHRYSALIS_READONLY": ("daemon.readonly", ""),
    "CHRYSALIS_IDLE_EXIT_S": ("daemon.idle_exit_s", str(IDLE_EXIT_DEFAULT_S)),
    "CHRYSALIS_DATA": ("validation.data", ""),
}


def config_path() -> Path:
    """Where the optional configuration file lies."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "chrysalis" / "config.toml"


def load_config() -> dict[str, Any]:
    """The configuration file as a dict; empty when there is none.

    Raises:
        ValueError: when the file is not TOML; the message names it.
    """
    path = config_path()
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is not valid TOML: {error}"
        raise ValueError(msg) from error


def _dig(config: Mapping[str, Any], dotted: str) -> Any:
    value: Any = config
    for key in dotted.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def setting(name: str) -> Setting:
    """One setting by the name of its environment variable.

    Raises:
        KeyError: for a name that is no setting of ours.
    """
    dotted, default = _KEYS[name]
    if name in os.environ:
        return Setting(name, os.environ[name], "environment")
    found = _dig(load_config(), dotted)
    if found is not None:
        return Setting(name, "1" if found is True else "" if found is False else str(found), "config.toml")
    return Setting(name, default, "default")


def value(name: str) -> str:
    """The value of one setting; "" when unset."""
    return setting(name).value


def enabled(name: str) -> bool:
    """Whether a setting is switched on: 1, true, yes, on."""
    return value(name).strip().lower() in {"1", "true", "yes", "on"}


def all_settings() -> list[Setting]:
    """Every setting in force, for `chrysalis doctor`."""
    return [setting(name) for name in _KEYS]


def data_dir() -> Path:
    """The directory of the databases; made by who writes there first."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "chrysalis"


def database_path() -> Path:
    """The memory database; `advisory.db` and the backups lie beside it."""
    chosen = value("CHRYSALIS_DB")
    return Path(chosen).expanduser() if chosen else data_dir() / "substrate.db"
