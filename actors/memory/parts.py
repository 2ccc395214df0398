"""Subjects and relations of facts by id, kept once they were read: a fact never changes them."""

import json

import numpy as np
import numpy.typing as npt

from .database import Database

Ints = npt.NDArray[np.int64]


class Parts:
    """What a fact is made of, eight bytes for each id there is."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known = np.zeros((0, 2), np.int32)

    def of(self, facts: Ints) -> tuple[Ints, Ints]:
        """(subjects, relations) of facts that are stored, in their order."""
        highest = int(facts.max(initial=0))
        if highest >= len(self._known):
            more = np.zeros((highest * 9 // 8 + 1 - len(self._known), 2), np.int32)
            self._known = np.concatenate((self._known, more))
        new = facts[self._known[facts, 0] == 0]
        if len(new):
            rows = self._database.rows(
                "SELECT id, subject, relation FROM edge WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(new.tolist()),),
            )
            table = np.array(rows, np.int64).reshape(-1, 3)
            self._known[table[:, 0]] = table[:, 1:]
        found = self._known[facts].astype(np.int64)
        return found[:, 0], found[:, 1]

    def forget(self) -> None:
        """Facts were taken away, so that an id may come to mean another."""
        self._known = self._known[:0]
