"""Arguments of functions and global constraints as lists of terms."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dsl.faults import ExpressionError
from ..dsl.syntax import Node
from .terms import (
    Term,
    choose,
    integer,
    number,
)

if TYPE_CHECKING:
    from .encoder import Encoder, Env


def flat(encoder: "Encoder", node: Node, env: "Env") -> list[Term]:
    """The items of an argument that must be a list, row by row."""
    return encoder.listed(node, env).flat()


def plain(encoder: "Encoder", node: Node, env: "Env") -> list[Term]:
    """The items of a list as numbers; enum values as their place."""
    return [
        integer(term.value) if term.kind == "enum" else number(term)
        for term in map(encoder.compare.resolve, flat(encoder, node, env))
    ]


def equal(encoder: "Encoder", left: Term, right: Term) -> Any:
    """Whether two terms are equal, as a truth value."""
    return encoder.compare.equal(left, right)


def as_number(truth: Any) -> Term:
    """1 where it holds, else 0."""
    return choose(truth, integer(1), integer(0))


def same_length(*lists: Sequence[Any]) -> None:
    """Lists that stand together must be equally long.

    Raises:
        ExpressionError: when they are not.
    """
    if len({len(one) for one in lists}) > 1:
        raise ExpressionError(
            f"lists of {', '.join(str(len(one)) for one in lists)} items stand together", fix="make them equally long"
        )
