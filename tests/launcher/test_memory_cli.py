"""`chrysalis memory` and `chrysalis backup` against a real daemon: what people do in an hour with their facts."""

import json

import pytest

from launcher.cli import main


@pytest.fixture
def run(stack, monkeypatch, capsys):
    """Run a command; its exit code and what it printed."""
    monkeypatch.setenv("CHRYSALIS_RUNTIME_DIR", str(stack.runtime))

    def command(*words):
        capsys.readouterr()
        code = main(list(words))
        return code, capsys.readouterr().out

    return command


def test_facts_go_in_and_out_and_a_backup_brings_them_back(run, tmp_path):
    source = tmp_path / "town.jsonl"
    rows = [{"s": f"shop {i}", "r": "sells", "o": f"ware {i % 7}"} for i in range(450)]
    source.write_text("\n".join(json.dumps(row) for row in rows) + "\nnot json")
    code, out = run("memory", "import", str(source), "--json")
    told = json.loads(out)
    assert (code, told["stored"], told["unreadable"]) == (0, 450, 1)
    assert told["bad"][0]["line"] == 451
    assert json.loads(run("memory", "import", str(source), "--json")[1])["new"] == 0

    target = tmp_path / "out.nt"
    code, out = run("memory", "export", str(target), "--json")
    assert code == 0
    assert sum("shop" in line for line in target.read_text().splitlines()) == 450

    assert run("call", "memory", "forget", '{"source": "town.jsonl"}')[0] == 0
    code, out = run("backup", "list", "--json")
    newest = json.loads(out)[0]
    assert newest["reason"] == "forget"
    assert run("backup", "restore", newest["name"])[0] == 0
    code, out = run("memory", "export", str(tmp_path / "again.jsonl"), "--json")
    assert json.loads(out)["facts"] >= 450


def test_a_backup_can_be_taken_at_will_and_holds_what_was_there(run, tmp_path):
    fact = '{"triples": [["the lighthouse", "stands on", "the cape"]], "source": "cape"}'
    assert run("call", "memory", "ingest", fact)[0] == 0
    made = json.loads(run("backup", "make", "--json")[1])
    assert made["reason"] == "asked" and made["edges"] >= 1
    assert run("call", "memory", "forget", '{"source": "cape"}')[0] == 0
    assert run("backup", "restore", made["name"])[0] == 0
    assert run("memory", "export", str(tmp_path / "all.jsonl"), "--json")[0] == 0
    assert "the lighthouse" in (tmp_path / "all.jsonl").read_text()


def test_a_picture_is_written_and_an_unknown_entity_is_told(run, tmp_path):
    assert run("call", "memory", "ingest", '{"triples": [["the mill", "stands by", "the river"]]}')[0] == 0
    page = tmp_path / "mill.html"
    code, _ = run("memory", "graph", "the mill", "-o", str(page))
    assert code == 0
    assert "the river" in page.read_text()
    assert run("memory", "graph", "nowhere at all", "-o", str(tmp_path / "none.html"))[0] == 1
    assert not (tmp_path / "none.html").exists()


def test_a_backup_that_is_not_there_is_an_error(run):
    assert run("backup", "restore", "no-such-backup.db")[0] == 1
