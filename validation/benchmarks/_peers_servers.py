"""The servers side by side: how each is had, started, and asked to store a fact, to recall one, to solve a puzzle."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from validation.result import ROOT, MissingData

from ._bridge_foreign import node, npm_program
from ._h_words import Triple, sentence

_CACHE: Final = ROOT / ".cache" / "foreign"
Call = tuple[str, dict[str, Any]]
"""A tool's name and its arguments."""


class MemoryServer(Struct, frozen=True, kw_only=True):
    """A memory server. `at_once`: facts that one call may store; `search`: it takes words to look for, no question."""

    name: str
    version: str
    command: Callable[[], list[str]]
    environment: Callable[[Path], dict[str, str]]
    store: Callable[[Sequence[Triple]], Call]
    recall: Callable[[str], Call]
    at_once: int


class SolverServer(Struct, frozen=True, kw_only=True):
    """A solver server: a puzzle in our words becomes its call, its answer becomes places by name."""

    name: str
    version: str
    command: Callable[[], list[str]]
    solve: Callable[[Mapping[str, Any]], Call]
    read: Callable[[str], dict[str, int]]


def python_program(package: str, program: str, *more: str) -> Path:
    """A program of a Python package in an environment of its own, installed on first use.

    Raises:
        MissingData: it cannot be had here.
    """
    home = _CACHE / package.partition("=")[0]
    if not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", package, *more]
        for command in ([sys.executable, "-m", "venv", str(home)], pip):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise MissingData(f"{package} cannot be installed here: {done.stderr.strip()[-300:]}")
        (home / "complete").touch()
    return home / "bin" / program


def _npm(package: str, program: str) -> Callable[[], list[str]]:
    return lambda: [str(node()), str(npm_program(package, program))]


def _entities(facts: Sequence[Triple]) -> dict[str, Any]:
    listed = [{"name": s, "entityType": "thing", "observations": [f"{r} {o}"]} for s, r, o in facts]
    return {"entities": listed}


OURS: Final = "chrysalis"
MEMORIES: Final = (
    MemoryServer(
        name=OURS,
        version="this commit",
        command=lambda: [sys.executable, "-m", "launcher.bridge"],
        environment=lambda _: {},
        store=lambda facts: (
            OURS,
            {
                "domain": "memory",
                "action": "ingest",
                "params": {"triples": [list(f) for f in facts], "source": "peers"},
            },
        ),
        recall=lambda text: (OURS, {"domain": "memory", "action": "recall", "params": {"query": text, "k": 5}}),
        at_once=500,
    ),
    MemoryServer(
        name="server-memory",
        version="2026.8.31",
        command=_npm("@modelcontextprotocol/server-memory@2026.8.31", "mcp-server-memory"),
        environment=lambda home: {"MEMORY_FILE_PATH": str(home / "memory.jsonl")},
        store=lambda facts: ("create_entities", _entities(facts)),
        recall=lambda text: ("search_nodes", {"query": text}),
        at_once=500,
    ),
    MemoryServer(
        name="mcp-memory-libsql",
        version="0.0.17",
        command=_npm("mcp-memory-libsql@0.0.17", "mcp-memory-libsql"),
        environment=lambda home: {"LIBSQL_URL": f"file:{home / 'memory.db'}"},
        store=lambda facts: ("create_entities", _entities(facts)),
        recall=lambda text: ("search_nodes", {"query": text}),
        at_once=50,
    ),
    MemoryServer(
        name="neural-memory",
        version="4.63.0",
        command=lambda: [str(python_program("neural-memory==4.63.0", "nmem-mcp"))],
        environment=lambda home: {"HOME": str(home)},
        store=lambda facts: (
            ("nmem_remember", {"content": sentence(facts[0])})
            if len(facts) == 1
            else ("nmem_remember_batch", {"memories": [{"content": sentence(fact)} for fact in facts]})
        ),
        recall=lambda text: ("nmem_recall", {"query": text}),
        at_once=20,
    ),
)


def _terms(rule: str) -> dict[str, Any]:
    """One of our rules as a linear or all-different constraint over integer variables and constants."""
    if found := re.fullmatch(r"all_different\((.*)\)", rule):
        return {"kind": "all_different", "params": {"vars": found[1].split(", ")}}
    if found := re.fullmatch(r"(\w+) < (\w+)", rule):
        return _linear(found[1], found[2], "<=", -1)
    if found := re.fullmatch(r"(\w+) = (\w+) \+ (\d+)", rule):
        return _linear(found[1], found[2], "==", int(found[3]))
    if found := re.fullmatch(r"(\w+) != (\d+)", rule):
        return {"kind": "all_different", "params": {"vars": [found[1], f"is{found[2]}"]}}
    raise ValueError(rule)


def _linear(one: str, other: str, sense: str, right: int) -> dict[str, Any]:
    terms = [{"var": one, "coef": 1}, {"var": other, "coef": -1}]
    return {"kind": "linear", "params": {"terms": terms, "sense": sense, "rhs": right}}


def _chuk(params: Mapping[str, Any]) -> Call:
    size = len(params["vars"])
    variables = [{"id": v, "domain": {"type": "integer", "lower": 1, "upper": size}} for v in params["vars"]]
    variables += [{"id": f"is{k}", "domain": {"type": "integer", "lower": k, "upper": k}} for k in range(1, size + 1)]
    rules = [{"id": f"c{number}", **_terms(rule)} for number, rule in enumerate(params["constraints"])]
    return "solve_constraint_model", {"mode": "satisfy", "variables": variables, "constraints": rules}


def _chuk_read(text: str) -> dict[str, int]:
    solutions = json.loads(text).get("solutions") or [{"variables": []}]
    return {one["id"]: int(one["value"]) for one in solutions[0]["variables"]}


def _smt(rule: str) -> str:
    if found := re.fullmatch(r"all_different\((.*)\)", rule):
        return f"(distinct {found[1].replace(',', '')})"
    if found := re.fullmatch(r"(\w+) < (\w+)", rule):
        return f"(< {found[1]} {found[2]})"
    if found := re.fullmatch(r"(\w+) = (\w+) \+ (\d+)", rule):
        return f"(= {found[1]} (+ {found[2]} {found[3]}))"
    if found := re.fullmatch(r"(\w+) != (\d+)", rule):
        return f"(not (= {found[1]} {found[2]}))"
    raise ValueError(rule)


def _z3smt(params: Mapping[str, Any]) -> Call:
    size = len(params["vars"])
    lines = [f"(declare-const {v} Int)(assert (and (<= 1 {v}) (<= {v} {size})))" for v in params["vars"]]
    lines += [f"(assert {_smt(rule)})" for rule in params["constraints"]]
    return "solve_smtlib", {"smtlib_code": "\n".join([*lines, "(check-sat)", "(get-model)"])}


def _pairs(text: str) -> dict[str, int]:
    """Names and whole numbers in a model as text, whatever stands between."""
    found = re.findall(r'"?\b([a-z]+)"?(?:\s*\(\)\s*Int)?\s*(?:=|:|->)?\s*"?(\d+)"?', text)
    return {name: int(value) for name, value in found}


def _ours_read(text: str) -> dict[str, int]:
    data = json.loads(text)["data"]
    return data["model"] if data["unique"] else {}


SOLVERS: Final = (
    SolverServer(
        name=OURS,
        version="this commit",
        command=lambda: [sys.executable, "-m", "launcher.bridge"],
        solve=lambda params: (OURS, {"domain": "reason", "action": "solve", "params": dict(params)}),
        read=_ours_read,
    ),
    SolverServer(
        name="chuk-mcp-solver",
        version="0.5.2",
        command=lambda: [str(python_program("chuk-mcp-solver==0.5.2", "chuk-mcp-solver"))],
        solve=_chuk,
        read=_chuk_read,
    ),
    SolverServer(
        name="z3smt-mcp",
        version="0.1.0",
        command=lambda: [str(python_program("z3smt-mcp==0.1.0", "z3smt-mcp", "mcp<2"))],
        solve=_z3smt,
        read=_pairs,
    ),
)
