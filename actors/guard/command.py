"""The command line of a server: everything that the prediction rests on is written out, nothing is left to defaults.

Flags come and go between builds of llama.cpp, so each optional one is written only when the binary's `--help`
names it. The environment is clean: a stray LLAMA_ARG_* changes the run silently, and LLAMA_SERVER_* turns the
process into a router's child.
"""

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from protocol import settings

from .profiles import Profile, ProfileError

HELP_MAX_S: Final = 20.0
FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
DROPPED: Final = ("LLAMA_ARG_", "LLAMA_SERVER_", "LLAMA_API_KEY", "LLAMA_CACHE", "LLAMA_LOG_", "AIP_", "HF_TOKEN")
EARLIER: Final = {"--no-ui": "--no-webui", "--ctx-checkpoints": "--swa-checkpoints", "--alias": "-a"}
"""What older builds call a flag."""
MARK: Final = "CHRYSALIS_GUARDED"
"""Environment variable that every process of a launch carries; how strays are found whatever they did."""
MARK_END: Final = "#"
"""Between the guard's part of a mark and the launch's; no slash, since one runtime directory may lie in another."""


class Launch(Struct, frozen=True, kw_only=True):
    """One start of a server: its command, environment and identity."""

    argv: list[str]
    environment: dict[str, str]
    port: int
    alias: str
    key: str
    left_out: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def find_binary() -> Path:
    """The llama-server to run: `CHRYSALIS_LLAMA_SERVER`, else the first on PATH.

    Raises:
        ProfileError: there is none, or it cannot be executed.
    """
    chosen = settings.value("CHRYSALIS_LLAMA_SERVER")
    found = shutil.which(Path(chosen).expanduser() if chosen else "llama-server")
    if found:
        return Path(found)
    if chosen:
        raise ProfileError(f"{chosen} (CHRYSALIS_LLAMA_SERVER) is not there or not executable.")
    raise ProfileError("There is no llama-server on PATH; install llama.cpp or set CHRYSALIS_LLAMA_SERVER.")


_known: dict[tuple[str, int, int], frozenset[str]] = {}


def known_flags(binary: Path) -> frozenset[str]:
    """The flags that a binary's `--help` names; asked once for each version of the file. Blocks; call off the loop.

    Raises:
        ProfileError: it does not run at all, with what it said.
    """
    stat = binary.stat()
    key = (str(binary), stat.st_mtime_ns, stat.st_size)
    if key not in _known:
        _known[key] = frozenset(FLAG.findall(_help(binary)))
    return _known[key]


def _help(binary: Path) -> str:
    try:
        code, text = ask_tool([str(binary), "--help"], HELP_MAX_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProfileError(f"{binary} --help does not run: {error}") from error
    if code < 0:
        raise ProfileError(f"{binary} --help died of signal {-code}; it was built for another processor.")
    return text


def ask_tool(argv: list[str], wait_s: float) -> tuple[int, str]:
    """Run a tool of llama.cpp's to its end; its exit code and what it said on both outputs.

    Raises:
        OSError: it cannot be run. subprocess.TimeoutExpired: not in time; it and its children are killed.
    """
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        env=clean_environment(os.environ),
    ) as process:
        try:
            text, _ = process.communicate(timeout=wait_s)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, text


def clean_environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would change a server's run, and without a debugger on abort."""
    kept = {key: value for key, value in given.items() if not key.startswith((*DROPPED, "CHRYSALIS_"))}
    return kept | {"GGML_NO_BACKTRACE": "1"}


def launch_for(profile: Profile, binary: Path, flags: frozenset[str], *, port: int, mark: str) -> Launch:
    """The launch of a profile on a port, with an identity of its own."""
    alias, key = f"chrysalis-{secrets.token_hex(8)}", secrets.token_urlsafe(24) if profile.api_key == "launch" else ""
    argv, left_out = [str(binary), *_required(profile, port)], list[str]()
    for name, *values in _optional(profile, alias):
        spelled = next((word for word in (name, EARLIER.get(name, name)) if word in flags), name)
        if spelled in flags or not flags:
            argv += [spelled, *values]
        else:
            left_out.append(name)
    environment = clean_environment(os.environ) | profile.env | {MARK: f"{mark}{MARK_END}{alias}"}
    environment |= {"LLAMA_API_KEY": key} if key else {}
    return Launch(
        argv=[*argv, *profile.extra], environment=environment, port=port, alias=alias, key=key, left_out=left_out
    )


def _required(profile: Profile, port: int) -> list[str]:
    return [
        *("--model", str(profile.path)),
        *("--host", "127.0.0.1"),
        *("--port", str(port)),
        *("--ctx-size", str(profile.ctx)),
        *("--batch-size", str(profile.batch)),
        *("--ubatch-size", str(profile.ubatch)),
        *("--parallel", str(profile.parallel)),
    ]


def _optional(profile: Profile, alias: str) -> list[list[str]]:
    """Flags that not every build has."""
    threads = profile.threads or max(1, (os.cpu_count() or 2) - 1)
    wanted = [
        ["--alias", alias],
        ["--n-gpu-layers", _layers(profile)],
        ["--cache-type-k", profile.cache_type_k],
        ["--cache-type-v", profile.cache_type_v],
        ["--threads", str(threads)],
        ["--cache-ram", str(profile.cache_ram_mib)],
        ["--ctx-checkpoints", str(profile.ctx_checkpoints)],
        ["--no-cache-idle-slots"],
        ["--fit", "off"],
        ["--metrics"],
        ["--no-ui"],
        ["--offline"],
        ["--jinja"],
    ]
    wanted += [["--swa-full"]] if profile.swa_full else []
    wanted += [["--mmproj", str(Path(profile.mmproj).expanduser())]] if profile.mmproj else []
    wanted += [["--reasoning", profile.reasoning]] if profile.reasoning else []
    wanted += [["--reasoning-budget", str(profile.reasoning_budget)]] if profile.reasoning_budget is not None else []
    template = profile.chat_template_file
    return wanted + ([["--chat-template-file", str(Path(template).expanduser())]] if template else [])


def _layers(profile: Profile) -> str:
    return "999" if profile.gpu_layers.strip() == "all" else profile.gpu_layers.strip()
