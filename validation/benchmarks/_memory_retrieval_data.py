"""Public retrieval sets, read from the shared data, and the baselines and measures that they are judged by."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from actors.memory.text import STOP_WORDS, words
from validation.result import data


class Passage(Struct, frozen=True):
    title: str
    text: str
    triples: list[Any] = []

    @property
    def full(self) -> str:
        return f"{self.title}\n{self.text}"


class Item(Struct, frozen=True):
    """A question with the full texts of its gold passages; `hops` where the set tells."""

    question: str
    gold: frozenset[str]
    hops: int = 0


class RetrievalSet(Struct, frozen=True):
    name: str
    passages: list[Passage]
    items: list[Item]


def musique() -> RetrievalSet:
    """MuSiQue-train-100 with GPT-3.5's triples, malformed ones included."""
    questions = json.loads(data("retrieval/musique_train.json").read_text(encoding="utf-8"))
    corpus = json.loads(data("retrieval/musique_train_corpus.json").read_text(encoding="utf-8"))
    name = "retrieval/openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json"
    docs = json.loads(data(name).read_text(encoding="utf-8"))["docs"]
    triples = {doc["passage"]: doc["extracted_triples"] for doc in docs}
    passages = [Passage(c["title"], c["text"], triples.get(f"{c['title']}\n{c['text']}", [])) for c in corpus]
    items = [
        Item(
            q["question"],
            frozenset(f"{p['title']}\n{p['paragraph_text']}" for p in q["paragraphs"] if p["is_supporting"]),
            len(q["question_decomposition"]),
        )
        for q in questions
    ]
    return RetrievalSet("MuSiQue-train-100", passages, items)


def wiki_gold() -> RetrievalSet:
    """2Wiki, 500 training questions with gold triples, each triple told by the supporting passage it belongs to."""
    text = data("retrieval/2wiki_train_500_gold_triples.json").read_text(encoding="utf-8")
    rows = json.loads(text)
    told: dict[tuple[str, str], list[Any]] = {}
    items: list[Item] = []
    for row in rows:
        context = {title: " ".join(lines) for title, lines in row["context"]}
        for title, body in context.items():
            told.setdefault((title, body), [])
        support = list(dict.fromkeys(title for title, _ in row["supporting_facts"]))
        for triple in row["evidences"]:
            title = _tells(triple[0], support)
            if title in context:
                told[title, context[title]].append(triple)
        gold = frozenset(f"{title}\n{context[title]}" for title in support if title in context)
        items.append(Item(row["question"], gold))
    passages = [Passage(title, body, triples) for (title, body), triples in told.items()]
    return RetrievalSet("2Wiki-500 with gold triples", passages, [item for item in items if item.gold])


def _tells(subject: str, titles: Sequence[str]) -> str:
    """The supporting passage whose title is closest to a triple's subject."""
    same = [title for title in titles if title.casefold() == subject.casefold()]
    near = same or [title for title in titles if subject.casefold() in title.casefold()]
    return (near or list(titles))[0]


def wiki_text() -> RetrievalSet:
    """2Wiki-101: text alone, 6,119 passages, gold by title."""
    corpus = json.loads(data("retrieval/2wikimultihopqa_corpus.json").read_text(encoding="utf-8"))
    questions = json.loads(data("retrieval/2wiki_101_questions.json").read_text(encoding="utf-8"))
    passages = [Passage(row["title"], row["text"]) for row in corpus]
    by_title = {passage.title: passage.full for passage in passages}
    items = [
        Item(q["question"], frozenset(by_title[title] for title in q["ground_truth"] if title in by_title))
        for q in questions
    ]
    return RetrievalSet("2Wiki-101, text only", passages, [item for item in items if item.gold])


def _terms(text: str) -> list[str]:
    """Words but stop words, without possessive and plural endings."""
    telling = [word.removesuffix("'s") for word in words(text) if word not in STOP_WORDS]
    return [word.rstrip("s") if len(word) > 3 else word for word in telling]


class BM25:
    """Okapi BM25 (k1 1.2, b 0.75) without stop words and plural endings: 4 points better than with them."""

    def __init__(self, texts: Sequence[str]) -> None:
        documents = [Counter(_terms(text)) for text in texts]
        lengths = np.array([sum(d.values()) for d in documents], np.float64)
        self._norm = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for number, document in enumerate(documents):
            for word, count in document.items():
                self._postings.setdefault(word, []).append((number, count))
        self._n = len(texts)

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """A score per text."""
        scores = np.zeros(self._n)
        for word in _terms(query):
            found = self._postings.get(word, [])
            idf = math.log(1 + (self._n - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                scores[number] += idf * count * 2.2 / (count + self._norm[number])
        return scores

    def top(self, query: str, k: int) -> list[int]:
        """The k best, ties by number."""
        return np.lexsort((np.arange(self._n), -self.scores(query)))[:k].tolist()


def recall_at(ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """Share of the gold passages among the first k."""
    return len(set(ranked[:k]) & gold) / len(gold)


def bootstrap(values: Sequence[float], *, seed: int = 0, rounds: int = 10_000) -> list[float]:
    """95 % interval of a mean, by resampling."""
    sample = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    means = sample[rng.integers(0, len(sample), (rounds, len(sample)))].mean(axis=1)
    return [round(float(x), 4) for x in np.quantile(means, (0.025, 0.975))]
