"""What the memory's actions do, in the words of its users; the reported faults are in test_faults."""

import gzip
import re
import time
from pathlib import Path

import pytest

from actors.memory import backup, schema
from actors.memory.database import Lock
from protocol.errors import Fault
from validation.benchmarks._memory import open_memory

FIXTURES = Path(__file__).parent / "fixtures"
FACTS = [["Ada", "works at", "the lab"], ["the lab", "is owned by", "Babbage Ltd"]]


def facts(memory, query, **more):
    return [(f.subject, f.relation, f.object) for f in memory.call("memory.recall", query=query, **more).data.facts]


def test_a_question_two_steps_away_is_answered_with_its_path_and_sources(stored):
    found = stored.call("memory.recall", query="Who owns the place where Ada works?", explain=True, k=10).data
    assert ("the lab", "is owned by", "Babbage Ltd") in [(f.subject, f.relation, f.object) for f in found.facts]
    (path,) = [path for path in found.paths if path.node == "London"]
    assert path.steps[-1].object == "London"
    assert all(step.sources == ["notes"] for step in path.steps)


def test_seeds_mode_does_not_walk(stored):
    walked = stored.call("memory.recall", query="Ada", k=10).data
    searched = stored.call("memory.recall", query="Ada", k=10, mode="seeds").data
    assert (walked.mode, searched.mode) == ("ppr", "seeds")
    assert walked.residual > 0
    assert searched.residual == 0
    assert [fact.score for fact in walked.facts] != [fact.score for fact in searched.facts]


def test_only_what_the_named_sources_state_is_recalled(stored):
    stored.call("memory.ingest", triples=[["Ada", "likes", "tea"]], source="diary")
    assert facts(stored, "Ada", sources=["diary"]) == [("Ada", "likes", "tea")]
    assert facts(stored, "Ada", sources=["unknown"]) == []


def test_a_fact_is_seen_while_it_is_valid(memory):
    memory.call("memory.ingest", triples=[{"s": "Ada", "r": "lives in", "o": "Rome", "valid_to": "2001"}])
    assert facts(memory, "where does Ada live?") == []
    assert facts(memory, "where does Ada live?", as_of="2001-12-31") == [("Ada", "lives in", "Rome")]
    assert facts(memory, "where does Ada live?", as_of="2002") == []


def test_what_was_forgotten_is_seen_as_of_the_time_before(stored):
    stored.call("memory.forget", source="notes")
    assert facts(stored, "Ada") == []
    assert ("Ada", "works at", "the lab") in facts(stored, "where does Ada work?", as_of="2020")


def test_a_taught_phrase_is_recalled_as_what_it_means_with_its_example(stored):
    stored.call("memory.update", query="the big brain", node="Ada")
    (learned,) = stored.call("memory.recall", query="where does the big brain work?").data.learned_as
    assert (learned.node, learned.taught) == ("Ada", "the big brain")
    assert not stored.call("memory.recall", query="how big is a brain?").data.learned_as
    assert not stored.call("memory.recall", query="the big brain", lambda_=0).data.learned


def test_teaching_an_unknown_entity_suggests_a_known_one(stored):
    with pytest.raises(Fault) as caught:
        stored.call("memory.update", query="x", node="Adda")
    assert caught.value.failure.code == "not_found"
    assert "Ada" in caught.value.failure.next_action


def test_only_three_examples_a_node_are_kept_and_the_oldest_goes(stored):
    for word in ("alpha", "beta", "gamma", "delta"):
        reply = stored.call("memory.update", query=f"the {word} one", node="Ada").data
    assert reply.examples == ["the beta one", "the gamma one", "the delta one"]


def test_the_mirror_of_what_was_learned_equals_the_file(stored):
    for i in range(6):
        stored.call("memory.update", query=f"phrase number {i}", node=["Ada", "Grace"][i % 2], strength=0.4)
    learning = stored.store().learning
    code = learning.fly.code(stored.vector("phrase number 3"))
    before = learning.overlaps(code)
    learning.reload()
    assert learning.overlaps(code) == pytest.approx(before)


def test_purging_is_the_operators(stored):
    with pytest.raises(Fault, match="operator"):
        stored.call("memory.forget", source="notes", purge=True)


def test_a_whole_export_can_be_read_page_by_page(stored):
    after, seen = 0, []
    while True:
        page = stored.call("memory.export", operator=True, after=after, limit=2).data
        seen += [(item["s"], item["r"], item["o"]) for item in page.items]
        after = page.next
        if not after:
            break
    assert len(seen) == page.total == 4


def test_a_picture_needs_nothing_from_outside(stored):
    stored.call("memory.ingest", triples=[["<script>alert(1)</script>", "works at", "the lab"]])
    for params in ({"node": "the lab"}, {"query": "who works at the lab?"}, {}):
        html = stored.call("memory.graph", operator=True, **params).data.html
        assert "<script" not in html
        assert not re.search(r"(src|href)=|url\(|https?://(?!www\.w3\.org)", html)
        assert "the lab" in html


def test_backups_rotate_and_the_newest_stay(stored):
    names = [stored.call("memory.consolidate").data.backup for _ in range(backup.KEPT + 3)]
    listed = [one.name for one in stored.call("memory.restore").data.backups]
    assert listed == sorted(names, reverse=True)[: backup.KEPT]


def test_a_backup_that_was_changed_is_not_restored(stored, tmp_path):
    name = stored.call("memory.consolidate").data.backup
    path = stored.actor.file.backups.folder / name
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(Fault, match="hash differs"):
        stored.call("memory.restore", name=name)
    assert facts(stored, "Ada") != []


def test_a_second_holder_of_the_file_is_refused_in_words(tmp_path):
    lock = Lock(tmp_path / "m.lock")
    with pytest.raises(Fault, match="Another process holds"):
        Lock(tmp_path / "m.lock", wait_s=0.1)
    lock.release()
    Lock(tmp_path / "m.lock", wait_s=0.1).release()


def test_a_database_of_another_program_is_left_alone(tmp_path):
    import apsw

    path = tmp_path / "other.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = path.read_bytes()
    with open_memory(path, choice="hash:64", remember=False) as memory, pytest.raises(Fault, match="another program"):
        memory.call("memory.recall", query="x")
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", range(1, schema.VERSION + 1))
def test_a_file_of_every_version_opens_and_can_be_restored(version, tmp_path):
    path = tmp_path / "m.db"
    path.write_bytes(gzip.decompress((FIXTURES / f"v{version}.db.gz").read_bytes()))
    with open_memory(path, choice="hash:64", remember=False) as memory:
        assert ("Ada", "works at", "the lab") in facts(memory, "where does Ada work?")
        assert memory.call("memory.recall", query="the countess").data.learned_as[0].node == "Ada"
        assert facts(memory, "old gone") == [] or "gone" not in str(facts(memory, "old gone"))
        name = memory.call("memory.consolidate").data.backup
        memory.call("memory.forget", source="notes")
        memory.call("memory.restore", name=name)
        assert ("Ada", "works at", "the lab") in facts(memory, "where does Ada work?")


def test_a_restore_brings_back_yesterday_and_keeps_today_as_a_backup(stored):
    name = stored.call("memory.consolidate").data.backup
    stored.call("memory.ingest", triples=[["Ada", "likes", "tea"]])
    reply = stored.call("memory.restore", name=name).data
    assert ("Ada", "likes", "tea") not in facts(stored, "Ada")
    stored.call("memory.restore", name=reply.before)
    assert ("Ada", "likes", "tea") in facts(stored, "Ada")


def test_a_write_under_a_deadline_that_has_passed_changes_nothing_or_is_whole(stored):
    begun = time.monotonic()
    outcome = stored.call("memory.ingest", triples=[["a", "b", "c"]] * 3, deadline_ms=50, wait=False)
    assert outcome.data.new_edges == 1
    assert time.monotonic() - begun < 30


def test_stats_tell_what_is_there(stored):
    stats = stored.call("memory.stats").data
    assert (stats.nodes, stats.edges, stats.sources) == (6, 4, 1)
    assert stats.embedder == "hash:256"
    assert stats.embedder_state.startswith("ready")


def test_a_stopped_reindex_is_continued_and_a_finished_one_begins_anew(tmp_path):
    """Also when the background has done the rest by the time the command is given again."""
    with open_memory(tmp_path / "m.db", choice="hash:256", remember=False) as memory:
        memory.call("memory.ingest", triples=FACTS)
    with open_memory(tmp_path / "m.db", choice="hash:128", remember=False) as memory:
        memory.begin_reindex()
    with open_memory(tmp_path / "m.db", choice="hash:128", remember=False) as memory:
        memory.settle()
        assert memory.call("memory.reindex").data.embedded == 0
        anew = memory.call("memory.reindex").data
        assert anew.embedded == len(FACTS) + 3
        assert memory.call("memory.recall", query="Ada").data.facts[0].subject == "Ada"
