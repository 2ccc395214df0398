"""From the raw arguments of a call to the envelope it is answered with, whatever happens on the way."""

import logging
import time
from collections import OrderedDict

import anyio
import msgspec
from msgspec import Struct

from protocol import envelope
from protocol.errors import RETRYABLE, Failure, Fault
from protocol.limits import DEADLINE_MAX_MS, REPLAY_MAX_AGE_S, REPLAY_MAX_ENTRIES
from protocol.messages import Call
from protocol.request import Request, decode_arguments, parse

from .actors import Errand
from .flights import OnStep
from .perform import Performer, Served, Task
from .references import resolve
from .sessions import Session, Sessions

log = logging.getLogger("chrysalis")


class Caller(Struct, frozen=True, kw_only=True):
    """Who calls: the client's name, whether it is the operator's, and where progress goes."""

    name: str
    operator: bool = False
    readonly: bool = False
    on_step: OnStep | None = None


class Packed(Struct, frozen=True):
    """An envelope ready to send."""

    body: bytes
    is_error: bool
    final: bool = True
    """False for an error that a retry under the same id may mend: such an answer is not replayed."""


class Answers:
    """Serves calls; keeps the last answers so that a call sent twice is answered twice and done once."""

    def __init__(self, performer: Performer, sessions: Sessions, *, readonly: bool) -> None:
        self._performer = performer
        self._sessions = sessions
        self._readonly = readonly
        self._sent: OrderedDict[str, tuple[float, Packed]] = OrderedDict()

    async def answer(self, call: Call, caller: Caller) -> Packed:
        """Serve one call, within its deadline."""
        if call.id in self._sent:
            return self._sent[call.id][1]
        packed = await self._serve(call, caller)
        if packed.final:
            self._remember(call.id, packed)
        return packed

    def _remember(self, call_id: str, packed: Packed) -> None:
        now = time.monotonic()
        self._sent[call_id] = (now, packed)
        while self._sent:
            oldest, (at, _) = next(iter(self._sent.items()))
            if len(self._sent) <= REPLAY_MAX_ENTRIES and now - at < REPLAY_MAX_AGE_S:
                return
            del self._sent[oldest]

    async def _serve(self, call: Call, caller: Caller) -> Packed:
        started = time.monotonic()
        verbosity, telemetry, what = "summary", None, "unparsed"
        session = self._sessions.get(f"default:{caller.name}")
        notes: tuple[str, ...] = ()
        try:
            arguments = decode_arguments(call.arguments)
            if isinstance(arguments.get("session_id"), str) and arguments["session_id"].strip():
                session = self._sessions.get(arguments["session_id"].strip()[:200])
            request = parse(
                arguments,
                operator=caller.operator,
                readonly=self._readonly or caller.readonly,
                resolve=lambda params: resolve(params, session.cache.get),
            )
            verbosity, telemetry, what = request.verbosity, request.telemetry, request.action.full_name
            notes = request.notes
            reply = await self._reply(request, session, call, caller)
        except Fault as fault:
            reply = envelope.of_failure(fault.failure, notes=notes, verbosity=verbosity)
        except Exception as error:
            log.exception("%s failed inside the daemon", what)
            reply = envelope.of_failure(internal(what, error), notes=notes, verbosity=verbosity)
        ms = (time.monotonic() - started) * 1000
        error = reply.data.get("code") if reply.status == "error" else None
        for figures in (session.figures, self._sessions.figures):
            figures.count(what, ms, error)
        body = envelope.pack(reply, verbosity, telemetry, call.id, ms)
        return Packed(body, reply.status == "error", final=error not in RETRYABLE)

    async def _reply(self, request: Request, session: Session, call: Call, caller: Caller) -> envelope.Envelope:
        if request.cursor:
            return self._go_on(request, session)
        limit_ms = min(call.deadline_ms or request.action.deadline_ms, DEADLINE_MAX_MS)
        deadline = time.monotonic() + limit_ms / 1000
        errand = Errand(
            id=request.request_id or call.id,
            session_id=session.id,
            agent_id=request.agent_id,
            client=caller.name,
            operator=caller.operator,
            readonly=self._readonly or caller.readonly,
            deadline=deadline,
            on_step=caller.on_step,
        )
        served: Served | None = None
        with anyio.move_on_after(limit_ms / 1000):
            served = await self._performer.perform(Task(request=request, session=session, errand=errand))
        if served is None:
            raise timed_out(request, limit_ms)
        return self._wrap(request, session, served)

    def _wrap(self, request: Request, session: Session, served: Served) -> envelope.Envelope:
        result = served.result
        if isinstance(result, Failure):
            return envelope.of_failure(
                result, notes=request.notes, advisory=served.advisory, verbosity=request.verbosity
            )
        data = msgspec.to_builtins(result.data)
        notes = request.notes
        if request.store_as and not session.cache.put(request.store_as, data):
            notes += (f"The result is too large to keep as {request.store_as!r}.",)
        kept, cuts = envelope.fit(data, request.verbosity)
        reply = envelope.of_outcome(result, notes=notes, advisory=served.advisory, data=kept)
        if not cuts:
            return reply
        cursor = session.keep_rest(data, cuts, result.summary)
        return msgspec.structs.replace(reply, truncated=True, cursor=cursor)

    def _go_on(self, request: Request, session: Session) -> envelope.Envelope:
        rest = session.take_rest(request.cursor)
        part, cuts = envelope.go_on(rest.data, rest.cuts, request.verbosity)
        cursor = session.keep_rest(rest.data, cuts, rest.summary) if cuts else None
        return envelope.Envelope(
            status="ok",
            severity="INFO",
            summary=f"Continued: {rest.summary}",
            data=part,
            notes=request.notes,
            truncated=bool(cuts),
            cursor=cursor,
        )


def internal(what: str, error: Exception) -> Failure:
    """The failure for a fault of our own: the one call it hit is answered, the daemon goes on."""
    text = f"{what} failed inside the daemon: {type(error).__name__}: {error}"
    return Fault("internal", text, next_action="Please report this with the daemon's log.").failure


def timed_out(request: Request, limit_ms: int) -> Fault:
    """The Fault for work that did not end in time."""
    return Fault(
        "timeout",
        f"{request.action.full_name} did not end within {limit_ms / 1000:g} s and was stopped.",
        next_action="Ask for less, or allow more time where the action has timeout_ms.",
    )
