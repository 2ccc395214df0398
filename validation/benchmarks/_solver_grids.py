"""Published logic grids (99 of three and four persons) as constraints: one position for each entity."""

import json
import re
from typing import Any

from protocol.actions.reason import Solve
from validation.result import data

_CLUE = re.compile(r"The person with (?P<one>.+?) (?P<verb>also has|does not have) (?P<other>.+)\.")


def load() -> list[dict[str, Any]]:
    """The puzzles with clues, entities and solution."""
    puzzles: list[dict[str, Any]] = json.loads(data("puzzles/zebra_gurobi_99.json").read_text(encoding="utf-8"))
    return puzzles


def encode(puzzle: dict[str, Any]) -> Solve:
    """Entities of a dimension are at different persons; the first dimension numbers the persons."""
    persons = int(puzzle["num_persons"])
    names = {
        (kind, str(entity)): f"d{at}_{to}"
        for at, kind in enumerate(puzzle["dimensions"])
        for to, entity in enumerate(puzzle["entities"][at])
    }
    constraints: list[Any] = []
    for at, kind in enumerate(puzzle["dimensions"]):
        listed = ", ".join(names[kind, str(entity)] for entity in puzzle["entities"][at])
        constraints.append(
            {"name": f"each_{at}", "expr": f"all_different({listed})", "note": f"Each person has one {kind}."}
        )
    constraints += [
        {"name": f"person_{to}", "expr": f"d0_{to} = {to}", "note": "persons are numbered"} for to in range(persons)
    ]
    for number, clue in enumerate(puzzle["clues"], start=1):
        found = _CLUE.fullmatch(clue)
        if found is None:
            raise ValueError(clue)
        one, other = (_entity(found[side], names) for side in ("one", "other"))
        op = "=" if found["verb"] == "also has" else "!="
        constraints.append({"name": f"clue_{number}", "expr": f"{one} {op} {other}", "note": clue})
    return Solve(vars=dict.fromkeys(names.values(), f"int 0..{persons - 1}"), constraints=constraints)


def _entity(text: str, names: dict[tuple[str, str], str]) -> str:
    return next(name for (kind, entity), name in names.items() if text == f"{kind} {entity}")


def matches(puzzle: dict[str, Any], model: dict[str, Any]) -> bool:
    """Whether the model is the published solution: who has which entity, persons told apart by the first dimension."""
    published = puzzle["solution"]
    for at in range(1, len(puzzle["dimensions"])):
        ours = [model[f"d{at}_{to}"] for to in range(len(puzzle["entities"][at]))]
        if ours != list(published[at]) and [ours.index(person) for person in range(len(ours))] != list(published[at]):
            return False
    return True
