"""The llama.cpp actions: status for everyone, the rest for the operator."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..action import Action, NoParams, Params

State = Literal[
    "not_configured",
    "stopped",
    "admitting",
    "loading",
    "ready",
    "busy",
    "slow",
    "suspect",
    "stuck",
    "stopping",
    "backoff",
    "fatal",
    "wedged",
]


class Exit(Struct, frozen=True, kw_only=True):
    """How the last server process ended: the cause in one word, in words, and what to do."""

    cause: str
    code: int | None
    text: str
    next_action: str


class Amount(Struct, frozen=True, kw_only=True):
    """One part of what is needed or there, in MiB, and where the number comes from."""

    name: str
    mib: float
    source: str


class Admission(Struct, frozen=True, kw_only=True):
    """The decision whether a model may be loaded, with every number that it rests on."""

    profile: str
    model: str
    verdict: Literal["fits", "refused", "overridden", "unknown"]
    need_mib: float
    have_mib: float
    margin_mib: float
    need: list[Amount]
    have: list[Amount]
    reserve_mib: float
    past_error: str
    would_fit: list[str]
    text: str
    command: list[str] = []


class Status(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`state`: not_configured, or where the server is in its life; `since_s`: how long it has been so."""

    state: State
    text: str
    profile: str = ""
    model: str = ""
    url: str = ""
    pid: int | None = None
    since_s: float = 0.0
    wanted: bool = False
    restarts: int = 0
    restart_in_s: float | None = None
    rss_mib: float | None = None
    available_mib: float | None = None
    pressure: str = ""
    tokens_per_s: float | None = None
    last_exit: Exit | None = None
    admission: Admission | None = None
    key_file: str = ""
    warnings: list[str] = []


class Choice(Params, frozen=True, kw_only=True):
    profile: Annotated[str, Meta(description="Profile: e4b, small or one of config.toml; empty = the configured")] = ""
    model: Annotated[str, Meta(description="Path of a GGUF file, in place of the profile's")] = ""
    ctx: Annotated[int, Meta(ge=256, le=4_194_304, description="Context size, in place of the profile's")] | None = None


class Start(Choice, frozen=True, kw_only=True):
    override: Annotated[bool, Meta(description="Start although the admission says no")] = False
    wait: Annotated[bool, Meta(description="Answer when the server is ready or has failed")] = True


class Stop(Params, frozen=True, kw_only=True):
    now: Annotated[bool, Meta(description="KILL at once instead of TERM and grace")] = False


class Logs(Params, frozen=True, kw_only=True):
    lines: Annotated[int, Meta(ge=1, le=2000, description="How many of the last lines")] = 100


class LogLines(Struct, frozen=True, kw_only=True):
    lines: list[str]
    dropped: int


ACTIONS: tuple[Action, ...] = (
    Action(
        domain="llm",
        name="status",
        owner="guard",
        purpose="is the guarded llama-server up, and what is it doing",
        params=NoParams,
        result=Status,
        example={},
    ),
    Action(
        domain="llm",
        name="plan",
        owner="guard",
        purpose="would this model fit, and how would it be started",
        params=Choice,
        result=Admission,
        example={"profile": "e4b"},
        operator_only=True,
    ),
    Action(
        domain="llm",
        name="start",
        owner="guard",
        purpose="start the guarded llama-server",
        params=Start,
        result=Status,
        example={"profile": "e4b"},
        operator_only=True,
        read_only=False,
        deadline_ms=600_000,
    ),
    Action(
        domain="llm",
        name="stop",
        owner="guard",
        purpose="stop it and wait until its memory is back",
        params=Stop,
        result=Status,
        example={},
        operator_only=True,
        read_only=False,
        deadline_ms=120_000,
    ),
    Action(
        domain="llm",
        name="restart",
        owner="guard",
        purpose="stop and start it; also leaves fatal and wedged once the cause is gone",
        params=Start,
        result=Status,
        example={},
        operator_only=True,
        read_only=False,
        deadline_ms=600_000,
    ),
    Action(
        domain="llm",
        name="logs",
        owner="guard",
        purpose="its last log lines",
        params=Logs,
        result=LogLines,
        example={"lines": 50},
        operator_only=True,
    ),
)
