"""The memory actions: their params and results."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from ..action import Action, NoParams, Params

K = Annotated[int, Meta(ge=1, le=1000)]
RequestId = Annotated[str, Meta(min_length=1, max_length=200, description="Same id again: the write is applied once")]
Source = Annotated[str, Meta(min_length=1, max_length=500, description="Where the facts come from")]
When = Annotated[str, Meta(description="A date: 2019, 2019-05, 2019-05-01 or 2019-05-01T12:00:00Z")]


class Passage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A piece of text of a source, with the triples that it states."""

    text: str
    id: str | None = None
    title: str | None = None
    triples: list[Any] = []


class Ingest(Params, frozen=True, kw_only=True):
    triples: Annotated[
        list[Any], Meta(description="[subject, relation, object] or {s, r, o, valid_from?, valid_to?, weight?}")
    ] = []
    source: Source | None = None
    text: Annotated[str, Meta(description="Plain text to keep as one passage")] | None = None
    passages: list[Passage] = []
    strict: Annotated[bool, Meta(description="Store nothing when anything is malformed")] = False
    wait: Annotated[bool, Meta(description="Answer only when all of it can also be found by meaning")] = False
    request_id: RequestId | None = None


class Rejected(Struct, frozen=True):
    """One malformed item that was left out: where it is and what is wrong."""

    path: str
    problem: str


class Ingested(Struct, frozen=True, kw_only=True):
    """Counts of what one ingest did; `rejected` lists the first malformed items, `malformed` counts all."""

    stored: int
    new_edges: int
    new_nodes: int
    passages: int
    malformed: int
    rejected: list[Rejected]


class Recall(Params, frozen=True, kw_only=True):
    query: Annotated[str, Meta(description="Question or topic, plain words")]
    k: Annotated[K, Meta(description="How many of nodes, facts and passages")] = 10
    mode: Annotated[Literal["ppr", "seeds"], Meta(description="ppr walks the graph; seeds is search alone")] = "ppr"
    lambda_: Annotated[float, Meta(ge=0, le=4, description="Weight of what was learned; 0 = none")] = field(
        default=1.0, name="lambda"
    )
    sources: Annotated[list[str], Meta(description="Only what these sources state")] | None = None
    as_of: Annotated[When, Meta(description="As it was valid then")] | None = None
    max_facts: Annotated[int, Meta(ge=0, le=1000)] | None = None
    explain: Annotated[bool, Meta(description="Add the path from the question to each fact")] = False


class Node(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entity with its share of the walk's mass; `learned` when a taught association lifted it."""

    name: str
    score: float
    learned: bool = False


class Fact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stored triple with its support; dates only where they were given."""

    subject: str
    relation: str
    object: str
    score: float = 0.0
    sources: list[str] = []
    valid_from: str | None = None
    valid_to: str | None = None


class PassageHit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A passage with its rank score; `id` is the caller's own id where one was given."""

    score: float
    source: str
    text: str
    title: str | None = None
    id: str | None = None


class LearnedAs(Struct, frozen=True, kw_only=True):
    """That the question was taught to mean a node: by which example, how strongly (0 to 1)."""

    node: str
    taught: str
    strength: float


class Step(Struct, frozen=True, kw_only=True):
    """One step of a path: the fact it goes along and the sources that state it."""

    subject: str
    relation: str
    object: str
    sources: list[str]


class Path(Struct, frozen=True, kw_only=True):
    """How the walk reaches a node: from a seed along facts; a synonym step has the relation `~`."""

    node: str
    seed: str
    steps: list[Step]


class Recalled(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a recall found, facts first, since small models answer from what they read first.

    `residual` is the walk's undistributed mass (0 = exact).
    """

    facts: list[Fact]
    nodes: list[Node]
    passages: list[PassageHit]
    learned: bool = False
    learned_as: list[LearnedAs] = []
    seeds: list[str] = []
    paths: list[Path] = []
    residual: float = 0.0
    mode: str = "ppr"


class Update(Params, frozen=True, kw_only=True):
    query: Annotated[str, Meta(description="How people say it")]
    node: Annotated[str, Meta(description="The stored entity that it means")]
    strength: Annotated[float, Meta(gt=0, le=1)] = 1.0
    request_id: RequestId | None = None


class Updated(Struct, frozen=True, kw_only=True):
    """What was learned: weights changed, examples kept for the node, number of pairs taught in all."""

    node: str
    cells: int
    changed: int
    examples: list[str]
    taught: int


class Forget(Params, frozen=True, kw_only=True):
    source: Source
    purge: Annotated[bool, Meta(description="Also remove its text and vectors from the file (operator only)")] = False
    request_id: RequestId | None = None


class Forgotten(Struct, frozen=True, kw_only=True):
    """What forgetting one source did; facts that other sources support stay."""

    source: str
    edges_closed: int
    edges_kept: int
    passages: int
    nodes_removed: int
    purged: bool
    backup: str


class Consolidate(Params, frozen=True, kw_only=True):
    decay: Annotated[float, Meta(ge=0, lt=1, description="Share of learned weight lost per day unused")] = 0.0
    prune_below: Annotated[float, Meta(ge=0, le=1, description="Learned weights below this go")] = 0.02
    request_id: RequestId | None = None


class Consolidated(Struct, frozen=True, kw_only=True):
    """What housekeeping did; sizes in bytes."""

    decayed: int
    pruned: int
    orphans: int
    size_before_bytes: int
    size_after_bytes: int
    backup: str


class Restore(Params, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="A backup by name; leave out to list them")] | None = None
    request_id: RequestId | None = None

    def takes_away(self) -> bool:
        """Listing takes nothing away."""
        return self.name is not None


class Backup(Struct, frozen=True, kw_only=True):
    """A backup file: verified when it was made, by integrity check, counts and content hash."""

    name: str
    made: str
    reason: str
    size_bytes: int
    nodes: int
    edges: int
    sha256: str
    schema: int


class Restored(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The backups there are; after a restore also which one is in force and where the former state went."""

    backups: list[Backup]
    restored: str | None = None
    before: str | None = None


class StatsParams(Params, frozen=True, kw_only=True):
    pass


class MemoryStats(Struct, frozen=True, kw_only=True):
    """Counts, sizes in bytes, and which embedder is in force; for status, doctor and meta.stats."""

    nodes: int
    edges: int
    passages: int
    sources: int
    taught: int
    synonyms: int
    path: str
    size_bytes: int
    wal_bytes: int
    schema: int
    embedder: str
    embedder_state: str
    fingerprint: str
    sqlite: str
    pending_vectors: int
    pending_links: int
    backups: int
    rss_bytes: int


class Reindex(Params, frozen=True, kw_only=True):
    request_id: RequestId | None = None


class Reindexed(Struct, frozen=True, kw_only=True):
    """What re-embedding did: vectors made, texts that still wait, and the fingerprint of the embedder."""

    embedded: int
    waiting: int
    embedder: str


class Export(Params, frozen=True, kw_only=True):
    after: Annotated[int, Meta(ge=0, description="Continue after this edge or passage id")] = 0
    kind: Literal["facts", "passages"] = "facts"
    limit: Annotated[int, Meta(ge=1, le=5000)] = 1000


class Exported(Struct, frozen=True, kw_only=True):
    """One page: `items` as `memory.ingest` takes them, and where to go on; `next` 0 = done."""

    items: list[Any]
    next: int
    total: int


class Picture(Params, frozen=True, kw_only=True):
    node: str | None = None
    query: str | None = None
    depth: Annotated[int, Meta(ge=1, le=4)] = 2
    max_nodes: Annotated[int, Meta(ge=2, le=300)] = 60


class Pictured(Struct, frozen=True, kw_only=True):
    """A self-contained HTML page with an SVG drawing."""

    html: str
    nodes: int
    edges: int


def _action(name: str, purpose: str, params: type[Params], result: type[Struct], **more: Any) -> Action:
    return Action(domain="memory", name=name, owner="memory", purpose=purpose, params=params, result=result, **more)


ACTIONS: tuple[Action, ...] = (
    _action(
        "ingest",
        "store facts",
        Ingest,
        Ingested,
        example={"triples": [["Ada", "works at", "the lab"]], "source": "notes"},
        examples=(
            {"text": "Ada moved to Paris in 2020.", "source": "diary"},
            {"triples": [{"s": "Ada", "r": "works at", "o": "the lab", "valid_from": "2019", "valid_to": "2020"}]},
        ),
        read_only=False,
    ),
    _action(
        "recall",
        "recall facts for a question",
        Recall,
        Recalled,
        example={"query": "who owns the lab?", "k": 3},
        examples=({"query": "where did Ada work in 2019?", "as_of": "2019-06", "explain": True},),
    ),
    _action(
        "update",
        "teach that a phrase means an entity",
        Update,
        Updated,
        example={"query": "the big apple", "node": "New York City"},
        read_only=False,
    ),
    _action(
        "forget",
        "forget what one source said",
        Forget,
        Forgotten,
        example={"source": "notes"},
        read_only=False,
        destructive=True,
    ),
    _action(
        "consolidate",
        "fade unused learning, tidy up",
        Consolidate,
        Consolidated,
        example={"decay": 0.01},
        read_only=False,
        destructive=True,
    ),
    _action(
        "restore",
        "list backups or restore one",
        Restore,
        Restored,
        example={},
        read_only=False,
        destructive=True,
    ),
    _action(
        "backup",
        "take a verified backup now",
        NoParams,
        Backup,
        example={},
        read_only=False,
        operator_only=True,
        deadline_ms=600_000,
    ),
    _action("stats", "counts and state of the store", StatsParams, MemoryStats, example={}, hidden=True),
    _action(
        "reindex",
        "embed everything anew",
        Reindex,
        Reindexed,
        example={},
        read_only=False,
        operator_only=True,
        deadline_ms=3_600_000,
    ),
    _action("export", "read the store page by page", Export, Exported, example={"limit": 500}, operator_only=True),
    _action(
        "graph", "draw a neighbourhood or a recall", Picture, Pictured, example={"node": "Ada"}, operator_only=True
    ),
)
