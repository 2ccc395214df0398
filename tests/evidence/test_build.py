"""evidence.json is what the results give, to the byte; the published figures enter as far as they go."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from evidence import build
from evidence import records as records_module
from evidence.inference import Pairs
from evidence.published import least_favourable, records, smallest_counts
from evidence.records import Record, record_id, to_json
from evidence.rules import EVIDENCE, load
from tests.evidence.made import STRONG_GAIN, record

ROOT = Path(__file__).resolve().parents[2]


def results_with(folder: Path, *records_, **body) -> Path:
    content = {"name": "made", "quick": False, "date": "2026-11-30", "commit": "abc", **body}
    content["figures"] = {"records": [to_json(r) for r in records_]}
    (folder / "made.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_the_example_in_the_records_docstring_is_a_record(tmp_path):
    text = records_module.__doc__
    example = json.loads(text[text.index('{"action"') : text.index("\n\nRules that a writer")])
    assert msgspec.convert(example, Record).pairs.n == 20


def test_the_committed_evidence_equals_a_fresh_build():
    done = subprocess.run(
        [sys.executable, "-m", "evidence.build", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_records_of_result_files_become_rules_with_the_files_provenance(tmp_path):
    evidence = build.build(results_with(tmp_path, record()))
    rule = next(r for r in evidence.rules if r.sources == ("made.json",))
    assert (rule.pairs, rule.measured) == (STRONG_GAIN, "2026-11-30")
    assert next(r for r in evidence.records if r.record_id in rule.records).provenance.commit == "abc"


def test_a_count_changed_by_one_in_a_result_file_fails_the_check(tmp_path, capsys):
    out = tmp_path / "evidence.json"
    folder = results_with(tmp_path, record())
    arguments = ["--results", str(folder), "--out", str(out)]
    assert build.main(arguments) == 0
    assert build.main([*arguments, "--check"]) == 0
    results_with(tmp_path, record(Pairs(5, 19, 2, 4)))
    assert build.main([*arguments, "--check"]) == 1
    assert "differs" in capsys.readouterr().err


def test_quick_results_are_no_evidence_and_uncommitted_ones_are_marked(tmp_path):
    assert all(
        r.provenance.kind == "published" for r in build.build(results_with(tmp_path, record(), quick=True)).records
    )
    evidence = build.build(results_with(tmp_path, record(), commit="abc+"))
    assert next(r for r in evidence.records if r.provenance.source == "made.json").provenance.dirty


def test_a_malformed_record_is_named_by_file_and_number(tmp_path):
    folder = results_with(tmp_path, record())
    body = json.loads((folder / "made.json").read_text())
    del body["figures"]["records"][0]["pairs"]
    (folder / "made.json").write_text(json.dumps(body))
    with pytest.raises(ValueError, match=r"made\.json, record 0"):
        build.build(folder)


def test_a_field_that_no_record_has_is_refused_by_name(tmp_path):
    folder = results_with(tmp_path, record())
    body = json.loads((folder / "made.json").read_text())
    body["figures"]["records"][0]["level"] = "recommended"
    (folder / "made.json").write_text(json.dumps(body))
    with pytest.raises(ValueError, match="level"):
        build.build(folder)


def test_the_published_figures_carry_no_strong_level_and_are_mostly_neutral():
    published = [r for r in load(EVIDENCE).rules if r.published]
    levels = [r.level for r in published]
    assert set(levels) == {"experimental", "neutral"}
    assert levels.count("neutral") > levels.count("experimental")


def test_every_published_record_says_how_its_counts_were_had():
    by_note = {r.provenance.note.split(",")[0]: r for r in records()}
    assert by_note["learned aliases"].provenance.counts == "exact"
    assert by_note["learned aliases"].pairs == Pairs(0, 9, 0, 3)
    assert by_note["facts beyond the context window; n is not published"].provenance.counts == "smallest_n"
    assert all(r.record_id == record_id(r) for r in records())


@pytest.mark.parametrize(
    ("with_", "without", "expected"), [("0.35", "0", (17, 6, 0)), ("0.6", "0", (5, 3, 0)), ("0.45", "0.40", (20, 9, 8))]
)
def test_the_smallest_n_is_the_first_that_prints_both_rates(with_, without, expected):
    assert smallest_counts(with_, without) == expected


def test_rates_that_no_count_gives_are_refused():
    with pytest.raises(ValueError, match="no n"):
        smallest_counts("1.5", "0")


def test_the_least_favourable_pairing_keeps_the_margins_and_disagrees_most():
    pairs = least_favourable(5, 3, 17)
    assert (pairs.right_with, pairs.right_without, pairs.n) == (5, 3, 17)
    assert pairs.both == 0
    assert least_favourable(16, 14, 17).both == 13
