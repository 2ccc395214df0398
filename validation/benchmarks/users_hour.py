"""A user's hour with the memory: import, kill, resume, change the embedder, forget, restore; as seen in a terminal."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import apsw
import numpy as np

from validation.benchmarks._faults import our_processes, wait_until
from validation.benchmarks._terminal import Seen, percent, type_in
from validation.mcp_lines import LinesClient
from validation.result import Goal, Measured
from validation.run import Context
from validation.stack import Stack

FACTS: Final = 10_000
FACTS_QUICK: Final = 6_000
SECRET: Final = "zorbal"
"""A word that only the forgotten source has."""
SECRETS: Final = 150
SHARED: Final = 50
KILL_FROM_PERCENT: Final = 20
_LIVE: Final = "(SELECT id FROM edge WHERE invalidated_ns IS NULL)"
_LEFT_IN_INDEXES: Final = (
    f"SELECT (SELECT count(*) FROM fact_vector_rowids WHERE rowid NOT IN {_LIVE}), "
    "(SELECT count(*) FROM node_vector_rowids WHERE rowid IN (SELECT id FROM node WHERE linked < 0)), "
    f"(SELECT count(*) FROM fact_text WHERE fact_text MATCH '{SECRET}'), "
    f"(SELECT count(*) FROM passage_text WHERE passage_text MATCH '{SECRET}')"
)
_RELATIONS: Final = ("works at", "lives in", "owns", "studied at", "wrote about", "founded", "repairs", "sells")


def _people(count: int) -> list[dict[str, str]]:
    """So many different facts."""
    return [
        {"s": f"person {i // 4}", "r": _RELATIONS[i % 8], "o": f"place {i * 7 % (count // 3)} of town {i % 97}"}
        for i in range(count)
    ]


class Hour:
    """The user: a terminal, an MCP client, a directory of their own. Keeps what they saw and what was promised."""

    def __init__(self, context: Context, directory: Path) -> None:
        self.directory = directory
        self.count = FACTS_QUICK if context.quick else FACTS
        self.stack = Stack({"CHRYSALIS_EMBEDDER": "hash:256"}, keep=directory)
        self.environment = dict(self.stack.environment)
        self.embedder = self._static() if context.quick else "pair"
        self.saw: dict[str, Any] = {}
        self.goals: list[Goal] = []
        self._context = context
        self._town = self._file("town.jsonl", _people(self.count))

    def _static(self) -> str:
        tokens = np.array(
            [*["person", "place", "of", "town", "works", "at", "lives", "in", "owns"], *map(str, range(self.count))]
        )
        vectors = np.random.default_rng(1).standard_normal((len(tokens), 128)).astype(np.float32)
        np.savez(self.directory / "words.npz", tokens=tokens, vectors=vectors)
        return f"static:{self.directory / 'words.npz'}"

    def _file(self, name: str, rows: list[dict[str, str]]) -> str:
        path = self.directory / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return str(path)

    def _type(self, step: str, *words: str, act: Callable[[list[str]], bool] = lambda _: True) -> Seen:
        seen = type_in(self.environment, *words, act=act)
        self.saw[step] = {"typed": f"chrysalis {' '.join(words).replace(str(self.directory), '.')}", **seen.brief()}
        self._context.progress(f"{step}: {seen.seconds} s, {seen.lines[-1] if seen.lines else 'nothing was shown'}")
        return seen

    def _goal(self, name: str, wanted: str, measured: Any, met: bool) -> None:
        self.goals.append(Goal(name, wanted, measured, met))

    def _kill_midway(self, lines: list[str]) -> bool:
        """KILL the daemon once the bar shows that a good part is done."""
        if not KILL_FROM_PERCENT <= percent(lines) < 100:
            return False
        for process in our_processes(str(self.stack.runtime))["daemon"]:
            process.kill()
        return True

    def stop(self) -> None:
        """`chrysalis stop`, and until all of it is gone."""
        type_in(self.environment, "stop")
        wait_until(lambda: not any(our_processes(str(self.stack.runtime)).values()), 20)

    def _client(self) -> LinesClient:
        return LinesClient(self.environment, "user")

    def _exported(self) -> list[dict[str, Any]]:
        target = self.directory / "all.jsonl"
        type_in(self.environment, "memory", "export", str(target))
        return [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]

    def database(self, sql: str) -> list[Any]:
        """Rows of the file, while no daemon runs."""
        path = self.directory / "data" / "chrysalis" / "substrate.db"
        connection = apsw.Connection(f"file:{path}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        rows: list[Any] = connection.execute(sql).fetchall()
        connection.close()
        return rows

    def imports(self) -> None:
        """Import, the daemon killed midway; the same command again."""
        killed = self._type("import, daemon killed", "memory", "import", self._town, act=self._kill_midway)
        told = killed.code == 1 and "same command again" in killed.text
        self._goal("a killed import says how to go on", "yes", killed.lines[-1], told)
        again = self._type("import again", "memory", "import", self._town)
        kept = int(next((word for word in killed.text.split("% ")[-1].split() if word.isdecimal()), "0"))
        self._goal("the same command again ends well", "exit 0", again.code, again.code == 0)
        self._goal("it tells what was there already", "yes", again.lines[-1], "were there already" in again.text)
        shown = len(set(again.percents))
        self._goal("progress is shown", ">= 3 states", shown, shown >= 3)
        self.saw["import again"]["kept of the killed run"] = kept
        self.stop()
        edges, supports, sources = self.database(
            "SELECT (SELECT count(*) FROM edge), (SELECT sum(supports) FROM edge), (SELECT count(*) FROM support)"
        )[0]
        right = (edges, supports, sources) == (self.count,) * 3
        self._goal("facts, their support counts, and supports", f"{self.count} each", [edges, supports, sources], right)

    def changes_embedder(self) -> None:
        """Another embedder is refused in words; reindex, killed midway, goes on; recall right after."""
        self.environment["CHRYSALIS_EMBEDDER"] = self.embedder
        question = {"query": "what does person 7 own?", "k": 5}
        with self._client() as client:
            wait_until(lambda: client.call("memory", "recall", question)["status"] == "error", 30)
            refused = client.call("memory", "recall", question)
        said = f"{refused['summary']} {refused['next_action']}"
        met = refused["status"] == "error" and "chrysalis memory reindex" in said
        self._goal("another embedder is refused with the command", "yes", said, met)
        killed = self._type("reindex, daemon killed", "memory", "reindex", act=self._kill_midway)
        told = killed.code == 1 and "same command again" in killed.text
        self._goal("a killed reindex says how to go on", "yes", killed.lines[-1], told)
        again = self._type("reindex again", "memory", "reindex")
        self._goal("reindex goes on and ends well", "exit 0", again.code, again.code == 0)
        said = " ".join(again.lines[-2:])
        embedded = int(said.split(" of ")[0].split()[-1]) if " texts embedded" in said else 0
        with self._client() as client:
            started = time.monotonic()
            answer = client.call("memory", "recall", question)
            self.saw["recall after reindex"] = {"seconds": round(time.monotonic() - started, 3)}
        found = {fact["subject"] for fact in answer["data"]["facts"]}
        self._goal("recall right after", "person 7", sorted(found)[:3], "person 7" in found and not answer.get("notes"))
        everything = len({name for row in _people(self.count) for name in (row["s"], row["o"])}) + self.count
        self._goal("a resumed reindex embeds only the rest", f"< {everything}", embedded, embedded < everything)

    def forgets(self) -> None:
        """A source is forgotten: nothing of it is found in any way, and everything of the other."""
        before = {(row["s"], row["r"], row["o"]) for row in self._exported()}
        rows: list[dict[str, str]] = [
            {"s": f"{SECRET} {i}", "r": "is hidden in", "o": f"place {i} of town {i}"} for i in range(SECRETS)
        ]
        rows += _people(self.count)[:SHARED]
        rows += [
            {"text": f"The {SECRET} {i} was never seen by person {i}.", "title": f"{SECRET} {i}"} for i in range(9)
        ]
        self._type("import of a second source", "memory", "import", self._file("secrets.jsonl", rows))
        with self._client() as client:
            known = self._found(client)
            forgotten = client.call("memory", "forget", {"source": "secrets.jsonl"})
            self.saw["forget"] = {"last": forgotten["summary"]}
            left = self._found(client)
        self._goal("the source was found before, in every way", "all", known, all(known.values()))
        self._goal("and after forgetting in none", "none", left, not any(left.values()))
        after = self._exported()
        same = {(row["s"], row["r"], row["o"]) for row in after} == before
        only = {row["source"] for row in after}
        self._goal(
            "of the other source everything is left", "all", [len(after), *only], same and only == {"town.jsonl"}
        )

    def _found(self, client: LinesClient) -> dict[str, bool]:
        """In which ways the secret is found."""
        ways: dict[str, dict[str, Any]] = {
            "ppr": {},
            "seeds": {"mode": "seeds"},
            "explain": {"explain": True},
            "its source": {"sources": ["secrets.jsonl"]},
        }
        found = {
            way: SECRET in _without_notes(client.call("memory", "recall", {"query": f"{SECRET} 3", "k": 20, **more}))
            for way, more in ways.items()
        }
        near = client.call("memory", "recall", {"query": "what is hidden in place 3 of town 3?", "k": 50})
        passages = client.call("memory", "recall", {"query": "who was never seen by person 3?", "k": 50})
        found |= {"by its neighbours": SECRET in _without_notes(near), "passages": SECRET in _without_notes(passages)}
        found["export"] = SECRET in json.dumps(self._exported())
        page = self.directory / "page.html"
        drawn = type_in(self.environment, "memory", "graph", f"{SECRET} 3", "-o", str(page))
        return {**found, "graph": drawn.code == 0}

    def restores(self) -> None:
        """The backup that forgetting made is put back while a client is connected."""
        with self._client() as client:
            client.call("memory", "ingest", {"triples": [["the latecomer", "came", "after the backup"]]})
            listed = json.loads(_last_json(type_in(self.environment, "backup", "list", "--json")))
            name = next(one["name"] for one in listed if one["reason"] == "forget")
            seen = self._type("restore", "backup", "restore", name)
            started = time.monotonic()
            answer = client.call("memory", "recall", {"query": f"{SECRET} 3", "k": 5})
            self.saw["recall after restore"] = {"seconds": round(time.monotonic() - started, 3)}
            late = _without_notes(client.call("memory", "recall", {"query": "the latecomer", "k": 5}))
        told = "written since is gone" in seen.text
        self._goal("restore says what is gone and where it is kept", "yes", seen.lines[-1], seen.code == 0 and told)
        self._goal("the client's next call sees the restored store", "yes", answer["summary"], SECRET in str(answer))
        self._goal("what was written since is gone", "yes", "latecomer" not in late, "latecomer" not in late)
        listed = json.loads(_last_json(type_in(self.environment, "backup", "list", "--json")))
        self._goal("the present was kept as a backup", "restore", listed[0]["reason"], listed[0]["reason"] == "restore")


def _without_notes(answer: dict[str, Any]) -> str:
    """What was found; the question itself is quoted in summaries."""
    return json.dumps([answer["data"].get(part) for part in ("nodes", "facts", "passages", "paths", "seeds")])


def _last_json(seen: Seen) -> str:
    return next(line for line in reversed(seen.lines) if line.startswith(("[", "{")))


def run(context: Context) -> Measured:
    """All of it, in a directory of its own."""
    directory = Path(tempfile.mkdtemp(prefix="cz"))
    hour = Hour(context, directory)
    try:
        hour.imports()
        hour.changes_embedder()
        hour.forgets()
        hour.restores()
    finally:
        hour.stop()
        shutil.rmtree(directory, ignore_errors=True)
    met = sum(goal.met for goal in hour.goals)
    seconds = {step: told["seconds"] for step, told in hour.saw.items() if "seconds" in told}
    return Measured(
        headline=f"a user's hour with {hour.count:,} facts: {met} of {len(hour.goals)} as promised; seconds: "
        + ", ".join(f"{step} {took}" for step, took in seconds.items()),
        figures={"facts": hour.count, "steps": hour.saw},
        goals=hour.goals,
        n=hour.count,
        seed=1,
    )
