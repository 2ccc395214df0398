"""The layout is the architecture: which folder may import which, and that each package is ours."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("protocol", "evidence", "actors", "daemon", "launcher", "validation", "tests")
MAY_IMPORT = {
    "protocol": set(),
    "evidence": {"protocol"},
    "actors": {"protocol", "evidence"},
    "daemon": {"protocol"},
    "launcher": {"protocol"},
    "validation": {"protocol", "evidence", "actors", "daemon", "launcher", "tests"},
    "tests": set(PACKAGES),
}


def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


def imported_packages(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_imports_only_what_the_architecture_allows(package):
    """An arrow that the table lacks is named with its file."""
    assert modules(package)
    wrong = {
        f"{path.relative_to(ROOT)} -> {other}"
        for path in modules(package)
        for other in imported_packages(path)
        if other in PACKAGES and other != package and other not in MAY_IMPORT[package]
    }
    assert not wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_that_is_imported_is_ours(package):
    """Another distribution with one of our generic names would be seen here."""
    module = importlib.import_module(package)
    assert Path(module.__file__).resolve().parent == ROOT / package


def test_every_module_says_in_its_first_line_why_it_exists():
    """A module without a docstring has no stated reason."""
    silent = [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in modules(package)
        if path.stat().st_size and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent


def test_the_daemon_names_actors_but_imports_none():
    """A database or a solver in the daemon's process would let a request take it down."""
    heavy = {"apsw", "sqlite3", "sqlite_vec", "numpy", "z3", "mcp"}
    found = {(path.name, name) for path in modules("daemon") for name in imported_packages(path) if name in heavy}
    assert not found
