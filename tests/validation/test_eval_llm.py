"""The harness, driven by a model whose every word is known, through the real daemon, bridge and MCP client."""

import json

import pytest

from evidence.build import from_results
from validation import eval_llm, result
from validation.llm import transcripts
from validation.report import files

from .fake_llm import serving, think


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Folders of its own for results and transcripts."""
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(result, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(transcripts, "FOLDER", tmp_path / "kept")
    return tmp_path


def run(url, *words):
    return eval_llm.main(["--url", url, "--params-b", "1", *words])


@pytest.mark.timeout(300)
def test_facts_that_only_the_memory_has_are_found_by_native_and_by_printed_calls(results):
    """The model alone knows none; every reply comes from what the tool gave; records become evidence."""
    with serving() as (url, got):
        assert run(url, "--hyp", "ha", "--n", "6") == 0
    body = files.load(results / "results")["llm"]
    arms = body.at("figures/groups/ha")
    assert (arms["alone"]["right"], arms["memory"]["right"]) == (0, 6)
    assert arms["memory"]["calls"] == {"native": 5, "printed": 1, "served": 6, "refused": 0}
    assert body.at("figures/hypotheses/H-a/points") == 100
    assert body.at("figures/hypotheses/H-c") is None
    assert body.seal == "sealed"
    assert "ha: 6 of 40 planned items" in body.at("notes")
    (record,) = from_results(results / "results")
    assert (record.action, record.pairs.only_with, record.task_set.split) == ("memory.recall", 6, "derive")
    assert not [one for one in got if one.get("tools") and one.get("response_format")]
    assert all("ANSWER:" not in one["messages"][-1]["content"] for one in got if one.get("tools"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_puzzles_are_solved_by_forced_calls_and_advice_comes_from_what_the_run_measured(results):
    """The arms that choose are told by the product; nothing is asked twice when the run is repeated."""
    words = ("--hyp", "hc,adv", "--n", "3", "--calls", "forced")
    with serving() as (url, got):
        assert run(url, *words) == 0
        asked = len(got)
        assert run(url, *words) == 0
        assert len(got) == asked
    body = files.load(results / "results")["llm"]
    assert body.at("figures/groups/hc/solver/right") == 3
    assert body.at("figures/groups/adv/always/right") == 3
    assert body.at("figures/groups/adv/own/called") == 3
    assert body.at("figures/groups/adv/generic/called") == 0
    assert body.at("figures/groups/adv/oracle/right") == 3
    assert body.at("figures/hypotheses/H-adv/n") == 3


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_alias_is_found_only_where_its_teaching_counts(results):
    """The untaught arm sees the same store with learning switched off."""
    with serving() as (url, _):
        assert run(url, "--hyp", "hbe2e", "--n", "4", "--calls", "forced") == 0
    found = files.load(results / "results")["llm"].at("figures/groups/hbe2e")
    assert {found["untaught"]["n"], found["memory"]["n"]} == {4}
    assert found["memory"]["calls"]["served"] == found["untaught"]["calls"]["served"] == 4


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_model_sits_the_products_own_calibration(results):
    """One that knows nothing is told to be basic, in at most as many items as the plan allows."""
    with serving() as (url, got):
        assert run(url, "--hyp", "cal", "--n", "1") == 0
    (sitting,) = files.load(results / "results")["llm"].at("figures/groups/cal/sittings")
    assert sitting["verdict"] == "basic"
    assert sitting["right"] == 0
    assert len(got) == sitting["asked"] <= 8


@pytest.mark.timeout(300)
def test_an_endpoint_that_goes_away_costs_nothing_that_was_asked(results):
    """The run ends with 2 and the next one goes on."""
    count = iter(range(100))

    def failing(body):
        return think(body) if next(count) < 5 else {"status": 500}

    with serving(failing) as (url, _):
        assert run(url, "--hyp", "hc", "--n", "4", "--calls", "forced") == 2
    kept = [line for path in (results / "kept").rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert kept
    assert not list((results / "results").iterdir())
    with serving() as (url, got):
        assert run(url, "--hyp", "hc", "--n", "4", "--calls", "forced") == 0
    trials = [
        json.loads(line) for path in (results / "kept").rglob("*.jsonl") for line in path.read_text().splitlines()
    ]
    assert len(trials) == 8
    assert len(got) < 16


def collected(body):
    """The result as its transcripts alone give it."""
    told = body.at("figures")
    model = told["model"]
    words = ["--collect", "--name", body.name, "--calls", told["calls"], "--context", str(told["context"])]
    words += ["--thinking", "both", "--thinking-by", told["thinking_by"], "--model-name", model["name"]]
    words += ["--params-b", str(model["params_b"]), "--quantisation", model.get("quantisation", "")]
    words += ["--plan", str(body.at("seed"))]
    run = eval_llm.Run(eval_llm.parser().parse_args(words), None)
    eval_llm.collect(run, eval_llm.groups.ORDER)
    return json.loads(json.dumps(eval_llm.measured(run).figures))


def test_every_result_of_a_model_follows_from_its_transcripts():
    """Each figure and record in the file is that of the trials beside it, under the plan that is committed."""
    measured = [body for body in files.load().values() if "transcripts" in body.at("figures")]
    assert measured
    for body in measured:
        assert collected(body) == body.at("figures"), body.source


def test_a_trial_that_was_changed_by_hand_is_seen(results):
    """What the transcripts give is then no longer what the run wrote."""
    with serving() as (url, _):
        assert run(url, "--hyp", "hc", "--n", "2", "--calls", "forced") == 0
    body = files.load(results / "results")["llm"]
    assert collected(body) == body.at("figures")
    (path,) = (results / "kept").rglob("hc.jsonl")
    path.write_text(path.read_text().replace('"right":true', '"right":false'))
    assert collected(body) != body.at("figures")


def test_what_is_kept_after_a_torn_line_is_read_again(results):
    """A run that was killed while it wrote costs that line alone, not the one that comes after."""
    first = transcripts.Lines("run", "cal", dict)
    first.add({"a": 1})
    path = results / "kept" / "run" / "cal.jsonl"
    path.write_bytes(path.read_bytes() + b'{"a": ')
    again = transcripts.Lines("run", "cal", dict)
    again.add({"a": 2})
    again.add({"a": 3})
    assert transcripts.Lines("run", "cal", dict).kept == again.kept == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_collecting_nothing_overwrites_nothing(results, capsys):
    """Wrong words, or transcripts that are not there, leave every result as it is."""
    assert eval_llm.main(["--collect", "--hyp", "ha"]) == 2
    assert eval_llm.main(["--collect", "--hyp", "ha", "--model-name", "m"]) == 2
    told = capsys.readouterr().err
    assert "--model-name" in told
    assert "nothing is written" in told
    assert not list((results / "results").iterdir())


def test_without_an_endpoint_or_with_an_unknown_group_it_says_what_is_wrong(monkeypatch, capsys):
    """Exit 2, nothing written."""
    monkeypatch.delenv("CHRYSALIS_LLM_URL", raising=False)
    assert eval_llm.main(["--hyp", "ha"]) == 2
    assert eval_llm.main(["--hyp", "nope", "--url", "http://127.0.0.1:9/v1"]) == 2
    assert eval_llm.main(["--hyp", "ha", "--url", "http://127.0.0.1:9/v1"]) == 2
    told = capsys.readouterr().err
    assert "CHRYSALIS_LLM_URL" in told
    assert "unknown groups: nope" in told
