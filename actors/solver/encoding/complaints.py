"""The faults of names and calls, with near matches and what to write instead."""

from ..dsl.declarations import Declarations
from ..dsl.faults import ExpressionError, near
from ..dsl.operators import ARITY, EXAMPLES, known_words
from ..dsl.syntax import Apply, Comprehension
from ..dsl.syntax import Sequence as ListNode
from ..dsl.types import EnumType, IntType, finite, spell

_MANY = 99
_CHAINS = frozenset({"=", "distinct", "<", "<=", ">", ">="})


def undeclared(declarations: Declarations, text: str) -> ExpressionError:
    """The error for a name that nothing declares, with near matches and the line to add."""
    close = near(text, declarations.names())
    first = f"did you mean {' or '.join(close)}? otherwise " if close else ""
    enums = [symbol.name for symbol in declarations.symbols.values() if isinstance(symbol.type, EnumType)]
    add_to = f', or add "{text}" to the values of {enums[0]}' if enums else ""
    line = f'"{text}": "{_usual(declarations)}"'
    return ExpressionError(
        f"{text!r} is not declared",
        fix=f'{first}add to vars: {line} (or "bool"){add_to}',
        example="" if first or add_to else line,
    )


def _usual(declarations: Declarations) -> str:
    """The type of every integer variable there is, where they have one; else an example of a type."""
    plain = [symbol.type for symbol in declarations.symbols.values() if not symbol.indexes]
    kinds = {kind for kind in plain if isinstance(kind, IntType) and not kind.values and finite(kind)}
    return spell(kinds.pop()) if len(kinds) == 1 else "int 1..5"


def unknown_function(declarations: Declarations, node: Apply) -> ExpressionError:
    """The error for a call of what is no function."""
    if node.op in declarations.symbols:
        return ExpressionError(f"{node.op} is a plain variable and takes no arguments", fix=f"write {node.op} alone")
    close = near(node.op, [*known_words(), *declarations.symbols])
    fix = (
        f"did you mean {' or '.join(close)}?" if close else "use the functions that are listed; nothing is run as code"
    )
    return ExpressionError(f"the function {node.op!r} does not exist", fix=fix)


def check_arity(node: Apply) -> None:
    """Whether an operation has as many arguments as it takes.

    Raises:
        ExpressionError: with an example of how it is used.
    """
    listed = len(node.args) == 1 and isinstance(node.args[0], Comprehension | ListNode)
    if listed and node.op in _CHAINS:
        return
    fewest, most = ARITY.get(node.op, (0, 10**6))
    if not fewest <= len(node.args) <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}" if most < _MANY else f"at least {fewest}"
        example = EXAMPLES.get(node.op, "")
        raise ExpressionError(
            f"{node.word or node.op} takes {wanted} arguments, not {len(node.args)}",
            fix=f"write {example}" if example else "give it the arguments it takes",
            example=example,
        )
