"""All undeclared names of a problem at once, before anything is encoded."""

from collections.abc import Iterator

from .declarations import Declarations
from .operators import canonical
from .problem import Item
from .syntax import Apply, Comprehension, Name, Node, children


def undeclared(declarations: Declarations, items: list[Item]) -> dict[str, list[Item]]:
    """Each name that nothing declares, with the items that use it, in order of first use."""
    known = set(declarations.names()) | {name.casefold() for name in declarations.members()}
    found: dict[str, list[Item]] = {}
    for item in items:
        for name in dict.fromkeys(free_names(item.node)):
            if name not in known and name.casefold() not in known:
                found.setdefault(name, []).append(item)
    return found


def free_names(node: Node, bound: frozenset[str] = frozenset()) -> Iterator[str]:
    """The names of a tree that no quantifier binds, functions not among them."""
    match node:
        case Name(text=text):
            if text not in bound:
                yield text
        case Comprehension(binders=binders, where=where, body=body):
            inner = bound
            for binder in binders:
                yield from free_names(binder.domain, inner)
                inner = inner | {binder.name}
            for part in (where, body):
                if part is not None:
                    yield from free_names(part, inner)
        case Apply() | Node():
            for child in children(node):
                yield from free_names(child, bound)


def unknown_calls(declarations: Declarations, node: Node) -> Iterator[Apply]:
    """Calls of functions that do not exist, outermost first."""
    if isinstance(node, Apply) and node.word and canonical(node.word) is None:
        symbol = declarations.symbols.get(node.word)
        if symbol is None or not symbol.indexes:
            yield node
    for child in children(node):
        yield from unknown_calls(declarations, child)
