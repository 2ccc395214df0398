"""`python -m actors.advisory`: the advisory actor's process."""

from actors.base import run_actor

from .actor import AdvisoryActor

run_actor(AdvisoryActor())
