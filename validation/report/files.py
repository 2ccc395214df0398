"""The result files as the report reads them: the full run where there is one, else the quick one, and its seal."""

import json
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from validation.result import RESULTS, seal_of

QUICK = ".quick.json"


class Result(Struct, frozen=True, kw_only=True):
    """One file: its decoded body, whether it was a quick run, and whether it is as its run wrote it."""

    name: str
    body: dict[str, Any]
    quick: bool
    seal: Literal["sealed", "unsealed", "edited"]

    @property
    def source(self) -> str:
        """The file's name."""
        return self.name + (QUICK if self.quick else ".json")

    def at(self, path: str) -> Any:
        """The value at a path of keys and list places joined by "/".

        Raises:
            KeyError: naming the path and the part that is not there.
        """
        value: Any = self.body
        for part in path.split("/"):
            try:
                value = value[int(part)] if isinstance(value, list) else value[part]
            except (KeyError, IndexError, ValueError, TypeError):
                raise KeyError(f"{self.source}: {path}: there is no {part!r}") from None
        return value


def load(folder: Path = RESULTS) -> dict[str, Result]:
    """Every benchmark's result by name; the quick one only where there is no full one."""
    found: dict[str, Result] = {}
    for path in sorted(folder.glob("*.json")):
        quick = path.name.endswith(QUICK)
        name = path.name.removesuffix(QUICK if quick else ".json")
        if quick and (folder / f"{name}.json").exists():
            continue
        body = json.loads(path.read_text(encoding="utf-8"))
        found[name] = Result(name=name, body=body, quick=quick, seal=seal_of(body))
    return found
