"""A measurement is repeated only when something it depends on has changed."""

import subprocess

import pytest

from validation import result
from validation.result import Measured
from validation.resume import standing, unchanged_since


def git(root, *words):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository with one file of code, and a result of its only commit."""
    root = tmp_path / "tree"
    (root / "actors").mkdir(parents=True)
    (root / "validation" / "results").mkdir(parents=True)
    (root / "actors" / "a.py").write_text("1")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    monkeypatch.setattr(result, "RESULTS", root / "validation" / "results")
    monkeypatch.setattr(result, "commit", lambda: git(root, "rev-parse", "HEAD"))
    result.write("x", Measured(headline="h", figures={}), quick=False, seconds=1)
    return root


def test_a_result_of_this_very_code_stands(tree):
    """The result file itself and documents are no code."""
    (tree / "README.md").write_text("new")
    assert standing("x", quick=True, root=tree)["headline"] == "h"
    assert standing("y", quick=True, root=tree) is None


def test_changed_code_makes_it_run_again_committed_or_not(tree):
    """Uncommitted changes count as well."""
    (tree / "actors" / "a.py").write_text("2")
    assert standing("x", quick=True, root=tree) is None
    git(tree, "commit", "-qam", "two")
    assert standing("x", quick=True, root=tree) is None


def test_a_result_of_an_unclean_or_unknown_tree_does_not_stand(tree):
    """A plus after the commit says that something else was measured."""
    assert not unchanged_since(git(tree, "rev-parse", "HEAD") + "+", tree)
    assert not unchanged_since("0" * 40, tree)
    assert not unchanged_since("", tree)


def test_an_edited_result_does_not_stand(tree):
    """It is measured again."""
    path = tree / "validation" / "results" / "x.json"
    path.write_text(path.read_text().replace('"h"', '"better"'))
    assert standing("x", quick=True, root=tree) is None
