"""`smt2` requests: run a script that passed the allowlist, answer each check and each question in it."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import z3

from protocol.action import Outcome
from protocol.actions.reason import Checked, Judged, Solved, Violated

from ..clock import Budget
from ..dsl.faults import Defect, ProblemError
from ..dsl.problem import Item
from ..dsl.syntax import Truth
from ..report import sentence
from ..search.conflict import explain
from ..search.engine import Tracked
from . import values
from .allowlist import Command, Script, admit
from .reader import Atom, Group, head, read
from .session import Session, asked

Tell = Callable[[Outcome], None]
_CHECKS: Final = frozenset({"check-sat", "check-sat-assuming", "check-sat-using"})
_QUESTIONS: Final = frozenset(
    {
        "get-model",
        "get-value",
        "get-unsat-core",
        "get-unsat-assumptions",
        "get-objectives",
        "get-assertions",
        "get-assignment",
        "get-info",
        "get-option",
        "echo",
    }
)
_OBJECTIVES: Final = frozenset({"maximize", "minimize", "assert-soft"})
_OPTIMISING_SHARE: Final = 0.6
_FRAMES: Final = frozenset({"push", "pop", "reset", "reset-assertions", "check-sat-assuming"})
_CONFLICT_ASSERTS_MAX: Final = 300


def solve_script(params: Mapping[str, Any], budget: Budget, tell: Tell) -> Outcome:
    """Run a script; several check-sats give several results, the last one is the answer."""
    source = str(params["smt2"])
    script = admit(source)
    run = _Run(source, script, budget, tell)
    return run.outcome()


class _Run:
    def __init__(self, source: str, script: Script, budget: Budget, tell: Tell) -> None:
        self.source = source
        self.script = script
        self.budget = budget
        self.tell = tell
        self.notes = list(script.notes)
        names = {command.name for command in script.commands}
        self.optimises = bool(names & _OBJECTIVES)
        self.spent_s = 0.0
        self.session = Session(source, budget, cores=":named" in source or "get-unsat-core" in names)
        self.answer = Solved(result="unknown", reason="incomplete (no check-sat was run)")
        self.checks: list[Checked] = []

    def outcome(self) -> Outcome:
        commands = list(self.script.commands)
        if not any(command.name in _CHECKS for command in commands):
            self.notes.append("the script has no check-sat; one was run at its end")
            last = Group([], len(self.source), len(self.source))
            commands.append(Command(name="check-sat", text="(check-sat)", line=self.source.count("\n") + 1, group=last))
        for command in commands:
            if command.name in _CHECKS:
                self._check(command)
            elif command.name in _QUESTIONS:
                self._question(command)
            else:
                self.session.reply(command)
        if self.answer.result == "unsat" and self.answer.conflict is None:
            self._explain()
        return self._finish()

    def _set(self, **changes: Any) -> None:
        self.answer = msgspec.structs.replace(self.answer, **changes)

    def _finish(self) -> Outcome:
        several = len(self.checks) > 1
        self._set(checks=list(self.checks) if several else None)
        return sentence(self.answer, tuple(dict.fromkeys(self.notes)))

    def _check(self, command: Command) -> None:
        started = time.monotonic()
        result, reason = self.session.check(
            command.text, self.budget.share(_OPTIMISING_SHARE) if self.optimises else None
        )
        self.spent_s = time.monotonic() - started
        if self.optimises and result == "unknown":
            self._without_objectives(command)
            return
        self.answer = Solved(
            result="sat" if result == "sat" else "unsat" if result == "unsat" else "unknown", reason=reason
        )
        found: dict[str, Any] = {}
        if result == "sat":
            found = values.model(self.session.run("(get-model)"))
            self._set(model=found)
            if self.optimises:
                self._objectives()
        self.checks.append(Checked(command=command.name, line=command.line, result=result, reason=reason, model=found))
        self.tell(self._finish())

    def _without_objectives(self, command: Command) -> None:
        """The optimiser gave up: at least tell whether there is a solution at all."""
        plain = Session(self.source, self.budget, cores=False)
        for earlier in self.script.commands:
            if earlier is command:
                break
            if earlier.name not in _OBJECTIVES | _CHECKS | _QUESTIONS:
                plain.run(earlier.text)
        result, reason = plain.check()
        self.answer = Solved(
            result="sat" if result == "sat" else "unsat" if result == "unsat" else "unknown", reason=reason
        )
        found = values.model(plain.run("(get-model)")) if result == "sat" else {}
        if result == "sat":
            self._set(model=found, optimum="best_so_far")
            self.notes.append("the optimiser gave up in its time; this solution is not optimised")
        self.checks.append(Checked(command=command.name, line=command.line, result=result, reason=reason, model=found))
        self.tell(self._finish())

    def _question(self, command: Command) -> None:
        printed = self.session.run(command.text)
        answered: dict[str, Any] = {}
        if command.name == "get-value" and "error" not in printed:
            answered = values.pairs(printed)
        self.checks.append(Checked(command=command.name, line=command.line, result=asked(printed), model=answered))

    def _objectives(self) -> None:
        """What Z3 says of the objectives: a value, `oo`, or a value with epsilon."""
        printed = self.session.run("(get-objectives)")
        found: dict[str, Any] = {}
        optimum = "proved"
        for group in read(printed) if "error" not in printed else []:
            for pair in group.items if isinstance(group, Group) else []:
                if not (isinstance(pair, Group) and len(pair.items) == 2):  # noqa: PLR2004
                    continue
                term, value = pair.items
                text = printed[value.start : value.end] if isinstance(value, Group) else value.text
                label = values.plain(term.text) if isinstance(term, Atom) else asked(printed[term.start : term.end])
                found[label] = values.value(value, printed)
                if "oo" in text.split() or text in {"oo", "(* (- 1) oo)"} or " oo" in text:
                    optimum = "unbounded"
                elif "epsilon" in text:
                    optimum = "not_attained"
        if found:
            objective = next(iter(found.values())) if len(found) == 1 else found
            self._set(optimum=optimum, objective=None if optimum == "unbounded" else objective)

    def _explain(self) -> None:
        """A minimal conflict, for scripts that assert everything in one frame."""
        names = {command.name for command in self.script.commands}
        asserts = [command for command in self.script.commands if command.name == "assert"]
        if names & _FRAMES or not 0 < len(asserts) <= _CONFLICT_ASSERTS_MAX or self.budget.spent():
            return
        declared = "\n".join(
            command.text for command in self.script.commands if command.name.startswith(("declare", "define"))
        )
        items = [_item(command, self.source) for command in asserts]
        text = "\n".join(f"(assert {item.text})" for item in items)
        try:
            vector = z3.parse_smt2_string(declared + "\n" + text)
            parts = [vector[at] for at in range(len(vector))]
        except z3.Z3Exception:
            return
        if len(parts) == len(items):
            self._set(conflict=explain(Tracked([], parts, items), self.budget.sized(self.spent_s)))


def _item(command: Command, source: str) -> Item:
    """An assertion as an item, its name taken out."""
    body = command.group.items[1]
    name = f"line {command.line}"
    if isinstance(body, Group) and head(body) == "!":
        labels = [item.text for item in body.items[2:] if isinstance(item, Atom)]
        if ":named" in labels and labels.index(":named") + 1 < len(labels):
            name = values.plain(labels[labels.index(":named") + 1])
        body = body.items[1]
    end = body.end if isinstance(body, Group) else body.start + len(body.text)
    return Item(where=f"smt2 line {command.line}", name=name, text=source[body.start : end], node=Truth(value=True))


def check_script(params: Mapping[str, Any], budget: Budget) -> Outcome:
    """Check values against the assertions of a script: which of them fail with these values."""
    source = str(params["smt2"])
    script = admit(source)
    proposed = params.get("assignment")
    if not isinstance(proposed, dict):
        raise ProblemError(
            [Defect(where="assignment", problem="this is not an assignment", fix='give name -> value: {"x": 3}')]
        )
    declared = [command for command in script.commands if command.name.startswith(("declare", "define"))]
    asserts = [command for command in script.commands if command.name == "assert"]
    names = {values.plain(one.group.items[1].text) for one in declared if isinstance(one.group.items[1], Atom)}
    unknown = [name for name in proposed if name not in names]
    if unknown:
        raise ProblemError(
            [
                Defect(where=f"assignment.{name}"[:100], problem=f"{name!r} is not declared", fix="use declared names")
                for name in unknown
            ]
        )
    session = Session(source, budget, cores=False)
    for command in declared:
        session.reply(command)
    for name, value in proposed.items():
        session.run(f"(assert (= |{name}| {_literal(name, value)}))")
    broken: list[Violated] = []
    for command in asserts:
        item = _item(command, source)
        session.run("(push 1)")
        session.run(f"(assert {item.text})")
        result, _ = session.check()
        session.run("(pop 1)")
        if result == "unsat":
            broken.append(Violated(name=item.name, text=item.text))
    for command in asserts:
        session.reply(command)
    result, reason = session.check()
    missing = sorted(names - set(proposed))
    word = (
        "violated"
        if broken or result == "unsat"
        else "unknown"
        if result == "unknown"
        else "incomplete"
        if missing
        else "holds"
    )
    judged = Judged(
        result=word,
        violated=broken,
        unassigned=missing,
        completable=result == "sat" if missing and result != "unknown" else None,
        reason=reason,
    )
    summary = {
        "holds": "The values satisfy every assertion.",
        "violated": "The values violate assertions.",
        "incomplete": "Nothing is violated so far.",
    }
    return Outcome(
        summary=summary.get(word, f"Unknown ({reason})."),
        data=judged,
        notes=tuple(script.notes),
        partial=word == "unknown",
    )


def _literal(name: str, value: Any) -> str:
    """A JSON value as an SMT-LIB term; text must itself be one plain term."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if value >= 0 else f"(- {-value})"
        case float():
            return f"{value:.12f}" if value >= 0 else f"(- {-value:.12f})"
        case str():
            terms = read(value)
            if len(terms) == 1:
                return value
        case _:
            pass
    raise ProblemError(
        [
            Defect(
                where=f"assignment.{name}"[:100],
                text=str(value)[:100],
                problem="this is no value",
                fix="give a number, a truth value or a term",
            )
        ]
    )
