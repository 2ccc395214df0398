"""What a picture shows: the neighbourhood of a node, or the nodes that a recall's mass reached."""

from protocol.action import Outcome
from protocol.actions import memory as words
from protocol.errors import Fault

from . import picture
from .embed.service import QueryVectors
from .recall import Question, Recaller
from .seeding import Tuning
from .substrate import Substrate
from .text import normal


def draw(store: Substrate, params: words.Picture, vectors: QueryVectors | None, tuning: Tuning) -> Outcome:
    """The page for a node, for a query, or for the best connected node when neither is named.

    Raises:
        Fault: `not_found` for an unknown node or an empty memory.
    """
    graph = store.present().graph
    if params.query is not None and vectors is not None:
        question = Question(text=params.query, vector=vectors.search, foreign=vectors.foreign)
        found = Recaller(store, question, tuning).run()
        masses = dict(found.nodes[: params.max_nodes])
        drawn = picture.draw(store, graph, masses, [node for node, _ in found.seeds], f"Recall: {params.query}")
    else:
        node, name = _node(store, params.node)
        masses = picture.neighbourhood(graph, node, params.depth, params.max_nodes)
        drawn = picture.draw(store, graph, masses, [node], f"Around {name}")
    reply = words.Pictured(html=drawn.html, nodes=drawn.nodes, edges=drawn.edges)
    return Outcome(summary=f"Drew {drawn.nodes} entities and {drawn.edges} lines.", data=reply)


def _node(store: Substrate, name: str | None) -> tuple[int, str]:
    if name is None:
        sql = (
            "SELECT n.id, n.name FROM edge e JOIN node n ON n.id = e.subject WHERE e.invalidated_ns IS NULL "
            "GROUP BY n.id ORDER BY count(*) DESC LIMIT 1"
        )
        row = store.database.connection.execute(sql).fetchone()
    else:
        sql = "SELECT id, name FROM node WHERE norm = ? AND linked >= 0"
        row = store.database.connection.execute(sql, (normal(name),)).fetchone()
    if row is None:
        what = "Nothing is stored yet." if name is None else f"There is no entity {name!r}."
        raise Fault("not_found", what, next_action="Name a stored entity; memory.recall finds their names.")
    return row[0], row[1]
