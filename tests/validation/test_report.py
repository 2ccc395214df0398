"""The report: its rule, its pages, and that nothing in it is written by hand."""

import json
import re

import pytest

from validation import claims, result
from validation.report import __main__ as report
from validation.report import files, html, markdown, svg, verdicts
from validation.report.verdicts import Row, judge


@pytest.mark.parametrize(
    ("low", "high", "claimed", "verdict"),
    [
        (0.1, 9.0, 5.0, "supported"),
        (0.0, 9.0, 5.0, "undecided"),
        (-3.0, 4.9, 5.0, "not supported"),
        (-3.0, 5.0, 5.0, "undecided"),
        (-9.0, -1.0, 5.0, "not supported"),
    ],
)
def test_a_verdict_follows_from_the_interval_and_the_claimed_effect_alone(low, high, claimed, verdict):
    """Zero and the claimed effect are the only two borders."""
    assert judge(low, high, claimed) == verdict


def written(folder, name, *, quick=False, **body):
    whole = {
        "name": name,
        "quick": quick,
        "date": "2026-11-30",
        "commit": "abc",
        "machine": {"cpu": "c", "cores": 2, "memory_gib": 1, "kernel": "k", "python": "3", "load_1m": 0.1},
        "seconds": 1.0,
        "headline": "it <works>",
        "figures": {"gain": {"points": 12.0, "interval 95 %": [4.0, 20.0]}},
        "goals": [{"name": "speed", "wanted": "<= 3 | 4 ms", "measured": 9, "met": False}],
        "n": 150,
        **body,
    }
    whole["digest"] = result.digest(whole)
    (folder / f"{name}{'.quick' if quick else ''}.json").write_text(json.dumps(whole), encoding="utf-8")


CLAIM = claims.Claim(
    id="H-x",
    says="x <helps>",
    result="x",
    effect="figures/gain/points",
    interval="figures/gain/interval 95 %",
    claimed=5.0,
)


@pytest.fixture
def measured(tmp_path):
    """One full result."""
    written(tmp_path, "x")
    return files.load(tmp_path)


def test_a_hypothesis_takes_effect_interval_and_n_from_its_file(measured):
    """Keys with blanks, commas and dots are ordinary parts of a path."""
    (row,) = verdicts.rows([CLAIM], measured)
    assert (row.measured, row.low, row.high, row.n, row.verdict) == (12.0, 4.0, 20.0, 150, "supported")


def test_a_hypothesis_without_a_result_is_not_measured():
    """It stays in the table."""
    (row,) = verdicts.rows([CLAIM], {})
    assert (row.verdict, row.source) == ("not measured", "")


def test_a_figure_that_is_not_there_is_named_with_its_file(measured):
    """A renamed figure cannot silently become another one."""
    with pytest.raises(KeyError, match=r"x\.json: figures/gain/nope: there is no 'nope'"):
        measured["x"].at("figures/gain/nope")


def test_a_full_run_goes_before_a_quick_one_and_a_quick_one_says_so(tmp_path):
    """A part is shown only where there is no whole, and marked."""
    written(tmp_path, "x", quick=True)
    (row,) = verdicts.rows([CLAIM], files.load(tmp_path))
    assert "quick run" in markdown.hypotheses([row])
    written(tmp_path, "x", n=7)
    assert verdicts.rows([CLAIM], files.load(tmp_path))[0].n == 7


def test_the_page_tells_verdicts_goals_and_where_they_were_measured(measured):
    """A missed goal is set off; a bar in a cell breaks no table."""
    rows, promises = verdicts.rows([CLAIM], measured), verdicts.promises(measured)
    page = markdown.page(rows, promises, measured)
    assert "| H-x | x <helps> | +12.0 points | 150 | +4.0 to +20.0 | +5.0 | **supported** |" in page
    assert "| **missed** | speed | <= 3 \\| 4 ms | 9 | `x.json` |" in page
    assert "0 of 1 met" in page


def test_the_html_page_needs_nothing_beside_it_and_escapes_what_it_shows(measured):
    """No link, script, font or picture from anywhere."""
    page = html.page(verdicts.rows([CLAIM], measured), verdicts.promises(measured), measured)
    assert "<svg" in page
    assert "x &lt;helps&gt;" in page
    assert not re.search(r"https?:|src=|href=|<script|@import|url\(", page)


def test_plots_of_nothing_are_left_out_and_plots_of_equal_values_can_be_drawn():
    """Neither divides by zero."""
    assert svg.curves("t", {}, "x", "y") == ""
    assert "circle" in svg.curves("t", {"a": [(10, 1), (10, 1)]}, "x", "y")
    assert "circle" in svg.forest("t", [svg.Effect("a", 0, 0, 0, 0, "undecided")], "points")
    assert "rect" in svg.bars("t", {"a": 0}, "tokens")


SIZES = {
    "1000": {"write_p50_ms": 2.0, "recall_p50_ms": 5.0, "found_by_name": [30, 30], "found_by_question": [0, 30]},
    "10000": {"not reached": "storing took more than 60 s"},
}
SERVER = {
    "version": "1.2",
    "tokens": 388,
    "private_mib_5_clients": 99.6,
    "sizes": SIZES,
    "two clients at once": {"acknowledged": 20, "lost": 2},
    "kill -9": {"acknowledged": 7, "lost": 0},
}
SOLVER = {"version": "3", "tokens": 500, "right": 8, "n": 9, "p50_ms": 12.5}


@pytest.fixture
def beside(tmp_path):
    """A result of the peers."""
    written(tmp_path, "peers", figures={"memory": {"theirs": SERVER}, "solvers": {"another": SOLVER}})
    return files.load(tmp_path)


def test_latencies_and_tokens_of_peers_are_drawn(beside):
    """From the peers' result, one line a server."""
    page = html.page([], [], beside)
    assert page.count("<svg") == 3
    assert "388 tokens" in page
    assert "<td>theirs 1.2</td>" in page


def test_others_stand_beside_ours_in_a_table(beside):
    """What was not reached is a dash, never a zero; what was lost says of how many."""
    told = markdown.peers(beside)
    assert "| theirs 1.2 | 388 | 100 MiB | 2 / - | 5 / - | 30 of 30, 0 of 30 | 2 of 20 + 0 of 7 |" in told
    assert "| another 3 | 500 | 8 of 9 | 12.5 |" in told
    assert "1,000 / 10,000 facts" in told
    assert markdown.peers({}) == ""


def test_the_readme_names_what_is_missed(measured):
    """Each missed goal with what was wanted and its file."""
    told = markdown.readme([], verdicts.promises(measured), measured)
    assert "0 of 1 goals are met" in told
    assert "- speed: 9 (wanted <= 3 | 4 ms, `x.json`)" in told


def test_only_the_part_between_the_markers_is_replaced():
    """The rest of the README belongs to its writers."""
    text = f"before\n{report.START}\nold\n{report.END}\nafter"
    assert report.within(text, "new") == f"before\n{report.START}\nnew\n{report.END}\nafter"
    with pytest.raises(ValueError, match="lacks"):
        report.within("no markers", "new")


def test_small_effects_keep_their_places():
    """0.004 is not shown as nothing."""
    assert markdown.number(0.004) == "+0.004"
    assert markdown.number(-12.34) == "-12.3"
    assert "undecided" in markdown.hypotheses(
        [Row(id="a", says="b", verdict="undecided", measured=0.0, low=-1, high=1, n=3, source="x.json", unit="points")]
    )
