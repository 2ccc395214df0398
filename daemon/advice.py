"""Advice on calls: asked of the advisory actor beside the work, and the daemon-wide texts it derives."""

import json
import logging
import uuid
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
from msgspec import Struct

from protocol import contract
from protocol.endpoints import advisory_file
from protocol.errors import Failure, Fault
from protocol.limits import ADVICE_WAIT_MS
from protocol.request import Request
from protocol.settings import enabled

from .actors import Actors, Errand

log = logging.getLogger("chrysalis")
_ENFORCED_WAIT_S = 2.0
_ENDED_MAX = 64
_ADVISED_DOMAINS = frozenset({"memory", "reason"})


class Advice(Struct, frozen=True):
    """What the advisory actor says of one call; `advisory` rides on the reply."""

    advisory: Any = None
    discouraged: bool = False


NO_ADVICE = Advice()


class Advisor:
    """Asks for advice and enforces it where the user wants that."""

    def __init__(self, actors: Actors) -> None:
        self._actors = actors
        self.enforce = enabled("CHRYSALIS_ENFORCE_ADVISORY")
        self._ended: deque[dict[str, str]] = deque(maxlen=_ENDED_MAX)

    async def consult(self, request: Request, errand: Errand) -> Advice:
        """Advice on a call; silence when the advisory actor is away or has none."""
        action = contract.BY_NAME.get("meta.consult")
        advisory = self._actors.supervised["advisory"]
        if action is None or not advisory.routable or request.action.domain not in _ADVISED_DOMAINS:
            return NO_ADVICE
        ended, self._ended = list(self._ended), deque(maxlen=_ENDED_MAX)
        question = {
            "domain": request.action.domain,
            "action": request.action.name,
            "params": request.raw,
            "context": {"ended": ended},
        }
        params = msgspec.convert(question, action.params)
        ask = Errand(id=uuid.uuid4().hex, session_id=errand.session_id, client=errand.client, deadline=errand.deadline)
        try:
            result = await self._actors.ask(action, params, ask)
        except Fault:
            return NO_ADVICE
        if isinstance(result, Failure):
            log.warning("advice failed: %s", result.message)
            return NO_ADVICE
        data = result.outcome.data or {}
        return Advice(data.get("advisory"), bool(data.get("discouraged")))

    def note_end(self, advisory: Any, outcome: str) -> None:
        """How a call ended that advice was given on: told to the outcome log with the next consultation."""
        if isinstance(advisory, dict) and advisory.get("advice_id"):
            self._ended.append({"advice_id": advisory["advice_id"], "outcome": outcome})

    async def permit(self, request: Request, errand: Errand) -> Advice | None:
        """With enforcement on, the advice asked for beforehand; None when it is off.

        Raises:
            Fault: discouraged, unless `params.override` is true.
        """
        if not self.enforce:
            return None
        advice = NO_ADVICE
        with anyio.move_on_after(_ENFORCED_WAIT_S):
            advice = await self.consult(request, errand)
        if advice.discouraged and not request.override:
            hint = advice.advisory.get("hint", "") if isinstance(advice.advisory, dict) else ""
            self.note_end(advice.advisory, "refused")
            raise Fault(
                "discouraged",
                f"{request.action.full_name} is discouraged for this model on this task. {hint}".strip(),
                next_action='Answer without it, or send it with "override": true in params.',
                details=advice.advisory,
            )
        return advice


class Consultation:
    """One consultation that runs beside the work it is about."""

    def __init__(self, advisor: Advisor, request: Request, errand: Errand) -> None:
        self._advisor, self._request, self._errand = advisor, request, errand
        self._done = anyio.Event()
        self._advice = NO_ADVICE

    async def run(self) -> None:
        """Ask, and keep the answer."""
        self._advice = await self._advisor.consult(self._request, self._errand)
        self._done.set()

    async def result(self) -> Advice:
        """The advice, waited for a moment at most."""
        with anyio.move_on_after(ADVICE_WAIT_MS / 1000):
            await self._done.wait()
        return self._advice


class Slot:
    """The daemon-wide advisory texts; bridges that have not connected yet read them from a file."""

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        self.text = ""
        self.instructions = ""
        self._tell = tell

    def take(self, body: dict[str, Any]) -> None:
        """New texts from the advisory actor; clients are told only when they changed."""
        text, instructions = str(body.get("slot", "")), str(body.get("instructions", ""))
        if (text, instructions) == (self.text, self.instructions):
            return
        self.text, self.instructions = text, instructions
        self._write()
        self._tell(text, instructions)

    def _write(self) -> None:
        path = Path(advisory_file())
        partial = path.with_suffix(".tmp")
        try:
            partial.write_text(json.dumps({"slot": self.text, "instructions": self.instructions}), encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            log.warning("%s cannot be written: %s", path, error)
