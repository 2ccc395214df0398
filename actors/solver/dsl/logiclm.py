"""Logic-LM's two program forms for constraint problems, read into the same problem as everything else.

Form one (LogicalDeduction): `Domain:`, `Variables:` with `name [IN] [1, 2]`, `Constraints:`, `Query:` with `A) …`.
Form two (AR-LSAT): `# Declarations` with EnumSort and Function, `# Constraints`, `# Options` with is_valid, is_sat,
is_unsat and is_exception around each statement. Source: Pan et al., arXiv 2305.12295, and their prompts.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from .declarations import Declarations, declare
from .faults import Defect, ProblemError, near
from .problem import Ask, Item, Problem, Reader
from .syntax import Apply, Name, Node, Sequence, Truth, replaced

_SECTIONS: Final = {
    "domain": "domain",
    "variables": "variables",
    "declarations": "declarations",
    "constraints": "constraints",
    "query": "options",
    "options": "options",
}
_HEADER: Final = re.compile(r"^\s*#*\s*(\w+)\s*:?\s*$")
_VARIABLE: Final = re.compile(r"^\s*(?P<name>.+?)\s*\[IN\]\s*\[(?P<values>.*)\]\s*$", re.IGNORECASE)
_ENUM: Final = re.compile(r"^\s*(?P<name>\w+)\s*=\s*EnumSort\(\s*\[(?P<members>.*)\]\s*\)\s*$")
_INTS: Final = re.compile(r"^\s*(?P<name>\w+)\s*=\s*IntSort\(\s*\[(?P<members>.*)\]\s*\)\s*$")
_FUNCTION: Final = re.compile(
    r"^\s*(?P<name>\w+)\s*=\s*Function\(\s*\[?(?P<from>[^\]]*?)\]?\s*->\s*\[?(?P<to>[^\]]*?)\]?\s*\)\s*$"
)
_LABEL: Final = re.compile(r"^\s*\(?([A-Z])[).:]\s*")
_ASKS: Final[dict[str, Ask]] = {"isvalid": "must", "issat": "may", "isunsat": "cannot"}
_OPPOSITE: Final[dict[Ask, Ask]] = {
    "must": "not_must",
    "may": "cannot",
    "cannot": "may",
    "not_must": "must",
    "accurate": "accurate",
}


class Line:
    """One line of a program: its text, the sentence behind `:::`, where it stands."""

    def __init__(self, number: int, text: str) -> None:
        self.where = f"program line {number}"
        body, _, note = text.partition(":::")
        self.text, self.note = body.strip(), note.strip()


def read_program(text: str) -> Problem:
    """Read a program of either form.

    Raises:
        ProblemError: every line that is not understood, with its number.
    """
    sections: dict[str, list[Line]] = {name: [] for name in _SECTIONS.values()}
    for name, line in _lines(text):
        sections[name].append(line)
    reader = Reader()
    if not (sections["variables"] or sections["declarations"]):
        reader.defects.append(
            Defect(where="program", problem="no variables are declared", fix="begin with Variables: or # Declarations")
        )
        raise ProblemError(reader.defects)
    declarations = _declare(reader, sections)
    constraints = [item for line in sections["constraints"] if (item := _constraint(reader, line))]
    options = [item for line in sections["options"] if (item := _option(reader, line))]
    if reader.defects:
        raise ProblemError(reader.defects)
    constraints = [_total(declarations, item, reader.notes) for item in constraints]
    options = [_total(declarations, item, reader.notes) for item in options]
    return Problem(declarations=declarations, constraints=constraints, options=options, notes=reader.notes)


def _lines(text: str) -> Iterator[tuple[str, Line]]:
    section = "declarations"
    for number, raw in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(raw)
        if header is not None and header[1].lower() in _SECTIONS:
            section = _SECTIONS[header[1].lower()]
        elif raw.strip() and not raw.strip().startswith("#"):
            yield section, Line(number, raw)


def _declare(reader: Reader, sections: dict[str, list[Line]]) -> Declarations:
    """Declarations of both forms; what is neither enum nor function there is a constraint."""
    variables: dict[str, Any] = {}
    sets: dict[str, Any] = {}
    for line in sections["variables"]:
        found = _VARIABLE.match(line.text)
        if found is None:
            _fault(reader, line, "this declares no variable", "write name [IN] [1, 2, 3]")
        else:
            variables[found["name"].strip()] = _values(found["values"])
    for line in sections["declarations"]:
        if (found := _ENUM.match(line.text) or _INTS.match(line.text)) is not None:
            sets[found["name"]] = _values(found["members"])
        elif (found := _FUNCTION.match(line.text)) is not None:
            arguments, result = found["from"].strip(), found["to"].strip()
            variables[found["name"]] = f"({arguments}) -> {result}" if arguments else result
        elif "=" in line.text and re.match(r"^\s*\w+\s*=[^=]", line.text):
            _fault(reader, line, "this declares nothing known", "use EnumSort([a, b]) or Function([sort] -> [sort])")
        else:
            sections["constraints"].append(line)
    try:
        return declare(variables, sets)
    except ProblemError as error:
        reader.defects.extend(error.defects)
        return Declarations()


def _values(text: str) -> Any:
    """The items of a list: all integers, or names."""
    items = [item.strip().strip("\"'") for item in text.split(",") if item.strip()]
    if items and all(re.fullmatch(r"-?\d{1,9}", item) for item in items):
        numbers = sorted({int(item) for item in items})
        return f"int {numbers[0]}..{numbers[-1]}" if numbers[-1] - numbers[0] + 1 == len(numbers) else numbers
    return items


def _constraint(reader: Reader, line: Line) -> Item | None:
    return reader.item(line.where, f"line {line.where.split()[-1]}", {"expr": line.text, "note": line.note})


def _total(declarations: Declarations, item: Item, notes: list[str]) -> Item:
    """Functions are total here: nothing equals None unless None is declared."""
    if "None" not in item.text or "None" in declarations.names():
        return item

    def change(node: Node) -> Node:
        if isinstance(node, Apply) and node.op in {"=", "distinct"} and any(_is_none(arg) for arg in node.args):
            notes.append(f"{item.where}: every function has a value, so nothing equals None")
            return Truth(node.op == "distinct", node.column)
        return node

    return msgspec.structs.replace(item, node=replaced(item.node, change))


def _is_none(node: Node) -> bool:
    return isinstance(node, Name) and node.text == "None"


def _option(reader: Reader, line: Line) -> Item | None:
    """An option: `A) statement`, or `is_valid(statement) ::: (A)`; the question itself is skipped."""
    label = _LABEL.match(line.text)
    if label is not None:
        return reader.item(line.where, label[1], {"expr": line.text[label.end() :], "note": line.note})
    if re.match(r"^\s*question\b", line.text, re.IGNORECASE):
        return None
    item = reader.item(line.where, _letter(line.note), {"expr": line.text, "note": line.note})
    if item is None:
        return None
    ask, statement = _asked(item.node)
    if ask is None:
        word = item.node.word if isinstance(item.node, Apply) else line.text[:30]
        close = near(word, ["is_valid", "is_sat", "is_unsat", "is_exception"])
        hint = (
            f"did you mean {close[0]}?"
            if close
            else "use is_valid, is_sat, is_unsat or is_exception(…) around the statement"
        )
        _fault(reader, line, f"{word!r} asks nothing known", hint)
        return None
    also: tuple[Node, ...] = ()
    if ask == "accurate" and isinstance(statement, Sequence):
        also, statement = statement.items, Apply("or", statement.items)
    return Item(where=item.where, name=item.name, text=item.text, node=statement, note=item.note, ask=ask, also=also)


def _letter(note: str) -> str:
    found = re.search(r"\(?([A-Z])\)?", note)
    return found[1] if found else note[:20] or "?"


def _asked(node: Node) -> tuple[Ask | None, Node]:
    """What an option asks of which statement."""
    if not isinstance(node, Apply) or len(node.args) != 1:
        return None, node
    word = node.word.replace("_", "").lower()
    if word in _ASKS:
        return _ASKS[word], node.args[0]
    if word == "isexception":
        inner, statement = _asked(node.args[0])
        return (_OPPOSITE[inner], statement) if inner is not None else ("not_must", node.args[0])
    if word == "isaccuratelist":
        return "accurate", node.args[0]
    return None, node


def _fault(reader: Reader, line: Line, problem: str, fix: str) -> None:
    reader.defects.append(Defect(where=line.where, text=line.text[:200], problem=problem, fix=fix))
