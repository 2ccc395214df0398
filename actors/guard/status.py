"""The status of the guarded server in words and figures; from what is known already, so that it is instant."""

import time
from pathlib import Path
from typing import Final

from protocol import settings
from protocol.actions.llm import Status

from .estimate import MIB
from .life import UP
from .server import ModelServer

WORDS: Final = {
    "stopped": "is stopped",
    "admitting": "is being checked for memory",
    "loading": "is loading",
    "ready": "is ready",
    "busy": "is serving a request",
    "slow": "is serving a request slowly",
    "suspect": "makes no progress just now",
    "stuck": "is stuck and will be restarted",
    "stopping": "is stopping",
    "backoff": "will be started again",
    "fatal": "was given up",
    "wedged": "is wedged: nothing may be started until it is gone",
}
NOT_CONFIGURED: Final = "No model is configured here"
HOW_TO: Final = "set model under [llm.profiles.small] in config.toml, or use `chrysalis llm start --model FILE`"


def not_configured() -> Status:
    """The status where no profile has a model and none was started."""
    url = settings.value("CHRYSALIS_LLM_URL")
    elsewhere = f"; the one at {url} is not guarded by Chrysalis" if url else f"; {HOW_TO}"
    return Status(state="not_configured", text=f"{NOT_CONFIGURED}{elsewhere}.")


def status_of(server: ModelServer, record_path: Path) -> Status:
    """The status of a server that was asked for at least once."""
    life, now = server.life, time.monotonic()
    profile, child, attention = life.profile, server.child, server.attention
    seen = attention.last if attention and child else None
    up = child is not None and life.state in UP
    name = profile.name if profile else ""
    why = f": {life.why}" if life.why else ""
    return Status(
        state=life.state,
        text=f"{name or 'The model'} {WORDS[life.state]}{why.rstrip('.')}.",
        profile=name,
        model=profile.model if profile else "",
        url=child.launch.url if up and child else "",
        pid=child.pid if child else None,
        since_s=round(now - life.since, 1),
        wanted=life.wanted,
        restarts=life.restarts,
        restart_in_s=round(max(0.0, life.due - now), 1) if life.due is not None else None,
        rss_mib=round(seen.rss / MIB, 1) if seen else None,
        available_mib=round(server.machine.memory().available / MIB),
        pressure=server.finding.level if up else "",
        tokens_per_s=_rounded(attention.watch.tokens_per_s) if attention and up else None,
        last_exit=life.last_exit,
        admission=life.admission,
        key_file=str(record_path) if up and child and child.launch.key else "",
        warnings=server.warnings,
    )


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 2)
