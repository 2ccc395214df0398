"""What holds for every actor, whichever it is."""

import importlib

import pytest

from actors.base import Actor
from protocol import contract

ACTORS = {
    name: getattr(importlib.import_module(f"actors.{name}.actor"), f"{name.capitalize()}Actor")
    for name in ("memory", "solver", "advisory", "guard")
}


@pytest.mark.parametrize("name", ACTORS)
def test_an_actor_overrides_nothing_that_is_private_to_the_base(name):
    """Methods and state alike: one that took the base's place would stop its pings or end its process."""
    built = ACTORS[name]()
    own = {n for n in vars(Actor) if not n.startswith("__")} - {"name", "handlers", "start", "stop", "_abc_impl"}
    assert not own & set(vars(ACTORS[name]))
    assert {n for n in vars(built) if n in vars(bare())} <= {n for n in vars(bare()) if n.startswith("_Actor__")}


def bare():
    """An actor with nothing but the base's own state."""
    return type("Bare", (Actor,), {"name": "bare", "handlers": lambda self: {}})()


@pytest.mark.parametrize("name", ACTORS)
def test_an_actor_serves_exactly_the_actions_that_the_contract_gives_it(name):
    """No action without a handler, no handler without an action."""
    assert set(ACTORS[name]().handlers()) == set(contract.owned_by(name))
