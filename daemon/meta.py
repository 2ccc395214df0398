"""The meta actions that the daemon serves itself: schema, discover, stats."""

import uuid
from collections.abc import Mapping
from typing import Any

import anyio
import msgspec

from protocol import contract
from protocol.action import Action, Outcome, Params
from protocol.actions.meta import ActionSchema, Discovered, Schema, Schemas, Stats, StatsResult
from protocol.errors import Failure, Fault
from protocol.validate import params_table

from .actors import Actors, Errand
from .perform import Task
from .sessions import Sessions

VERSION = "0.1.0"
_DETAILS = {"memory.stats": "memory", "meta.advisory_stats": "advisory", "llm.status": "llm"}


class Meta:
    """Handlers of the daemon's own reading actions."""

    def __init__(self, actors: Actors, sessions: Sessions) -> None:
        self._actors = actors
        self._sessions = sessions

    async def schema(self, task: Task) -> Outcome:
        """Every action's exact params, or those of one domain or action."""
        wanted = task.request.params
        assert isinstance(wanted, Schema)
        usable = contract.visible(operator=task.errand.operator, readonly=task.errand.readonly)
        name = wanted.action.rpartition(".")[2]
        domain = wanted.domain or wanted.action.rpartition(".")[0]
        found = [a for a in usable if (not domain or a.domain == domain) and (not name or a.name == name)]
        if not found:
            names = ", ".join(action.full_name for action in usable)
            asked = ".".join(filter(None, (domain, name)))
            raise Fault("unknown_action", f"There is no action {asked}.", next_action=f"Actions: {names}.")
        listed = found[0].full_name if len(found) == 1 else f"{len(found)} actions"
        schemas = [describe(action, full=len(found) == 1) for action in found]
        return Outcome(summary=f"Params of {listed}.", data=Schemas(actions=schemas))

    async def discover(self, task: Task) -> Outcome:
        """What there is, and how it is doing."""
        usable = contract.visible(operator=task.errand.operator, readonly=task.errand.readonly)
        domains: dict[str, dict[str, str]] = {}
        for action in usable:
            domains.setdefault(action.domain, {})[action.name] = action.purpose
        states = {name: str(actor.state) for name, actor in self._actors.supervised.items()}
        down = [name for name, state in states.items() if state != "running"]
        data = Discovered(
            version=VERSION, domains=domains, actors=states, session_id=task.session.id, readonly=task.errand.readonly
        )
        trouble = f" Not running: {', '.join(down)}." if down else ""
        return Outcome(
            summary=f"{len(usable)} actions in {len(domains)} domains.{trouble}",
            data=data,
            severity="WARN" if down else "INFO",
            next_action='For exact params: {"domain": "meta", "action": "schema", "params": {"action": "recall"}}',
        )

    async def stats(self, task: Task) -> Outcome:
        """Figures of this session, or of the daemon with what its actors tell."""
        wanted = task.request.params
        assert isinstance(wanted, Stats)
        daemon_wide = wanted.scope == "daemon"
        figures = self._sessions.figures if daemon_wide else task.session.figures
        cache = task.session.cache
        data = StatsResult(
            scope=wanted.scope,
            calls=dict(figures.calls),
            errors=dict(figures.errors),
            ms_p50=figures.medians_ms(),
            cache={"keys": cache.keys(), "bytes": cache.size_bytes},
            actors=self.actor_figures() if daemon_wide else {},
            details=await self._details(task) if daemon_wide else {},
        )
        total, errors = sum(figures.calls.values()), sum(figures.errors.values())
        return Outcome(summary=f"{total} calls, {errors} errors in this {wanted.scope}.", data=data)

    def actor_figures(self) -> dict[str, Any]:
        """Each actor's state, pid, restarts, last cause of an end, and memory."""
        return {
            name: {
                "state": str(actor.state),
                "pid": actor.pid,
                "restarts": actor.restarts,
                "last_cause": None if actor.last_cause is None else str(actor.last_cause),
                "running": actor.pong.running,
                "rss_mib": round(actor.pong.rss_bytes / 2**20, 1),
                "notes": list(actor.notes),
            }
            for name, actor in self._actors.supervised.items()
        }

    async def _details(self, task: Task) -> dict[str, Any]:
        details: dict[str, Any] = {}
        async with anyio.create_task_group() as tasks:
            for full_name, key in _DETAILS.items():
                action = contract.BY_NAME.get(full_name)
                if action is not None:
                    tasks.start_soon(self._detail, action, key, task.errand, details)
        return details

    async def _detail(self, action: Action, key: str, errand: Errand, details: dict[str, Any]) -> None:
        own = msgspec.structs.replace(errand, id=uuid.uuid4().hex, on_step=None)
        params: Params = msgspec.convert({}, action.params)
        try:
            with anyio.move_on_after(2.0):
                result = await self._actors.ask(action, params, own)
                details[key] = result.message if isinstance(result, Failure) else result.outcome.data
        except Fault as fault:
            details[key] = fault.failure.message


def describe(action: Action, *, full: bool) -> ActionSchema:
    """An action as `meta.schema` shows it; with all its worked examples when it is asked for alone."""
    table: Mapping[str, Any] = params_table(action.params)
    return ActionSchema(
        action=action.full_name,
        purpose=action.purpose,
        params=dict(table),
        example={"domain": action.domain, "action": action.name, "params": action.example},
        examples=action.examples if full else (),
        writes=not action.read_only,
    )
