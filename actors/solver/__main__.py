"""`python -m actors.solver`: the solver actor's process."""

from actors.base import run_actor

from .actor import SolverActor

run_actor(SolverActor())
