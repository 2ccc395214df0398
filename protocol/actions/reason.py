"""The reasoning actions: their params and results."""

from ..action import Action

ACTIONS: tuple[Action, ...] = ()
