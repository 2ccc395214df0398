"""Word counts that are kept tell the same words apart as counts made anew."""

import random

from actors.memory import lexical
from actors.memory.database import Database
from actors.memory.lexical import DRIFT, Lexical

WORDS = ("whale", "harbour", "lamp", "engine", "violet")
SEED = 20


def test_kept_counts_are_nearly_right_and_on_the_right_side_of_the_limit_after_any_change(monkeypatch, tmp_path):
    limit = 40
    monkeypatch.setattr(lexical, "POSTINGS_MAX", limit)
    rng = random.Random(SEED)
    database = Database(tmp_path / "m.db")
    facts = Lexical(database, "fact")
    held: dict[int, set[str]] = {}
    kept = 0
    for step in range(200):
        added = {step * 10 + i: {w for w in WORDS if rng.random() < 0.2 * WORDS.index(w)} for i in range(3)}
        gone = rng.sample(sorted(held), min(len(held), rng.choice((0, 0, 1, 3))))
        with database.transaction():
            if step == 120:
                facts.clear()
                held.clear()
                gone = []
            facts.add([(row, " ".join(sorted(words)) or "nothing") for row, words in added.items()])
            facts.remove(gone)
        held.update(added)
        held = {row: words for row, words in held.items() if row not in gone}
        counted = facts.frequencies(list(WORDS))
        for word in WORDS:
            truth = sum(word in words for words in held.values())
            assert (counted[word] > limit) == (truth > limit), f"seed {SEED}, step {step}, {word}"
            assert abs(counted[word] - truth) <= max(counted[word], truth) / DRIFT, f"seed {SEED}, step {step}, {word}"
            kept += counted[word] != truth
    assert kept, "nothing was ever kept"
    database.close()
