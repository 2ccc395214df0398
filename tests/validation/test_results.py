"""Result files: written whole, sealed by their run, and seen to be edited when they were."""

import json

import pytest

from validation import result
from validation.report import __main__ as report
from validation.report import files
from validation.result import RESULTS, Goal, Measured, digest, seal_of

MEASURED = Measured(headline="h", figures={"share": 0.5, "pair": (1, 2)}, goals=[Goal("g", "1", 1, met=True)], n=3)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of results of its own."""
    monkeypatch.setattr(result, "RESULTS", tmp_path)
    return tmp_path


def test_a_result_is_sealed_by_the_run_that_wrote_it(folder):
    """The digest is over the file as it is read again."""
    path = result.write("x", MEASURED, quick=False, seconds=1.0)
    body = json.loads(path.read_text(encoding="utf-8"))
    assert seal_of(body) == "sealed"
    assert body["figures"]["pair"] == [1, 2]
    assert [other.name for other in folder.iterdir()] == ["x.json"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda body: body["figures"].update(share=0.9),
        lambda body: body.update(n=300),
        lambda body: body["goals"][0].update(met=False),
        lambda body: body.update(commit="1234567"),
        lambda body: body["figures"].update(more=1),
    ],
)
def test_any_change_by_hand_is_seen(folder, edit):
    """Figures, n, goals, provenance and additions alike."""
    path = result.write("x", MEASURED, quick=False, seconds=1.0)
    body = json.loads(path.read_text(encoding="utf-8"))
    edit(body)
    path.write_text(json.dumps(body), encoding="utf-8")
    assert files.load(folder)["x"].seal == "edited"


def test_the_order_of_keys_is_not_content():
    """A file that was only formatted anew is still what was measured."""
    assert digest({"a": 1, "b": {"c": 2, "d": 3}}) == digest({"b": {"d": 3, "c": 2}, "a": 1})


def test_no_result_file_of_the_project_was_edited_by_hand():
    """Each file with a digest is as its run wrote it."""
    found = {path.name: seal_of(json.loads(path.read_text(encoding="utf-8"))) for path in RESULTS.glob("*.json")}
    assert found
    assert [name for name, seal in found.items() if seal == "edited"] == []


def test_an_edited_file_stops_the_report(folder, monkeypatch, capsys):
    """No page is made of it."""
    path = result.write("x", MEASURED, quick=False, seconds=1.0)
    path.write_text(path.read_text(encoding="utf-8").replace("0.5", "0.6"), encoding="utf-8")
    monkeypatch.setattr(files, "load", lambda folder=folder, load=files.load: load(folder))
    assert report.main([]) == 1
    assert "x.json" in capsys.readouterr().err
