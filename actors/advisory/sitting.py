"""One calibration under way: items handed out, answers graded once, the next items. Pure; kept by the store."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from protocol.actions.advisory import CalibrationResult
from protocol.errors import Fault, ParamFault

from .calibration import EXPIRES_S, Focus, next_families, result
from .probes import Item, grade, make_item


class Sitting(Struct, frozen=True, kw_only=True):
    """A calibration: `pending` awaits answers, `answered` is graded; done when nothing is pending."""

    nonce: str
    focus: Focus
    started_ns: int
    pending: tuple[Item, ...] = ()
    answered: tuple[tuple[str, bool | None], ...] = ()

    @property
    def done(self) -> bool:
        return not self.pending

    def expires_s(self, now_ns: int) -> int:
        """Seconds until it is void; negative when it is."""
        return EXPIRES_S - (now_ns - self.started_ns) // 10**9

    def result(self) -> CalibrationResult:
        """What the answers show."""
        return result(self.focus, self.answered)


def begin(secret: bytes, nonce: str, focus: Focus, now_ns: int) -> Sitting:
    """A new calibration with its first items. `nonce` must never be used twice."""
    return _ask(Sitting(nonce=nonce, focus=focus, started_ns=now_ns), secret)


def answer(sitting: Sitting, answers: Mapping[str, Any] | Sequence[Any], secret: bytes) -> Sitting:
    """Grade the answers given; items left out stay pending, else the next are asked.

    Raises:
        Fault: invalid_params when an answer belongs to no pending item, or there is none.
    """
    given = _by_id(sitting.pending, answers)
    graded = [(item.family, grade(item, given[item.id])) for item in sitting.pending if item.id in given]
    left = tuple(item for item in sitting.pending if item.id not in given)
    sitting = msgspec.structs.replace(sitting, pending=left, answered=(*sitting.answered, *graded))
    return sitting if left else _ask(sitting, secret)


def _ask(sitting: Sitting, secret: bytes) -> Sitting:
    families = next_families(sitting.focus, sitting.answered)
    made = len(sitting.answered)
    items = tuple(make_item(secret, sitting.nonce, made + i, family) for i, family in enumerate(families))
    return msgspec.structs.replace(sitting, pending=items)


def _by_id(pending: Sequence[Item], answers: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
    wanted = [item.id for item in pending]
    given = answers if isinstance(answers, Mapping) else dict(zip(wanted, answers, strict=False))
    foreign = [key for key in given if key not in wanted]
    if given and not foreign and (isinstance(answers, Mapping) or len(answers) <= len(wanted)):
        return given
    problem = f"no such item is open: {', '.join(foreign)}" if foreign else "one answer for each open item is needed"
    raise Fault(
        "invalid_params",
        f"The answers do not fit the items: {problem}.",
        next_action=f"Answer {', '.join(wanted)}, each once.",
        faults=(ParamFault("answers", problem, "item id → answer", dict.fromkeys(wanted, "your answer")),),
    )
