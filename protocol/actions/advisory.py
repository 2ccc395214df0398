"""The advisory actions of the meta domain: handshake, advise, calibrate, and what the daemon asks unseen."""

from ..action import Action

ACTIONS: tuple[Action, ...] = ()
