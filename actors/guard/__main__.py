"""`python -m actors.guard`: the guard actor's process."""

from actors.base import run_actor

from .actor import GuardActor

run_actor(GuardActor())
