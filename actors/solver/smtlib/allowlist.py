"""Which commands and options of SMT-LIB reach Z3. Everything else is an error that names its place.

Measured on Z3 5.4.1: unknown commands are ignored and `sat` is answered; `:regular-output-channel`,
`:diagnostic-output-channel` and `:sat.drat.file` write files; options outlive the script that set them.
"""

import re
from typing import Final

from msgspec import Struct

from ..dsl.faults import Defect, ProblemError, near
from .reader import Atom, Expression, Group, head, place, read

COMMANDS: Final = frozenset(
    [
        "set-logic",
        "set-info",
        "set-option",
        "declare-const",
        "declare-fun",
        "declare-sort",
        "declare-datatype",
        "declare-datatypes",
        "define-fun",
        "define-fun-rec",
        "define-funs-rec",
        "define-const",
        "define-sort",
        "assert",
        "assert-soft",
        "maximize",
        "minimize",
        "check-sat",
        "check-sat-assuming",
        "check-sat-using",
        "get-model",
        "get-value",
        "get-unsat-core",
        "get-unsat-assumptions",
        "get-assertions",
        "get-assignment",
        "get-info",
        "get-option",
        "get-objectives",
        "get-proof",
        "echo",
        "push",
        "pop",
        "reset",
        "reset-assertions",
        "exit",
    ]
)
_MEANT: Final[dict[str, str]] = {
    "include": "paste the text of the file",
    "eval": "use (get-value (term)) after (check-sat)",
    "simplify": "use (get-value (term)) after (check-sat)",
    "display": "use (get-value (term)) after (check-sat)",
    "help": "the commands are those of SMT-LIB 2.6 with maximize, minimize and assert-soft",
}
_PASSED_OPTIONS: Final = frozenset(
    {
        ":produce-models",
        ":produce-unsat-cores",
        ":produce-assignments",
        ":produce-unsat-assumptions",
        ":produce-assertions",
    }
)
_PRIORITIES: Final = frozenset({"lex", "box", "pareto"})
_DANGEROUS: Final = re.compile(r"file|channel|(?<!data)log|dump|trace|path|memory|timeout|rlimit|dot", re.IGNORECASE)
_TUNING: Final = re.compile(
    r"^:(?:(?:smt|sat|nlsat|rewriter|opt|fp|parallel|tactic|model|combined_solver|solver|pp|algebraic|sls|lp|parser|ackermannization|rcf|euf)\.[\w.-]+"
    r"|proof|model|model_validate|model-validate|auto[-_]config|random[-_]seed|verbosity|unsat_core|produce-proofs|produce-interpolants|print-success"
    r"|global-declarations|interactive-mode|reproducible-resource-limit|well_sorted_check|type_check|stats|debug_ref_count|mbqi|macro-finder"
    r"|pull-nested-quantifiers|relevancy|opt\.[\w.]+|smtlib2_compliant|encoding|dt_[\w.]+|threads|warning|error-behavior|case_split|trace)$"
)


class Command(Struct, frozen=True, kw_only=True):
    """One command that may be run. `text` is what Z3 gets, "" when it is only noted."""

    name: str
    text: str
    line: int
    group: Group


class Script(Struct, kw_only=True):
    """A script that passed, and what was left out of it."""

    commands: list[Command]
    notes: list[str]


def admit(text: str) -> Script:
    """Read a script and check every command; faults are collected, not only the first told.

    Raises:
        ProblemError: with line and column of each command and option that is not admitted.
    """
    script = Script(commands=[], notes=[])
    defects: list[Defect] = []
    for expression in read(text):
        line, column = place(text, expression.start)
        problem, fix = _objection(expression)
        if problem:
            shown = text[expression.start : expression.start + 60].split("\n", maxsplit=1)[0]
            defects.append(Defect(where=f"smt2 line {line}", column=column, text=shown, problem=problem, fix=fix))
            continue
        assert isinstance(expression, Group)
        name = head(expression)
        script.commands.append(
            Command(name=name, text=_passed(expression, text, line, script.notes), line=line, group=expression)
        )
        if name == "exit":
            break
    if defects:
        raise ProblemError(defects)
    return script


def _objection(expression: Expression) -> tuple[str, str]:
    if isinstance(expression, Atom):
        return f"{expression.text[:40]!r} stands outside of any command", "write commands in brackets: (assert …)"
    name = head(expression)
    if not name:
        return "a command begins with a word", "write commands as (assert …)"
    if name not in COMMANDS:
        close = near(name, COMMANDS)
        meant = _MEANT.get(name) or (f"did you mean {close[0]}?" if close else "use a command of SMT-LIB 2")
        return f"the command {name[:40]!r} is not admitted", meant
    if name == "set-option":
        return _option_objection(expression)
    return "", ""


def _option_objection(group: Group) -> tuple[str, str]:
    option = group.items[1].text if len(group.items) > 1 and isinstance(group.items[1], Atom) else ""
    if option in _PASSED_OPTIONS or option == ":trace" or (_TUNING.match(option) and not _DANGEROUS.search(option)):
        return "", ""
    if option in {":timeout", ":rlimit"}:
        return f"the option {option} is set by us", "use the parameter timeout_ms"
    if _DANGEROUS.search(option):
        return f"the option {option[:60]!r} reaches files, limits or logs and is not admitted", "remove it"
    close = near(option, _PASSED_OPTIONS)
    return f"the option {option[:60]!r} is not known", f"did you mean {close[0]}?" if close else "remove it"


def _passed(group: Group, text: str, line: int, notes: list[str]) -> str:
    """What Z3 gets for an admitted command."""
    name = head(group)
    if name == "set-option":
        option = group.items[1]
        assert isinstance(option, Atom)
        if option.text == ":opt.priority" and len(group.items) > 2 and isinstance(group.items[2], Atom):  # noqa: PLR2004
            return f"(set-option :opt.priority {group.items[2].text})" if group.items[2].text in _PRIORITIES else ""
        if option.text not in _PASSED_OPTIONS:
            notes.append(f"line {line}: the option {option.text} tunes the solver and was left out")
            return ""
    if name in {"set-info", "exit", "get-proof"}:
        return ""
    return text[group.start : group.end]
