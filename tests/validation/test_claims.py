"""The manifest and the documents, held against each other: no claim without evidence, no evidence without a claim."""

import ast

import pytest

from validation import claims
from validation.report import files, verdicts
from validation.result import ROOT

CLAIMS = claims.load()
BY_ID = {claim.id: claim for claim in CLAIMS}
DOCUMENTS = ("README.md", "ARCHITECTURE.md")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_promise_and_every_figure_of_a_document_is_a_claim_of_the_manifest(name):
    """A new promise fails here until it says what it rests on."""
    assert claims.statements(name)
    assert claims.uncovered(name, CLAIMS) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_quotation_stands_in_its_document(name):
    """A claim that nobody makes any more fails here."""
    text = claims.document(name)
    gone = [(c.id, q.text) for c in CLAIMS for q in c.quotes if q.file == name and q.text not in text]
    assert gone == []


def test_ids_are_unique_and_quotations_are_of_known_documents():
    """One id, one claim."""
    assert len(BY_ID) == len(CLAIMS)
    assert {quote.file for claim in CLAIMS for quote in claim.quotes} <= set(DOCUMENTS)


@pytest.mark.parametrize("id", [claim.id for claim in CLAIMS if claim.quotes])
def test_what_a_document_claims_has_a_test_that_exists(id):
    """A file, or a function in it."""
    assert BY_ID[id].tests
    for node in BY_ID[id].tests:
        name, _, function = node.partition("::")
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        functions = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert not function or function in functions, node


@pytest.mark.parametrize("id", [claim.id for claim in CLAIMS if claim.result and claim.quotes])
def test_what_a_document_claims_of_a_measurement_has_its_figure_in_a_result_file(id):
    """The file is there, and the figure or goal in it."""
    claim, results = BY_ID[id], files.load()
    assert claim.result in results, f"python -m validation.run {claim.result}"
    if claim.hypothesis:
        assert verdicts.row(claim, results).source
    else:
        assert verdicts.goal(claim, results) is not None, claim.goal


@pytest.mark.parametrize("id", [claim.id for claim in CLAIMS if claim.hypothesis])
def test_every_hypothesis_that_was_measured_can_be_judged(id):
    """Effect, interval and n are where the manifest says; the claimed effect is above zero."""
    assert BY_ID[id].claimed > 0
    verdicts.row(BY_ID[id], files.load())


def test_a_new_promise_without_evidence_is_found(monkeypatch, tmp_path):
    """Both kinds: a bold point at the head, and a sentence with a figure."""
    (tmp_path / "README.md").write_text("# X\n\n- **speed** without end;\n\n## Y\n\nIt starts in 3 ms. It is red.\n")
    monkeypatch.setattr(claims, "ROOT", tmp_path)
    assert claims.uncovered("README.md", ()) == ["- **speed** without end;", "## Y It starts in 3 ms."]
