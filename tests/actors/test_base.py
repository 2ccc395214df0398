"""What holds for every actor, whichever it is."""

import importlib
import inspect

import pytest

from actors.base import Actor
from protocol import contract

ACTORS = {
    name: getattr(importlib.import_module(f"actors.{name}.actor"), f"{name.capitalize()}Actor")
    for name in ("memory", "solver", "advisory", "guard")
}


@pytest.mark.parametrize("name", ACTORS)
def test_an_actor_overrides_nothing_that_is_private_to_the_base(name):
    """A handler named as one of the base's own methods would take its place and end the process."""
    private = {n for n, _ in inspect.getmembers(Actor, inspect.isfunction) if n.startswith("_") and n != "__init__"}
    assert not private & set(vars(ACTORS[name]))


@pytest.mark.parametrize("name", ACTORS)
def test_an_actor_serves_exactly_the_actions_that_the_contract_gives_it(name):
    """No action without a handler, no handler without an action."""
    assert set(ACTORS[name]().handlers()) == set(contract.owned_by(name))
