"""Z3 as an SMT-LIB session: one command after the other, each answer beside its command."""

import re
from typing import Any

import z3
from msgspec import Struct

from ..clock import Budget
from ..dsl.faults import ProblemError
from ..search.engine import reason_of
from .allowlist import Command
from .reader import fault

_ERROR = re.compile(r'\(error "(?:line \d+ column \d+: )?(?P<text>(?:[^"]|"")*)"\)')


_prepared: list[z3.Context] = []


def prepare() -> None:
    """Make the context of the first session beforehand: half of a small script's time, measured (12 of 22 ms)."""
    _prepared.append(z3.Context())


class Reply(Struct, frozen=True):
    """What Z3 printed for one command."""

    command: Command
    text: str


class Session:
    """A context of its own, fed one admitted command at a time."""

    def __init__(self, source: str, budget: Budget, *, cores: bool) -> None:
        self._source = source
        self._budget = budget
        self._context = _prepared.pop() if _prepared else z3.Context()
        if cores:
            self.run("(set-option :produce-unsat-cores true)")

    def run(self, text: str) -> str:
        """What Z3 prints for a command of ours or an admitted one."""
        try:
            return str(z3.Z3_eval_smtlib2_string(self._context.ref(), text)).strip()
        except z3.Z3Exception as error:
            said = error.value
            return said.decode("utf-8", "replace").strip() if isinstance(said, bytes) else str(said)

    def check(self, text: str = "(check-sat)", budget: Budget | None = None) -> tuple[str, str]:
        """The result of a check within what is left of the budget, and the reason when unknown."""
        budget = budget or self._budget
        if budget.spent():
            return "unknown", "timeout"
        self.run(f"(set-option :timeout {budget.left_ms()})")
        printed = self.run(text)
        result = next((line for line in printed.split() if line in {"sat", "unsat", "unknown"}), "unknown")
        if result != "unknown":
            return result, ""
        return "unknown", reason_of(self.run("(get-info :reason-unknown)") if "error" not in printed else printed)

    def reply(self, command: Command) -> Reply:
        """Run one admitted command.

        Raises:
            ProblemError: when Z3 refuses it; with our line and column.
        """
        printed = self.run(command.text) if command.text else ""
        found = _ERROR.search(printed)
        if found is not None:
            raise self._refused(command, found["text"])
        return Reply(command, printed)

    def _refused(self, command: Command, said: str) -> ProblemError:
        return fault(self._source, command.group.start, said.replace('""', '"')[:300], "correct this command")


def asked(text: Any) -> str:
    """A printed answer on one line."""
    return " ".join(str(text).split())[:4000]
