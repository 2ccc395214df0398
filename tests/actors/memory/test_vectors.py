"""The vector index: exact while small, sign bits when large, nothing left of what was removed."""

import numpy as np
import pytest

from actors.memory import vectors
from actors.memory.vectors import Block, VectorIndex, quantise


def unit(seed: int, count: int, dimension: int = 64) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_the_nearest_come_first_with_their_cosines():
    rows = unit(0, 500)
    index = VectorIndex(64)
    index.add(range(1, 501), quantise(rows))
    ids, cosines = index.search(rows[41], 5)
    assert ids[0] == 42
    assert cosines[0] == pytest.approx(1.0, abs=0.02)
    exact = np.argsort(-(rows @ rows[41]))[:5] + 1
    assert len(set(exact.tolist()) & set(ids.tolist())) >= 4


def test_sign_bits_find_what_exact_search_finds(monkeypatch):
    rows = unit(1, 5_000)
    query = unit(2, 1)[0]
    exact, coarse = VectorIndex(64), VectorIndex(64)
    exact.add(range(5_000), quantise(rows))
    monkeypatch.setattr(vectors, "EXACT_MAX_ROWS", 10)
    coarse.add(range(5_000), quantise(rows))
    assert set(exact.search(query, 10)[0].tolist()) == set(coarse.search(query, 10)[0].tolist())


@pytest.mark.parametrize("room", [0, 9, 10, 11, 20, 21, 300])
@pytest.mark.parametrize("count", [1, 10, 11, 200])
def test_an_index_filled_in_blocks_finds_each_row_whatever_room_was_made_for_it(monkeypatch, room, count):
    monkeypatch.setattr(vectors, "EXACT_MAX_ROWS", 10)
    rows = unit(10, count)
    index = VectorIndex(64)
    index.reserve(room, room)
    for start in range(0, count, 7):
        part = rows[start : start + 7]
        index.add(range(start, start + len(part)), quantise(part))
    assert [index.search(row, 1)[0].tolist() for row in rows] == [[id] for id in range(count)]


def test_what_was_removed_is_not_found_and_does_not_eat_the_top():
    rows = unit(3, 2_000)
    index = VectorIndex(64)
    index.add(range(2_000), quantise(rows))
    index.remove(range(1_999))
    assert index.search(rows[0], 5)[0].tolist() == [1_999]
    assert len(index) == 1


def test_an_id_stored_again_has_its_new_vector_only():
    rows = unit(4, 2)
    index = VectorIndex(64)
    index.add([7], quantise(rows[:1]))
    index.add([7], quantise(rows[1:]))
    ids, cosines = index.search(rows[0], 5)
    assert ids.tolist() == [7]
    assert cosines[0] < 0.9


def test_search_within_allowed_ids_sees_no_other():
    rows = unit(5, 100)
    index = VectorIndex(64)
    index.add(range(100), quantise(rows))
    ids, _ = index.search(rows[3], 10, np.array([10, 20, 999]))
    assert set(ids.tolist()) == {10, 20}


def test_neighbours_are_found_in_each_block_of_components():
    rows = unit(6, 3)
    twin = rows[0].copy()
    twin[32:] = rows[1][32:]
    index = VectorIndex(64)
    index.add([1, 2, 3], quantise(rows))
    _, ids, _ = index.neighbours(twin[None], (Block(0, 32, 0.95), Block(32, 64, 0.95)))
    assert set(ids.tolist()) == {1, 2}


@pytest.mark.parametrize("k", [0, 1, 4_097, 1_000_000])
def test_any_k_is_served(k):
    index = VectorIndex(64)
    index.add(range(10), quantise(unit(7, 10)))
    assert len(index.search(unit(8, 1)[0], k)[0]) == min(k, 10)


def test_an_empty_index_finds_nothing():
    ids, cosines = VectorIndex(64).search(unit(9, 1)[0], 3)
    assert len(ids) == len(cosines) == 0
