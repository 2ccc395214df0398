"""What was taught: associations from cells to nodes, kept in the file and mirrored in memory.

After Shen, Dasgupta and Navlakha (Neural Computation 35:1797, 2023): only the weights from active cells to the
taught node change, all others stay frozen; weights are clipped to [0, 1]. The score of a node is the weight of the
question's own cells over their number, so that it is at most 1 whatever was taught before.
"""

import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from .database import Database
from .flyhash import Cells, FlyHash
from .gate import Candidate, Gate, opens, plain, telling
from .lexical import Lexical
from .text import normal
from .vectors import Codes

EXAMPLES_MAX: Final = 3
BOOST_SCALE: Final = 2.0
CANDIDATES: Final = 12
RECENT_MAX: Final = 48
SHARED_MIN: Final = 0.7
CHANGED_MIN: Final = 1e-9


class Taught(Struct, frozen=True):
    """One example: the node, the phrase and its code."""

    id: int
    node: int
    text: str
    code: Cells


class Weights(Struct, frozen=True):
    """What is learned about one node: its cells, ascending, with their weights."""

    cells: Cells
    values: npt.NDArray[np.float32]

    def of(self, code: Cells) -> float:
        """The weight of a code's cells over their number."""
        place = np.minimum(np.searchsorted(self.cells, code), max(len(self.cells) - 1, 0))
        if not len(self.cells):
            return 0.0
        return float(self.values[place][self.cells[place] == code].sum() / len(code))


class Meaning(Struct, frozen=True):
    """A node that a question was taught to mean, by which example, how strongly (0 to 1)."""

    node: int
    example: str
    strength: float


class Learning:
    """The mirror in memory; `update` writes, `meanings` reads and never writes."""

    def __init__(self, database: Database, dimension: int) -> None:
        self._database = database
        self.fly = FlyHash(dimension)
        self._frozen()
        self.reload()

    def _frozen(self) -> None:
        """Bind the projection to the file; another one makes what was taught before meaningless and is refused."""
        held = self._database.meta("projection")
        if held is None:
            self._database.set_meta("projection", self.fly.fingerprint)

    @property
    def fits(self) -> bool:
        """Whether the file was taught with this very projection."""
        return self._database.meta("projection") == self.fly.fingerprint

    def reload(self) -> None:
        """Read everything taught from the file."""
        self._held: dict[int, Weights] = {}
        self._examples: dict[int, list[Taught]] = {}
        self._by_word: dict[str, set[int]] = {}
        rows = self._database.connection.execute("SELECT node, cell, weight FROM association ORDER BY node, cell")
        for node, group in itertools.groupby(rows, key=operator.itemgetter(0)):
            self._held[int(node)] = _weights([(cell, weight) for _, cell, weight in group])
        for row in self._database.rows("SELECT id, node, text, code FROM example ORDER BY id"):
            self._index(Taught(row[0], row[1], row[2], np.frombuffer(row[3], np.int32)))
        self._sort()

    def refresh(self, node: int) -> None:
        """Read anew what was taught for one node, once its update is committed."""
        for example in self._examples.pop(node, ()):
            for word in set(telling(example.text)):
                self._by_word[word].discard(node)
        for row in self._database.rows("SELECT id, node, text, code FROM example WHERE node = ? ORDER BY id", (node,)):
            self._index(Taught(row[0], row[1], row[2], np.frombuffer(row[3], np.int32)))
        rows = self._database.rows("SELECT cell, weight FROM association WHERE node = ? ORDER BY cell", (node,))
        self._held[node] = _weights(rows)
        self._recent.add(node)
        if len(self._recent) > RECENT_MAX:
            self._sort()

    def _index(self, example: Taught) -> None:
        self._examples.setdefault(example.node, []).append(example)
        for word in set(telling(example.text)):
            self._by_word.setdefault(word, set()).add(example.node)

    def _sort(self) -> None:
        """Lay all weights out by cell, so that a code finds its own at once."""
        self._recent: set[int] = set()
        held = list(self._held.items())
        sizes = [len(weights.cells) for _, weights in held]
        cells = np.concatenate([weights.cells for _, weights in held]) if held else np.zeros(0, np.int32)
        values = np.concatenate([weights.values for _, weights in held]) if held else np.zeros(0, np.float32)
        order = np.argsort(cells, kind="stable")
        self._cells, self._weights = cells[order], values[order]
        self._columns = np.repeat(np.arange(len(held)), sizes)[order]
        self._nodes = [node for node, _ in held]

    def __len__(self) -> int:
        return sum(map(len, self._examples.values()))

    def examples_of(self, node: int) -> list[str]:
        """The phrases taught for a node."""
        return [example.text for example in self._examples.get(node, ())]

    def update(self, node: int, text: str, vector: Codes, strength: float, now_ns: int) -> tuple[int, int]:
        """Teach that a phrase means a node; inside the caller's transaction; call `refresh` once it is committed.

        Returns:
            How many weights changed, and how many cells are active.
        """
        code = self.fly.code(vector)
        self._make_room(node, text)
        self._database.connection.execute(
            "INSERT INTO example (node, text, norm, code, vector, strength, used_ns) VALUES (?,?,?,?,?,?,?) "
            "ON CONFLICT (node, norm) DO UPDATE "
            "SET strength = max(strength, excluded.strength), used_ns = excluded.used_ns",
            (node, text, normal(text), code.tobytes(), vector.tobytes(), strength, now_ns),
        )
        held = dict(self._database.rows("SELECT cell, weight FROM association WHERE node = ?", (node,)))
        after = {cell: min(1.0, held.get(cell, 0.0) + strength) for cell in code.tolist()}
        changed = [(node, cell, weight) for cell, weight in after.items() if weight != held.get(cell)]
        self._database.connection.executemany(
            "INSERT INTO association VALUES (?, ?, ?) ON CONFLICT (node, cell) DO UPDATE SET weight = excluded.weight",
            changed,
        )
        return len(changed), len(code)

    def recode(self, rows: Sequence[tuple[int, Codes]]) -> None:
        """Give examples the codes of another embedder, at their own strength; inside the caller's transaction."""
        run = self._database.connection
        for example, vector in rows:
            code = self.fly.code(vector)
            found = run.execute("SELECT node, strength FROM example WHERE id = ?", (example,)).fetchone()
            if found is None:
                continue
            node, strength = found
            update = (code.tobytes(), vector.tobytes(), example)
            run.execute("UPDATE example SET code = ?, vector = ? WHERE id = ?", update)
            run.executemany(
                "INSERT INTO association VALUES (?, ?, ?) ON CONFLICT (node, cell) "
                "DO UPDATE SET weight = min(1.0, max(weight, excluded.weight))",
                ((node, cell, strength) for cell in code.tolist()),
            )
        if rows:
            self.reload()

    def _make_room(self, node: int, text: str) -> None:
        """Keep at most EXAMPLES_MAX phrases a node: the oldest goes, with the weights that only it supports."""
        mine = self._examples.get(node, [])
        if any(normal(example.text) == normal(text) for example in mine) or len(mine) < EXAMPLES_MAX:
            return
        oldest, rest = mine[0], mine[1:]
        kept = np.unique(np.concatenate([example.code for example in rest]))
        lost = np.setdiff1d(oldest.code, kept).tolist()
        run = self._database.connection
        run.execute("DELETE FROM example WHERE id = ?", (oldest.id,))
        run.executemany("DELETE FROM association WHERE node = ? AND cell = ?", [(node, cell) for cell in lost])

    def overlaps(self, code: Cells) -> dict[int, float]:
        """Score of every node that shares a cell with a code: the weight of those cells over their number."""
        low = np.searchsorted(self._cells, code, "left")
        count = np.searchsorted(self._cells, code, "right") - low
        found: dict[int, float] = {}
        if count.sum():
            at = np.repeat(low - np.concatenate(([0], np.cumsum(count)[:-1])), count) + np.arange(int(count.sum()))
            total = np.bincount(self._columns[at], self._weights[at], minlength=len(self._nodes)) / len(code)
            found = {self._nodes[column]: float(total[column]) for column in np.flatnonzero(total).tolist()}
        for node in self._recent:
            found.pop(node, None)
            if score := self._held[node].of(code):
                found[node] = score
        return found

    def meanings(self, question: str, vector: Codes, lexical: Lexical, gate: Gate) -> list[Meaning]:
        """What the question was taught to mean, strongest first; [] when nothing passes the gate."""
        if not self._examples:
            return []
        overlaps = self.overlaps(self.fly.code(vector)) if vector.any() else {}
        candidates = self._candidates(question, overlaps)
        frequency = _frequency(lexical, [word for one in candidates for word in telling(one.example)])
        best: dict[int, Meaning] = {}
        for candidate in candidates:
            strength = opens(candidate, question, frequency, len(self), gate)
            if strength > CHANGED_MIN and strength > (best[candidate.node].strength if candidate.node in best else 0):
                best[candidate.node] = Meaning(candidate.node, candidate.example, round(min(strength, 1.0), 4))
        return sorted(best.values(), key=lambda one: (-one.strength, one.node))

    def _candidates(self, question: str, overlaps: Mapping[int, float]) -> list[Candidate]:
        """Examples of which the question has most telling words, and those of the nodes that overlap most."""
        ranked = sorted(overlaps.items(), key=lambda item: -item[1])[:CANDIDATES]
        first, second = (ranked[i][1] if len(ranked) > i else 0.0 for i in range(2))
        near = {node for node, _ in ranked}
        said = set(telling(question)) | set(plain(question))
        nodes = near | {node for word in said for node in self._by_word.get(word, ())}
        found: list[Candidate] = []
        for node in sorted(nodes):
            overlap = overlaps.get(node, 0.0)
            lead = overlap - (second if overlap >= first else first)
            for example in self._examples.get(node, ()):
                words = set(telling(example.text))
                if node in near or len(words & said) >= SHARED_MIN * len(words):
                    strength = self._held[node].of(example.code)
                    found.append(
                        Candidate(node=node, example=example.text, strength=strength, overlap=overlap, lead=lead)
                    )
        return found


def _weights(rows: Sequence[tuple[int, float]]) -> Weights:
    table = np.array(rows, np.float64).reshape(-1, 2)
    return Weights(table[:, 0].astype(np.int32), table[:, 1].astype(np.float32))


def _frequency(lexical: Lexical, listed: list[str]) -> dict[str, float]:
    distinct = list(dict.fromkeys(listed))
    total = max(1, lexical.size())
    return {word: count / total for word, count in lexical.frequencies(distinct).items()} if distinct else {}
