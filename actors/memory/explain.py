"""Why something was recalled: the shortest way from a seed to each node, along what the walk went through."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from protocol.actions.memory import Path, Step

from .graph import PASSAGE_LINK, SYNONYM_LINK, Graph, vertex_of_node
from .recall import describe_facts, describe_nodes
from .substrate import Substrate

OUT_MAX: Final = 50_000
STEPS_MAX: Final = 8
Link = tuple[int, int]
"""Where a vertex was reached from, and by which edge."""


def paths(
    store: Substrate, graph: Graph, seeds: Sequence[int], nodes: Sequence[int], near: Sequence[int]
) -> list[Path]:
    """A path for each node that a seed reaches.

    Args:
        seeds: node ids, strongest first. nodes: node ids to explain. near: the only vertices used, by mass.
    """
    links = _spread(graph, [vertex_of_node(node) for node in seeds], near)
    routes = {node: _route(links, vertex_of_node(node)) for node in nodes}
    told = _Told(store, [step for route in routes.values() if route for step in route])
    found: list[Path] = []
    for node, route in routes.items():
        if route is None:
            continue
        seed = route[0][0] // 2 if route else node
        found.append(Path(node=told.name(node), seed=told.name(seed), steps=told.steps(route)))
    return found


def _spread(graph: Graph, seeds: Sequence[int], near: Sequence[int]) -> dict[int, Link | None]:
    """Breadth first from the seeds over the vertices in `near`; a vertex with more mass comes first in its layer."""
    allowed = set(near) | set(seeds)
    links: dict[int, Link | None] = dict.fromkeys(seeds)
    rank = {vertex: place for place, vertex in enumerate(near)}
    layer = list(links)
    while layer:
        source, target, _, edge = graph.out(np.array(layer, np.int64))
        following: list[int] = []
        for at, to, by in zip(
            source[:OUT_MAX].tolist(), target[:OUT_MAX].tolist(), edge[:OUT_MAX].tolist(), strict=True
        ):
            if to in allowed and to not in links:
                links[to] = (layer[at], by)
                following.append(to)
        layer = sorted(following, key=lambda vertex: rank.get(vertex, len(rank)))
    return links


def _route(links: Mapping[int, Link | None], vertex: int) -> list[tuple[int, int, int]] | None:
    """Steps (from, edge, to) from a seed; [] for a seed itself, None when it was not reached."""
    if vertex not in links:
        return None
    route: list[tuple[int, int, int]] = []
    while (link := links[vertex]) is not None:
        route.append((link[0], link[1], vertex))
        vertex = link[0]
    return route[::-1] if len(route) <= 2 * STEPS_MAX else None


class _Told:
    """Names and sources of everything on the routes, read at once."""

    def __init__(self, store: Substrate, steps: Sequence[tuple[int, int, int]]) -> None:
        vertices = {vertex for step in steps for vertex in (step[0], step[2])}
        self._store = store
        self._names = describe_nodes(store, [vertex // 2 for vertex in vertices if vertex % 2 == 0])
        self._facts = describe_facts(store, [edge for _, edge, _ in steps if edge > PASSAGE_LINK])
        passages = json.dumps([vertex // 2 for vertex in vertices if vertex % 2])
        sql = (
            "SELECT p.id, s.name, coalesce(p.title, '') FROM passage p JOIN source s ON s.id = p.source "
            "WHERE p.id IN (SELECT value FROM json_each(?))"
        )
        self._passages = {row[0]: (row[1], row[2]) for row in store.database.rows(sql, (passages,))}

    def name(self, node: int) -> str:
        if node not in self._names:
            self._names.update(describe_nodes(self._store, [node]))
        return self._names.get(node, "")

    def steps(self, route: Sequence[tuple[int, int, int]]) -> list[Step]:
        """The steps in words; two over a passage become one."""
        found: list[Step] = []
        before = 0
        for start, edge, end in route:
            if edge > PASSAGE_LINK:
                fact = self._facts[edge]
                sources = fact["sources"]
                found.append(
                    Step(subject=fact["subject"], relation=fact["relation"], object=fact["object"], sources=sources)
                )
            elif edge == SYNONYM_LINK:
                found.append(Step(subject=self.name(start // 2), relation="~", object=self.name(end // 2), sources=[]))
            elif end % 2:
                before = start
            else:
                source, title = self._passages[start // 2]
                relation = f"is named with (in {title})" if title else "is named with"
                found.append(
                    Step(
                        subject=self.name(before // 2), relation=relation, object=self.name(end // 2), sources=[source]
                    )
                )
        return found
