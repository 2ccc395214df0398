"""A picture of the memory as one HTML page without anything from outside: a neighbourhood, or how a recall flowed."""

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from .graph import PASSAGE_LINK, Graph, vertex_of_node
from .recall import describe_facts, describe_nodes
from .substrate import Substrate

WIDTH: Final = 1_100
HEIGHT: Final = 760
ROUNDS: Final = 120
LABEL_CHARS: Final = 28
LINES_MAX: Final = 600
STYLE: Final = """
body{margin:0;font:14px system-ui,sans-serif;color:#222;background:#fbfaf7}
header{padding:14px 20px}h1{font-size:17px;margin:0 0 4px}p{margin:0;color:#666}
svg{display:block;width:100%;height:auto}line{stroke:#b9b2a3;stroke-width:1}line.flow{stroke:#c4682b}
circle{fill:#7a8f6b;stroke:#fff;stroke-width:1.5}circle.seed{fill:#c4682b}circle.passage{fill:#5b7f95}
text{font-size:11px;paint-order:stroke;stroke:#fbfaf7;stroke-width:3px}text.edge{font-size:9px;fill:#777}
table{border-collapse:collapse;margin:10px 20px 30px}td{padding:3px 14px 3px 0;border-bottom:1px solid #e5e0d5}
@media (prefers-color-scheme:dark){body{background:#1d1d1b;color:#ddd}text{fill:#ddd;stroke:#1d1d1b}line{stroke:#555}
p,text.edge{color:#999;fill:#999}td{border-color:#333}}
"""


class Drawn(Struct, frozen=True):
    """A page and what it shows."""

    html: str
    nodes: int
    edges: int


def neighbourhood(graph: Graph, start: int, depth: int, most: int) -> dict[int, float]:
    """Nodes within `depth` facts of a node, nearest first, each with a mass that halves by the step."""
    found = {start: 1.0}
    layer = [start]
    for step in range(1, depth + 1):
        _, target, _, edge = graph.out(np.array([vertex_of_node(node) for node in layer], np.int64))
        near = target[(edge != PASSAGE_LINK) & (target % 2 == 0)] // 2
        layer = [node for node in dict.fromkeys(near.tolist()) if node not in found][: most - len(found)]
        found.update(dict.fromkeys(layer, 0.5**step))
        if not layer or len(found) >= most:
            break
    return found


def draw(store: Substrate, graph: Graph, masses: Mapping[int, float], seeds: Sequence[int], title: str) -> Drawn:
    """Draw some nodes with the facts among them.

    Args:
        masses: node id to how large it is drawn, any scale. seeds: nodes drawn as where it began.
    """
    nodes = list(masses)
    lines = _lines(graph, nodes)
    facts = describe_facts(store, [edge for _, _, edge in lines if edge > PASSAGE_LINK])
    places = _layout(len(nodes), [(a, b) for a, b, _ in lines])
    names = describe_nodes(store, nodes)
    top = max(masses.values(), default=1.0) or 1.0
    body = [_line(places[a], places[b], facts.get(edge)) for a, b, edge in lines]
    for place, node in enumerate(nodes):
        size = 4 + 12 * math.sqrt(masses[node] / top)
        body.append(_node(places[place], names.get(node, ""), size, seed=node in set(seeds)))
    return Drawn(_page(title, body, list(facts.values()), len(nodes)), len(nodes), len(lines))


def _lines(graph: Graph, nodes: Sequence[int]) -> list[tuple[int, int, int]]:
    place = {node: i for i, node in enumerate(nodes)}
    if not nodes:
        return []
    source, target, weight, edge = graph.out(np.array([vertex_of_node(node) for node in nodes], np.int64))
    found: dict[tuple[int, int, int], None] = {}
    for a, to, w, by in zip(source.tolist(), target.tolist(), weight.tolist(), edge.tolist(), strict=True):
        b = place.get(to // 2) if to % 2 == 0 else None
        if b is not None and a < b and w > 0 and by != PASSAGE_LINK:
            found[a, b, by] = None
    return list(found)[:LINES_MAX]


def _layout(count: int, lines: Sequence[tuple[int, int]]) -> npt.NDArray[np.float64]:
    """Force-directed (Fruchterman and Reingold 1991), begun on a spiral, so that it is the same each time."""
    turn = np.arange(count) * 2.399963
    radius = np.sqrt(np.arange(count) + 0.5) / math.sqrt(max(count, 1))
    at = np.stack((radius * np.cos(turn), radius * np.sin(turn)), axis=1)
    pairs = np.array(lines, np.int64).reshape(-1, 2)
    spring = 1.2 / math.sqrt(max(count, 1))
    for step in range(ROUNDS):
        apart = at[:, None] - at[None]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
        move = (apart * (spring**2 / distance**2)[:, :, None]).sum(axis=1)
        pull = at[pairs[:, 0]] - at[pairs[:, 1]]
        pull *= np.linalg.norm(pull, axis=1, keepdims=True) / spring
        np.add.at(move, pairs[:, 0], -pull)
        np.add.at(move, pairs[:, 1], pull)
        length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        at += move / length * np.minimum(length, 0.1 * (1 - step / ROUNDS))
    low, high = at.min(axis=0, initial=0), at.max(axis=0, initial=0)
    return 70 + (at - low) / np.maximum(high - low, 1e-9) * (WIDTH - 180, HEIGHT - 120)


def _line(a: Any, b: Any, fact: Mapping[str, Any] | None) -> str:
    label = "" if fact is None else str(fact["relation"])
    kind = "flow" if fact is not None else "synonym"
    middle = (a + b) / 2
    text = (
        f'<text class="edge" x="{middle[0]:.0f}" y="{middle[1]:.0f}">{html.escape(_short(label))}</text>'
        if label
        else ""
    )
    dash = "" if fact is not None else ' stroke-dasharray="3 3"'
    return f'<line class="{kind}" x1="{a[0]:.0f}" y1="{a[1]:.0f}" x2="{b[0]:.0f}" y2="{b[1]:.0f}"{dash}/>{text}'


def _node(at: Any, name: str, size: float, *, seed: bool) -> str:
    kind = ' class="seed"' if seed else ""
    return (
        f'<g><title>{html.escape(name)}</title><circle{kind} cx="{at[0]:.0f}" cy="{at[1]:.0f}" r="{size:.1f}"/>'
        f'<text x="{at[0] + size + 2:.0f}" y="{at[1] + 4:.0f}">{html.escape(_short(name))}</text></g>'
    )


def _short(text: str) -> str:
    return text if len(text) <= LABEL_CHARS else text[: LABEL_CHARS - 1] + "…"


def _page(title: str, body: Sequence[str], facts: Sequence[Mapping[str, Any]], count: int) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(f['subject'])}</td><td>{html.escape(f['relation'])}</td>"
        f"<td>{html.escape(f['object'])}</td><td>{html.escape(', '.join(f['sources'][:3]))}</td></tr>"
        for f in facts[:200]
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style>"
        f"<header><h1>{html.escape(title)}</h1><p>{count} entities, {len(facts)} facts; larger is nearer; orange is "
        f'where it began; dotted is a synonym.</p></header><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html.escape(title)}">{"".join(body)}</svg><table>{rows}</table></html>'
    )
