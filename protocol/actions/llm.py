"""The llama.cpp actions: status for everyone, the rest for the operator."""

from ..action import Action

ACTIONS: tuple[Action, ...] = ()
