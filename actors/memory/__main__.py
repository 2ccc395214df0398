"""`python -m actors.memory`: the memory actor's process."""

from actors.base import run_actor

from .actor import MemoryActor

run_actor(MemoryActor())
