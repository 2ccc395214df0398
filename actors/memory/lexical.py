"""Lexical search over facts and passages: BM25 by FTS5; a query is words to it, never syntax."""

from typing import Any, Final

import apsw

from .database import Database
from .text import content_words, segment

POSTINGS_MAX: Final = 6_000
"""Words so common that more rows than this would be scored are left out, rarest first kept."""
WORDS_MAX: Final = 48
DRIFT: Final = 20
"""The count of a common word is kept until one part in so many of it may have changed."""


class Lexical:
    """BM25 over one of the text indexes: `fact` or `passage`."""

    def __init__(self, database: Database, kind: str) -> None:
        self._database = database
        self._kind = kind
        self._common: dict[str, tuple[int, int]] = {}
        self._changed = 0
        self._tokens = database.connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Up to k (id, BM25 score > 0), best first; [] when no word of the query is known."""
        wanted = self._affordable(query)
        if not wanted:
            return []
        expression = " OR ".join('"' + word.replace('"', '""') + '"' for word in wanted)
        table = f"{self._kind}_text"
        rows = self._database.rows(
            f"SELECT rowid, -rank FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid LIMIT ?",
            (expression, k),
        )
        return [(row, score) for row, score in rows if score > 0]

    def size(self) -> int:
        """How many rows are indexed, within the highest id."""
        return int(self._database.scalar(f"SELECT coalesce(max(id), 0) FROM {self._kind}_text_docsize"))

    def frequencies(self, words: list[str]) -> dict[str, int]:
        """In how many rows each word occurs, in any of its forms; 0 for unknown ones.

        FTS5 counts by walking through every row that has the word (50 ms for two words that are in each of a million
        facts), so the counts of common words are kept: they may be 5 % off, and never on the other side of
        `POSTINGS_MAX` than the truth.
        """
        stems = {word: self._stem(word) for word in words}
        found = {stem: count for stem in stems.values() if (count := self._kept(stem))}
        asked = [stem for stem in stems.values() if stem not in found]
        counted = self._count(asked) if asked else {}
        self._common.update((stem, (count, self._changed)) for stem, count in counted.items() if count > POSTINGS_MAX)
        found.update(counted)
        return {word: found.get(stem, 0) for word, stem in stems.items()}

    def _kept(self, stem: str) -> int:
        """What was counted before, when it still tells what is asked of it; else 0."""
        count, at = self._common.get(stem, (0, 0))
        changed = self._changed - at
        return count if changed * DRIFT <= count and count - changed > POSTINGS_MAX else 0

    def _count(self, stems: list[str]) -> dict[str, int]:
        places = ",".join("?" * len(stems))
        return dict(
            self._database.rows(f"SELECT term, doc FROM {self._kind}_terms WHERE term IN ({places})", tuple(stems))
        )

    def _stem(self, word: str) -> str:
        tokens: Any = self._tokens(word.encode(), apsw.FTS5_TOKENIZE_QUERY, None)
        return str(tokens[0][2]) if tokens else word

    def _affordable(self, query: str) -> list[str]:
        if self._database.scalar(f"SELECT 1 FROM {self._kind}_text_docsize LIMIT 1") is None:
            return []
        counts = self.frequencies(list(dict.fromkeys(content_words(query)))[:WORDS_MAX])
        chosen, rows = [], 0
        for word, count in sorted(counts.items(), key=lambda item: item[1]):
            if count and (not chosen or rows + count <= POSTINGS_MAX):
                chosen.append(word)
                rows += count
        return chosen

    def add(self, rows: list[tuple[int, str]]) -> None:
        """Index texts under their ids; inside the caller's transaction."""
        self._changed += len(rows)
        table = f"{self._kind}_text"
        self._database.connection.executemany(
            f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", ((row, segment(text)) for row, text in rows)
        )

    def clear(self) -> None:
        """Take every row out, with every byte; inside the caller's transaction."""
        self._common.clear()
        self._database.connection.execute(f"INSERT INTO {self._kind}_text ({self._kind}_text) VALUES ('delete-all')")

    def remove(self, ids: list[int]) -> None:
        """Take rows out; inside the caller's transaction."""
        self._changed += len(ids)
        table = f"{self._kind}_text"
        self._database.connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", ((row,) for row in ids))
