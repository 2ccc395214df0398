"""Why did a server end? Read from exit code, log and circumstances, with the next step in words; pure."""

import re
import signal
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from protocol.actions.llm import Exit

Cause = Literal[
    "commanded", "pressure", "stuck", "out_of_memory", "device_lost", "port", "foreign", "bad_model",
    "bad_flag", "bad_binary", "crashed", "killed", "ended", "spawn", "scope",
]  # fmt: skip

HOPELESS: Final = frozenset({"bad_model", "bad_flag", "bad_binary"})
"""Causes that no restart mends."""

_SAID: Final[Mapping[Cause, tuple[str, ...]]] = {
    # in this order: a server that lacks memory says that it cannot load the model, too
    "bad_flag": (
        r"error: (?:invalid|unknown) (?:argument|option)",
        r"unrecognized arguments",
        r"error while handling argument",
    ),
    "scope": (r"transient scope", r"Failed to connect to .*bus", r"Failed to start .*\.scope"),
    "port": (r"couldn.t bind", r"address already in use", r"failed to bind", r"HTTP server error"),
    "device_lost": (
        r"device ?lost",
        r"GPU HANG",
        r"ring \S+ timeout",
        r"amdgpu.*reset",
        r"hipErrorLaunchFailure",
        r"CUDA error",
    ),
    "out_of_memory": (
        r"out of (?:device |host )?memory",
        r"OutOf(?:Device|Host)Memory",
        r"failed to allocate",
        r"unable to allocate",
        r"cannot allocate memory",
        r"bad_alloc",
    ),
    "bad_model": (
        r"failed to load model",
        r"model loading error",
        r"invalid magic",
        r"unknown model architecture",
        r"tensor .* not found",
        r"file bounds",
    ),
}
_LOG: Final[tuple[tuple[Cause, re.Pattern[str]], ...]] = tuple(
    (cause, re.compile("|".join(said), re.IGNORECASE)) for cause, said in _SAID.items()
)

_NEXT: Final[Mapping[Cause, str]] = {
    "commanded": "Nothing to do.",
    "pressure": "It starts again when the memory is there; close something large or choose a smaller ctx.",
    "stuck": "It is restarted; if this repeats, lower ubatch or gpu_layers and see `chrysalis llm logs`.",
    "out_of_memory": "Choose a smaller ctx, a q8_0 cache or fewer gpu_layers; see `chrysalis llm plan`.",
    "device_lost": "The GPU was reset: lower ubatch (256 helps on some AMD iGPUs) or gpu_layers; update the driver.",
    "port": "Another program took the port; a free one is chosen at the next start unless the profile fixes it.",
    "foreign": "Another server answers at this port; give the profile port = 0 or stop the other one.",
    "bad_model": "Check the file (downloaded whole? too new for this llama-server?), then `chrysalis llm restart`.",
    "bad_flag": "The profile uses a flag that this llama-server lacks; correct `extra`, then `chrysalis llm restart`.",
    "bad_binary": "This llama-server was built for another processor; install one built for this machine.",
    "crashed": "It is restarted; `chrysalis llm logs` shows its last words.",
    "killed": "Somebody else killed it; it is restarted.",
    "ended": "It ended by itself; it is restarted.",
    "scope": "The user manager gave it no scope; it is started without one.",
    "spawn": "Check that the binary is there and may be executed.",
}  # fmt: skip

_SIGNALS: Final[Mapping[int, Cause]] = {
    signal.SIGILL: "bad_binary",
    signal.SIGSEGV: "crashed",
    signal.SIGABRT: "crashed",
    signal.SIGBUS: "crashed",
    signal.SIGFPE: "crashed",
    signal.SIGKILL: "killed",
    signal.SIGTERM: "killed",
    signal.SIGINT: "killed",
    signal.SIGHUP: "killed",
}


class Circumstances(Struct, frozen=True, kw_only=True):
    """What was going on when it ended.

    Attributes:
        asked: why we ended it ourselves, if we did.
        oom_kills: processes that the kernel killed for memory during its life.
        was_ready: whether it had ever been ready.
    """

    asked: Cause | None = None
    oom_kills: int = 0
    was_ready: bool = False


def classify(code: int | None, log: Sequence[str], circumstances: Circumstances) -> Exit:
    """The cause of an exit; `code` is negative for a signal, None when it never ran."""
    cause = circumstances.asked or _by_signal(code, circumstances) or _by_log(log) or _by_code(code, circumstances)
    return Exit(cause=cause, code=code, text=_words(cause, code, log), next_action=_NEXT[cause])


def _by_signal(code: int | None, circumstances: Circumstances) -> Cause | None:
    if code is None:
        return "spawn"
    if code in {-signal.SIGKILL, 128 + signal.SIGKILL} and circumstances.oom_kills:
        return "out_of_memory"
    return "bad_binary" if code in {-signal.SIGILL, 128 + signal.SIGILL} else None


def _by_log(log: Sequence[str]) -> Cause | None:
    text = "\n".join(log[-60:])
    return next((cause for cause, pattern in _LOG if pattern.search(text)), None)


def _by_code(code: int | None, circumstances: Circumstances) -> Cause:
    if code == 0:
        return "ended"
    number = -code if code is not None and code < 0 else (code or 0) - 128
    found = _SIGNALS.get(number)
    return found or ("crashed" if circumstances.was_ready else "bad_model")


def _words(cause: Cause, code: int | None, log: Sequence[str]) -> str:
    if cause == "commanded":
        return "stopped as asked"
    ended = "did not start" if code is None else f"died of {_signal(-code)}" if code < 0 else f"ended with code {code}"
    line = next((text for text in reversed(log) if any(p.search(text) for c, p in _LOG if c == cause)), "")
    return f"{cause.replace('_', ' ')}: the server {ended}" + (f" ({line.strip()[:160]})" if line else "")


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
