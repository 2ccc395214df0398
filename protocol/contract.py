"""The registry of every action; schema, help, tool description and reference are generated from it."""

from collections.abc import Mapping
from typing import Final

from .action import Action
from .actions import advisory, llm, memory, meta, reason

ALL: Final[tuple[Action, ...]] = (*memory.ACTIONS, *reason.ACTIONS, *meta.ACTIONS, *advisory.ACTIONS, *llm.ACTIONS)
BY_NAME: Final[Mapping[str, Action]] = {action.full_name: action for action in ALL}
DOMAINS: Final[tuple[str, ...]] = ("memory", "reason", "meta", "llm")


def visible(*, operator: bool = False, readonly: bool = False) -> tuple[Action, ...]:
    """The actions that a caller may name: operators see all but the hidden, read-only mode only reads."""
    return tuple(
        action
        for action in ALL
        if not action.hidden and (operator or not action.operator_only) and (action.read_only or not readonly)
    )


def owned_by(owner: str) -> Mapping[str, Action]:
    """The actions that one actor serves, by full name."""
    return {action.full_name: action for action in ALL if action.owner == owner}
