"""Logic-LM programs read into problems (second form follows)."""

from .problem import Problem


def read_program(text: str) -> Problem:
    raise NotImplementedError(text)
