"""From scored ids to the reply of a recall: names, facts with their sources, passages, and one sentence."""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from protocol.action import Outcome
from protocol.actions import memory as words
from protocol.errors import Fault, ParamFault

from . import dates, explain
from .embed.service import QueryVectors
from .gate import Gate
from .learning import BOOST_SCALE, Meaning
from .recall import Found, Question, Recaller, describe_facts, describe_nodes
from .seeding import Scored, Tuning
from .substrate import Substrate
from .text import normal, spans
from .vectors import Codes
from .view import NS

TEXT_SHOWN: Final = 4_000
EMPTY_NEXT: Final = "Store facts first with memory.ingest."


def answer(
    store: Substrate, params: words.Recall, query: str, vectors: QueryVectors, tuning: Tuning, gate: Gate
) -> Outcome:
    """Recall and say what was found."""
    as_of = _as_of(params.as_of)
    meanings = _meanings(store, params, query, vectors.code, gate)
    question = Question(
        text=query,
        vector=vectors.search,
        foreign=vectors.foreign,
        max_facts=params.k if params.max_facts is None else params.max_facts,
        walk=params.mode == "ppr",
        as_of=as_of,
        sources=None if params.sources is None else tuple(params.sources),
        lifted={one.node: one.strength * params.lambda_ * BOOST_SCALE for one in meanings},
    )
    found = Recaller(store, question, tuning).run()
    facts = _facts(store, found.facts[: question.max_facts], as_of)
    lifted = {node for node, _ in found.seeds} & set(question.lifted)
    nodes = _nodes(store, found.nodes[: params.k], lifted)
    passages = _passages(store, found.passages[: params.k])
    reply = words.Recalled(
        nodes=nodes,
        facts=facts,
        passages=passages,
        learned=bool(lifted),
        learned_as=_learned_as(store, [one for one in meanings if one.node in lifted]),
        seeds=[node.name for node in _nodes(store, found.seeds[: params.k], set())],
        paths=_paths(store, params, question, found) if params.explain else [],
        residual=round(found.residual, 6),
        mode=params.mode,
    )
    return Outcome(
        summary=_summary(reply, query),
        data=reply,
        partial=not found.complete,
        notes=() if found.complete else ("the walk stopped at its work budget; ranks further down may be off",),
        next_action=_next(reply, store, params),
    )


def _meanings(store: Substrate, params: words.Recall, query: str, code: Codes, gate: Gate) -> list[Meaning]:
    if store.learning is None or params.lambda_ == 0 or not len(store.learning):
        return []
    return store.learning.meanings(query, code, store.facts, gate)


def _learned_as(store: Substrate, meanings: Sequence[Meaning]) -> list[words.LearnedAs]:
    names = describe_nodes(store, [one.node for one in meanings])
    return [words.LearnedAs(node=names[one.node], taught=one.example, strength=one.strength) for one in meanings]


def _paths(store: Substrate, params: words.Recall, question: Question, found: Found) -> list[words.Path]:
    graph = store.view(question.as_of, question.sources).graph
    seeds = _named(store, question, [node for node, _ in found.seeds])
    return explain.paths(store, graph, seeds, [node for node, _ in found.nodes[: params.k]], found.near)


def _named(store: Substrate, question: Question, seeds: list[int]) -> list[int]:
    """The seeds that the question itself names, where there are any: a path that starts there tells the most."""
    forms = set(spans(question.text[:2_000]))
    names = describe_nodes(store, seeds)
    return [node for node in seeds if normal(names.get(node, "")) in forms] or seeds


def _as_of(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return dates.start_of(text)
    except dates.DateError as error:
        raise Fault(
            "invalid_params",
            f"as_of: {error}.",
            next_action="Write the date as 2019-05-01.",
            faults=(ParamFault("as_of", str(error), "a date", "2019-05-01"),),
        ) from error


def _nodes(store: Substrate, scored: Scored, learned: AbstractSet[int]) -> list[words.Node]:
    names = describe_nodes(store, [node for node, _ in scored])
    return [
        words.Node(name=names[node], score=round(score, 6), learned=node in learned)
        for node, score in scored
        if node in names
    ]


def _facts(store: Substrate, scored: Scored, as_of: int | None) -> list[words.Fact]:
    told = describe_facts(store, [fact for fact, _ in scored], None if as_of is None else as_of * NS)
    return [_fact(told[fact], score) for fact, score in scored if fact in told]


def _fact(row: Mapping[str, Any], score: float) -> words.Fact:
    end = row["valid_to"]
    return words.Fact(
        subject=row["subject"],
        relation=row["relation"],
        object=row["object"],
        score=round(score, 6),
        sources=row["sources"],
        valid_from=dates.show(row["valid_from"]),
        valid_to=dates.last_day(end),
    )


def _passages(store: Substrate, scored: Scored) -> list[words.PassageHit]:
    rows = {
        row[0]: row[1:]
        for row in store.database.rows(
            "SELECT p.id, s.name, p.text, p.title, p.key FROM passage p JOIN source s ON s.id = p.source "
            "WHERE p.id IN (SELECT value FROM json_each(?))",
            (json.dumps([passage for passage, _ in scored]),),
        )
    }
    hits: list[words.PassageHit] = []
    for passage, score in scored:
        if passage in rows:
            source, text, title, key = rows[passage]
            shown = text if len(text) <= TEXT_SHOWN else text[:TEXT_SHOWN] + " […]"
            hits.append(words.PassageHit(score=round(score, 6), source=source, text=shown, title=title, id=key))
    return hits


def _summary(reply: words.Recalled, query: str) -> str:
    if not reply.nodes and not reply.facts and not reply.passages:
        return "Nothing fitting is stored."
    best = "; ".join(_told(fact) for fact in _chain(reply.facts, query))
    if not best and reply.nodes:
        best = reply.nodes[0].name
    counts = f"{len(reply.facts)} facts, {len(reply.nodes)} names, {len(reply.passages)} passages"
    return f"Recalled {counts}" + (f"; best: {best}." if best else ".")


def _told(fact: words.Fact) -> str:
    return f"{fact.subject} {fact.relation} {fact.object}"


def _chain(facts: Sequence[words.Fact], query: str) -> Sequence[words.Fact]:
    """The first fact, and the second where it goes on from that end of the first which the question does not name.

    Small models answer from this sentence: where a question takes two steps, it must not end after one.
    """
    if len(facts) <= 1:
        return facts
    first, second = facts[:2]
    shared = {first.subject, first.object} & {second.subject, second.object}
    if not shared:
        return facts[:1]
    named = set(spans(query[:2_000]))
    ends = [end for end in (first.subject, first.object) if normal(end) not in named]
    return facts[: 2 if len(ends) == 1 and ends[0] in shared else 1]


def _next(reply: words.Recalled, store: Substrate, params: words.Recall) -> str | None:
    if reply.nodes or reply.facts or reply.passages:
        return None
    if store.database.scalar("SELECT 1 FROM node LIMIT 1") is None:
        return EMPTY_NEXT
    if params.sources is not None:
        return "Ask again without `sources`."
    return "Ask in other words, or name an entity that is stored."
