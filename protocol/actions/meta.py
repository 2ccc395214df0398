"""The meta actions that the daemon serves itself: schema, discover, stats, batch."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ..action import Action, Params


class Schema(Params, frozen=True, kw_only=True):
    domain: Annotated[str, Meta(description="Only this domain")] = ""
    action: Annotated[str, Meta(description="Only this action")] = ""


class ActionSchema(Struct, frozen=True, kw_only=True, omit_defaults=True):
    action: str
    purpose: str
    params: dict[str, Any]
    example: dict[str, Any]
    examples: tuple[dict[str, Any], ...] = ()
    writes: bool = False


class Schemas(Struct, frozen=True, kw_only=True):
    actions: list[ActionSchema]


class Discover(Params, frozen=True, kw_only=True):
    pass


class Discovered(Struct, frozen=True, kw_only=True):
    """`domains`: action and purpose by domain; `actors`: state by name."""

    version: str
    domains: dict[str, dict[str, str]]
    actors: dict[str, str]
    session_id: str
    readonly: bool = False


class Stats(Params, frozen=True, kw_only=True):
    scope: Annotated[Literal["session", "daemon"], Meta(description="This session's figures or the daemon's")] = (
        "session"
    )


class StatsResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    scope: str
    calls: dict[str, int]
    errors: dict[str, int]
    ms_p50: dict[str, float]
    cache: dict[str, Any] = {}
    actors: dict[str, Any] = {}
    details: dict[str, Any] = {}


class Batch(Params, frozen=True, kw_only=True):
    steps: Annotated[
        list[dict[str, Any]],
        Meta(
            description="Up to 25 of {id?, domain, action, params?, store_as?}; $cache.KEY.path uses an earlier result"
        ),
    ]
    return_only: Annotated[Literal["all", "last", "summary"], Meta(description="What to send back")] = "all"
    select_fields: Annotated[list[str], Meta(description="Dot paths to keep of each step's data")] = []
    continue_on_error: Annotated[bool, Meta(description="Go on after a failed step")] = False


class StepResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    action: str
    status: Literal["ok", "error", "skipped"]
    summary: str
    data: Any = None
    notes: tuple[str, ...] = ()
    next_action: str | None = None
    advisory: Any = None


class BatchResult(Struct, frozen=True, kw_only=True):
    steps: list[StepResult]


ACTIONS: tuple[Action, ...] = (
    Action(
        domain="meta",
        name="schema",
        owner="daemon",
        purpose="an action's exact params",
        params=Schema,
        result=Schemas,
        example={"domain": "memory", "action": "recall"},
    ),
    Action(
        domain="meta",
        name="discover",
        owner="daemon",
        purpose="what there is and how it is doing",
        params=Discover,
        result=Discovered,
        example={},
    ),
    Action(
        domain="meta",
        name="stats",
        owner="daemon",
        purpose="calls, errors and times of this session",
        params=Stats,
        result=StatsResult,
        example={"scope": "session"},
    ),
    Action(
        domain="meta",
        name="batch",
        owner="daemon",
        purpose="many steps, one call",
        params=Batch,
        result=BatchResult,
        resolves_references=True,
        read_only=False,
        destructive=True,
        example={
            "steps": [
                {"id": "r", "domain": "memory", "action": "recall", "params": {"query": "who owns the lab?"}},
                {"domain": "memory", "action": "recall", "params": {"query": "$cache.r.nodes.0.name"}},
            ]
        },
    ),
)
