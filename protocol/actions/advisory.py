"""The advisory actions of the meta domain: handshake, advise, calibrate, and what the daemon asks unseen."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ..action import Action, NoParams, Params

Level = Literal["recommended", "experimental", "discouraged", "neutral"]
ProfileSource = Literal["forced", "calibrated", "declared", "default"]
Name = Annotated[str, Meta(max_length=200)]


class Handshake(Params, frozen=True, kw_only=True):
    model: Annotated[Name, Meta(description="The model's name, as qwen3-4b")] = ""
    family: Annotated[Name, Meta(description="Its family, as qwen3")] = ""
    params_b: Annotated[float, Meta(ge=0, le=10_000, description="Size in billion parameters; 0 = not known")] = 0
    active_params_b: Annotated[float, Meta(ge=0, le=10_000, description="Billion parameters active per token")] = 0
    quantisation: Annotated[Name, Meta(description="As q4_k_m")] = ""
    context: Annotated[int, Meta(ge=0, le=100_000_000, description="Context window in tokens; 0 = not known")] = 0
    thinking: Annotated[bool | None, Meta(description="Whether the model thinks before it answers")] = None
    client: Annotated[Name, Meta(description="The program that runs the model")] = ""


class ProfileView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The profile in force. `kind` is what the model can do by itself: basic, middle, strong or unknown."""

    source: ProfileSource
    kind: str
    model: str = ""
    family: str = ""
    params_b: float = 0
    thinking: bool | None = None
    context: int = 0
    note: str = ""


class Handshaken(Struct, frozen=True, kw_only=True):
    """`rests_on` has, for each sentence of `prompt_hint`, the figures behind it."""

    profile: ProfileView
    prompt_hint: str
    rests_on: list[Any]


class Advise(Params, frozen=True, kw_only=True):
    domain: Annotated[Literal["", "memory", "reason", "meta", "llm"], Meta(description="Empty = all there is")] = ""
    action: Annotated[str, Meta(max_length=100, description="As solve; empty = all there is")] = ""
    task: Annotated[
        dict[str, Any],
        Meta(description="n_vars, n_atoms, goal, facts_exceed_ctx, facts_tokens, or the call's own params"),
    ] = {}


class Advised(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`basis`: difference, interval, n and source of the figures; `source`: where the profile comes from."""

    level: Level
    hint: str
    source: ProfileSource
    profile: ProfileView
    features: dict[str, Any]
    advice_id: str = ""
    basis: Any = None
    reason: str = ""
    all: list[Any] = []


class Calibrate(Params, frozen=True, kw_only=True):
    step: Annotated[Literal["start", "answer"], Meta(description="start, then answer until state is done")] = "start"
    focus: Annotated[
        Literal["class", "puzzles", "hints", "recall"], Meta(description="What to find out; class is the usual one")
    ] = "class"
    answers: Annotated[
        dict[str, Any] | list[Any], Meta(description="Item id → your answer, or the answers in order")
    ] = {}


class ProbeItem(Struct, frozen=True):
    id: str
    text: str


class CalibrationResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`verdict`: the class, or yes | no, or unsure; `confidence`: its posterior; `low`..`high`: of `share`, 95 %."""

    focus: str
    verdict: str
    confidence: float
    asked: int
    right: int
    unreadable: int
    share: float
    low: float
    high: float
    by_family: dict[str, str] = {}
    note: str = ""


class Calibrated(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`items` to be answered by the model alone, without any tool; `result` when done."""

    state: Literal["asking", "done"]
    items: list[ProbeItem] = []
    asked: int = 0
    expires_s: int = 0
    result: CalibrationResult | None = None
    profile: ProfileView | None = None
    prompt_hint: str = ""


class Consult(Params, frozen=True, kw_only=True):
    """The daemon's question beside every real call.

    `context` may hold `facts_tokens`, how much there is to know, and `ended`, outcome reports of earlier calls.
    """

    domain: str
    action: str
    params: dict[str, Any] = {}
    context: dict[str, Any] = {}


class Advisory(Struct, frozen=True, kw_only=True):
    level: Level
    hint: str
    source: str
    advice_id: str


class Consulted(Struct, frozen=True, kw_only=True):
    advisory: Advisory | None = None
    discouraged: bool = False


class SlotText(Struct, frozen=True, kw_only=True):
    slot: str
    instructions: str
    profile: str


class OutcomeReport(Params, frozen=True, kw_only=True):
    """How a call that carried advice ended: ok | error | refused."""

    advice_id: str
    outcome: Literal["ok", "error", "refused"]


class Logged(Struct, frozen=True, kw_only=True):
    known: bool


class AdvisoryFigures(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `meta.stats` shows of advice: the session's profile, the evidence at hand, the outcome log."""

    profile: ProfileView
    evidence: dict[str, int]
    log: dict[str, Any]
    sessions: int
    kept: bool
    note: str = ""


ACTIONS: tuple[Action, ...] = (
    Action(
        domain="meta",
        name="handshake",
        owner="advisory",
        purpose="say which model you are, get advice measured on such models",
        params=Handshake,
        result=Handshaken,
        read_only=False,
        example={"model": "qwen3-4b", "context": 8192, "thinking": False},
    ),
    Action(
        domain="meta",
        name="advise",
        owner="advisory",
        purpose="whether an action helps this model on this task, with the figures",
        params=Advise,
        result=Advised,
        example={"domain": "reason", "action": "solve", "task": {"n_vars": 5, "n_atoms": 8}},
        examples=({}, {"domain": "memory", "action": "recall", "task": {"facts_exceed_ctx": True}}),
    ),
    Action(
        domain="meta",
        name="calibrate",
        owner="advisory",
        purpose="a few questions that show what this model can do by itself",
        params=Calibrate,
        result=Calibrated,
        read_only=False,
        example={"step": "start"},
        examples=({"step": "answer", "answers": {"a1": "391", "a2": "16807"}},),
    ),
    Action(
        domain="meta",
        name="consult",
        owner="advisory",
        purpose="advice beside a real call",
        params=Consult,
        result=Consulted,
        hidden=True,
        example={"domain": "reason", "action": "solve", "params": {}},
    ),
    Action(
        domain="meta",
        name="slot",
        owner="advisory",
        purpose="the daemon-wide texts",
        params=NoParams,
        result=SlotText,
        hidden=True,
        example={},
    ),
    Action(
        domain="meta",
        name="outcome",
        owner="advisory",
        purpose="how an advised call ended",
        params=OutcomeReport,
        result=Logged,
        read_only=False,
        hidden=True,
        example={"advice_id": "a-1", "outcome": "ok"},
    ),
    Action(
        domain="meta",
        name="advisory_stats",
        owner="advisory",
        purpose="figures for meta.stats",
        params=NoParams,
        result=AdvisoryFigures,
        hidden=True,
        example={},
    ),
)
