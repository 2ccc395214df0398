"""Names that are declared in another case: `Gus` where only `gus` is declared is read as that, and the user is told.

Small models write `Gus` in one line and `gus` in the next. What is declared exactly, or twice but for its case, is
never touched.
"""

from collections.abc import Mapping

import msgspec

from .declarations import Declarations
from .names import free_names
from .operators import canonical
from .problem import Item, Problem
from .syntax import Apply, Comprehension, Name, Node, children, replaced


def respelled(problem: Problem) -> Problem:
    """The problem with such names as they are declared; each is told in the notes."""
    meant = _meant(problem.declarations)
    notes: list[str] = []

    def read(item: Item) -> Item:
        found = _wrong(item.node, problem.declarations, meant)
        if not found:
            return item
        notes.extend(f"{item.where}: {name} was read as {found[name]}, which is declared" for name in found)
        return msgspec.structs.replace(item, node=replaced(item.node, lambda node: _changed(node, found)))

    return msgspec.structs.replace(
        problem,
        constraints=[read(item) for item in problem.constraints],
        soft=[read(item) for item in problem.soft],
        options=[read(item) for item in problem.options],
        objective=None if problem.objective is None else read(problem.objective),
        notes=[*problem.notes, *notes],
    )


def _meant(declarations: Declarations) -> dict[str, str]:
    """Declared names by their folded form, where one alone folds to it."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(declarations.names()):
        found.setdefault(name.casefold(), []).append(name)
    return {folded: names[0] for folded, names in found.items() if len(names) == 1}


def _wrong(node: Node, declarations: Declarations, meant: Mapping[str, str]) -> dict[str, str]:
    """Free names and calls of the tree that nothing declares, with the name that is meant."""
    known = {*declarations.names(), *_bound(node)}
    written = [*free_names(node), *_called(node)]
    return {
        name: meant[name.casefold()]
        for name in dict.fromkeys(written)
        if name not in known and name.casefold() in meant and not declarations.enums_with(name)
    }


def _bound(node: Node) -> set[str]:
    """Names that some quantifier of the tree binds."""
    own = {binder.name for binder in node.binders} if isinstance(node, Comprehension) else set[str]()
    return own.union(*(_bound(child) for child in children(node)))


def _called(node: Node) -> list[str]:
    """Functions called that are none of the language's."""
    own = [node.op] if isinstance(node, Apply) and node.word and canonical(node.word) is None else []
    return own + [name for child in children(node) for name in _called(child)]


def _changed(node: Node, found: Mapping[str, str]) -> Node:
    match node:
        case Name(text=text, quoted=False, column=column) if text in found:
            return Name(found[text], column=column)
        case Apply(op, args, column, word) if word and op in found:
            return Apply(found[op], args, column, found[op])
        case _:
            return node
