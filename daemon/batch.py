"""meta.batch: many steps in one call, later ones using what earlier ones found."""

from collections.abc import Callable
from typing import Any, Final

import anyio
import msgspec
from msgspec import Struct

from protocol.action import Outcome
from protocol.actions.meta import Batch, BatchResult, StepResult
from protocol.errors import Failure, Fault
from protocol.limits import BATCH_MAX_STEPS
from protocol.messages import Step as Progressed
from protocol.repair import is_absent
from protocol.request import Request, parse

from .perform import Performer, Served, Task
from .references import keys_used, resolve, select

_AT_ONCE_MAX: Final = 8


class Step(Struct, frozen=True, kw_only=True):
    """One step as it was asked for, with the keys that it uses and stores."""

    index: int
    id: str
    arguments: dict[str, Any]
    uses: frozenset[str]
    store_as: str


class BatchRun:
    """One run of a batch: its steps, its results, its stop at the first error."""

    def __init__(self, task: Task, performer: Performer) -> None:
        assert isinstance(task.request.params, Batch)
        self._wanted = task.request.params
        self._task = task
        self._performer = performer
        self._results: dict[int, StepResult] = {}
        self._data: dict[str, Any] = {}
        self._failed: StepResult | None = None

    async def run(self) -> Outcome:
        """Do all steps.

        Raises:
            Fault: invalid_params, when the steps themselves are not in order.
        """
        steps = read_steps(self._wanted.steps)
        done = 0
        for group in groups(steps, self._is_read):
            if self._failed is not None and not self._wanted.continue_on_error:
                break
            await self._run_group(group)
            done += len(group)
            if on_step := self._task.errand.on_step:
                text = f"step {done} of {len(steps)}"
                on_step(Progressed(id=self._task.errand.id, done=done, total=len(steps), message=text))
        return self._outcome(steps)

    async def _run_group(self, group: list[Step]) -> None:
        if len(group) == 1:
            await self._run_step(group[0])
            return
        async with anyio.create_task_group() as tasks:
            for step in group:
                tasks.start_soon(self._run_step, step)

    def _is_read(self, step: Step) -> bool:
        try:
            return self._parse(step, lambda value: value).action.read_only
        except Fault:
            return False

    def _parse(self, step: Step, references: Callable[[Any], Any]) -> Request:
        request = parse(
            step.arguments,
            operator=self._task.errand.operator,
            readonly=self._task.errand.readonly,
            resolve=references,
        )
        if request.action.full_name == "meta.batch":
            raise Fault("invalid_params", "A batch cannot hold a batch.", next_action="Put its steps into this one.")
        return request

    async def _run_step(self, step: Step) -> None:
        try:
            request = self._parse(step, lambda value: resolve(value, self._lookup))
        except Fault as fault:
            self._keep(step, ".".join(_named(step)), (), Served(result=fault.failure))
            return
        errand = self._task.errand
        own_id = request.request_id or f"{errand.id}.{step.index}"
        task = Task(
            request=request,
            session=self._task.session,
            errand=msgspec.structs.replace(errand, id=own_id, on_step=None),
        )
        self._keep(step, request.action.full_name, request.notes, await self._performer.perform(task))

    def _lookup(self, key: str) -> Any:
        return self._data[key] if key in self._data else self._task.session.cache.get(key)

    def _keep(self, step: Step, action: str, notes: tuple[str, ...], served: Served) -> None:
        result = served.result
        if isinstance(result, Failure):
            kept = StepResult(
                id=step.id,
                action=action,
                status="error",
                summary=result.message,
                data=msgspec.to_builtins(result),
                next_action=result.next_action,
                notes=notes,
                advisory=served.advisory,
            )
            self._failed = self._failed or kept
        else:
            data = msgspec.to_builtins(result.data)
            for key in {step.id, step.store_as} - {""}:
                self._data[key] = data
                self._task.session.cache.put(key, data)
            kept = StepResult(
                id=step.id,
                action=action,
                status="ok",
                summary=result.summary,
                data=select(data, self._wanted.select_fields) if self._wanted.select_fields else data,
                notes=notes + result.notes,
                next_action=result.next_action,
                advisory=served.advisory,
            )
        self._results[step.index] = kept

    def _outcome(self, steps: list[Step]) -> Outcome:
        results = [self._results.get(step.index) or _skipped(step) for step in steps]
        done = sum(result.status == "ok" for result in results)
        shown = results
        if self._wanted.return_only == "last":
            shown = results[-1:]
        elif self._wanted.return_only == "summary":
            shown = [result if result.status == "error" else _bare(result) for result in results]
        summary = f"{done} of {len(steps)} steps done."
        if self._failed is not None:
            summary += f" Step {self._failed.id} ({self._failed.action}) failed: {self._failed.summary}"
        return Outcome(
            summary=summary,
            data=BatchResult(steps=shown),
            severity="INFO" if self._failed is None else "WARN",
            next_action=None if self._failed is None else self._failed.next_action,
            partial=done < len(steps),
        )


def _skipped(step: Step) -> StepResult:
    return StepResult(
        id=step.id, action=".".join(_named(step)), status="skipped", summary="Not tried: an earlier step failed."
    )


def _bare(result: StepResult) -> StepResult:
    return msgspec.structs.replace(result, data=None)


def _named(step: Step) -> list[str]:
    return [str(step.arguments[key]) for key in ("domain", "action") if not is_absent(step.arguments.get(key))]


def read_steps(raw: list[dict[str, Any]]) -> list[Step]:
    """The steps in order, each with an id: its own, or its number from 1 on.

    Raises:
        Fault: invalid_params, for none, too many, or two with one id.
    """
    if not 1 <= len(raw) <= BATCH_MAX_STEPS:
        raise Fault(
            "invalid_params",
            f"A batch has 1 to {BATCH_MAX_STEPS} steps; this one has {len(raw)}.",
            next_action="Split it into several batches.",
        )
    steps = [
        Step(
            index=index,
            id=str(index + 1 if is_absent(entry.get("id")) else entry["id"]),
            arguments={key: value for key, value in entry.items() if key not in ("id", "store_as")},
            uses=frozenset(keys_used(entry)),
            store_as="" if is_absent(entry.get("store_as")) else str(entry["store_as"]),
        )
        for index, entry in enumerate(raw)
    ]
    ids = [step.id for step in steps]
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise Fault("invalid_params", f"Two steps have the id {twice!r}.", next_action="Give each step its own id.")
    return steps


def groups(steps: list[Step], is_read: Callable[[Step], bool]) -> list[list[Step]]:
    """Steps that may run at once, in order: neighbours that only read and use nothing of each other."""
    found: list[list[Step]] = []
    joinable = False
    for step in steps:
        read = is_read(step)
        group = found[-1] if found else []
        stored = {key for other in group for key in (other.id, other.store_as) if key}
        if joinable and read and len(group) < _AT_ONCE_MAX and not step.uses & stored:
            group.append(step)
        else:
            found.append([step])
        joinable = read
    return found
