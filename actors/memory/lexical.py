"""Lexical search over facts and passages: BM25 by FTS5; a query is words to it, never syntax."""

from typing import Any, Final

import apsw

from .database import Database
from .text import content_words, segment

POSTINGS_MAX: Final = 6_000
"""Words so common that more rows than this would be scored are left out, rarest first kept."""
WORDS_MAX: Final = 48


class Lexical:
    """BM25 over one of the text indexes: `fact` or `passage`."""

    def __init__(self, database: Database, kind: str) -> None:
        self._database = database
        self._kind = kind
        self._tokens = database.connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Up to k (id, BM25 score > 0), best first; [] when no word of the query is known."""
        wanted = self._affordable(query)
        if not wanted:
            return []
        expression = " OR ".join('"' + word.replace('"', '""') + '"' for word in wanted)
        table = f"{self._kind}_text"
        rows = self._database.rows(
            f"SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ? ORDER BY bm25({table}), rowid LIMIT ?",
            (expression, k),
        )
        return [(row, score) for row, score in rows if score > 0]

    def size(self) -> int:
        """How many rows are indexed, within the highest id."""
        return int(self._database.scalar(f"SELECT coalesce(max(id), 0) FROM {self._kind}_text_docsize"))

    def frequencies(self, words: list[str]) -> dict[str, int]:
        """In how many rows each word occurs, in any of its forms; 0 for unknown ones."""
        stems = {word: self._stem(word) for word in words}
        found = dict(
            self._database.rows(
                f"SELECT term, doc FROM {self._kind}_terms WHERE term IN ({','.join('?' * len(stems))})",
                tuple(stems.values()),
            )
        )
        return {word: found.get(stem, 0) for word, stem in stems.items()}

    def _stem(self, word: str) -> str:
        tokens: Any = self._tokens(word.encode(), apsw.FTS5_TOKENIZE_QUERY, None)
        return str(tokens[0][2]) if tokens else word

    def _affordable(self, query: str) -> list[str]:
        counts = self.frequencies(list(dict.fromkeys(content_words(query)))[:WORDS_MAX])
        chosen, rows = [], 0
        for word, count in sorted(counts.items(), key=lambda item: item[1]):
            if count and (not chosen or rows + count <= POSTINGS_MAX):
                chosen.append(word)
                rows += count
        return chosen

    def add(self, rows: list[tuple[int, str]]) -> None:
        """Index texts under their ids; inside the caller's transaction."""
        table = f"{self._kind}_text"
        self._database.connection.executemany(
            f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", ((row, segment(text)) for row, text in rows)
        )

    def clear(self) -> None:
        """Take every row out, with every byte; inside the caller's transaction."""
        self._database.connection.execute(f"INSERT INTO {self._kind}_text ({self._kind}_text) VALUES ('delete-all')")

    def remove(self, ids: list[int]) -> None:
        """Take rows out; inside the caller's transaction."""
        table = f"{self._kind}_text"
        self._database.connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", ((row,) for row in ids))
