"""SIGTERM and SIGINT end the bridge in order; until this is loaded their defaults do, with nothing to put in order."""

from __future__ import annotations

import signal


def leave_in_order() -> None:
    """Have either signal unwind the loop, once."""
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: object) -> None:
    del number, frame
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise SystemExit(0)
