"""The memory actions: their params and results."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from ..action import Action, Params


class Recall(Params, frozen=True, kw_only=True):
    query: Annotated[str, Meta(description="Question or topic, plain words")]
    k: Annotated[int, Meta(ge=1, le=1000, description="How many nodes and facts")] = 10


class Recalled(Struct, frozen=True, kw_only=True):
    nodes: list[Any]


ACTIONS: tuple[Action, ...] = (
    Action(
        domain="memory",
        name="recall",
        owner="memory",
        purpose="recall facts for a question",
        params=Recall,
        result=Recalled,
        example={"query": "who owns the lab?", "k": 3},
    ),
)
