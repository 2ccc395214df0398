"""Logic-LM's LogicalDeduction programs translated to infix constraints, as a user of the tool would write them."""

import json
import re
from typing import Any

from protocol.actions.reason import Solve
from validation.result import data

MODELS = ("gpt-3.5-turbo", "text-davinci-003", "gpt-4")
PUBLISHED = {"gpt-3.5-turbo": 65.67, "text-davinci-003": 62.00, "gpt-4": 87.63}


def load(name: str) -> list[dict[str, Any]]:
    """One file of the logic data."""
    items: list[dict[str, Any]] = json.loads(data(f"logic/{name}.json").read_text(encoding="utf-8"))
    return items


def program_of(item: dict[str, Any]) -> str:
    """The program of an item, verified or as a model wrote it."""
    return str(item.get("program") or item["raw_logic_programs"][0])


def translate(program: str) -> Solve:
    """Domain, Variables, Constraints and Query lines to vars, constraints and options in infix."""
    variables: dict[str, Any] = {}
    constraints: list[dict[str, str]] = []
    options: dict[str, str] = {}
    section = ""
    for line in program.splitlines():
        text, _, note = (part.strip() for part in line.partition(":::"))
        if re.fullmatch(r"(Domain|Variables|Constraints|Query):", text):
            section = text[:-1]
        elif section == "Variables" and "[IN]" in text:
            name, values = (part.strip() for part in text.split("[IN]"))
            numbers = [int(number) for number in re.findall(r"-?\d+", values)]
            variables[name] = f"int {min(numbers)}..{max(numbers)}"
        elif section == "Constraints" and text:
            listed = re.fullmatch(r"AllDifferentConstraint\(\[(.*)\]\)", text)
            constraints.append(
                {"expr": f"all_different({listed[1]})" if listed else text.replace("==", "="), "note": note}
            )
        elif section == "Query" and (found := re.match(r"([A-Z])\)\s*(.*)", text)):
            options[found[1]] = found[2].replace("==", "=")
    return Solve(vars=variables, constraints=list(constraints), options=dict(options))
