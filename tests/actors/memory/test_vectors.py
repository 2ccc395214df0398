"""The vector index: exact while small, sign bits when large, nothing left of what was removed."""

import os

import numpy as np
import pytest

from actors.memory import rows as rows_module
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


def near(seed: int, query: np.ndarray, cosines: np.ndarray) -> np.ndarray:
    """Unit rows at such cosines from a unit query."""
    away = np.random.default_rng(seed).normal(size=(len(cosines), len(query)))
    away -= (away @ query)[:, None] * query
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    return (cosines[:, None] * query + np.sqrt(1 - cosines[:, None] ** 2) * away).astype(np.float32)


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("half", [False, True])
def test_sign_bits_find_in_order_what_is_near(monkeypatch, in_file, half):
    dimension, count = 384, 20_000
    query = unit(2, 1, dimension // 2 if half else dimension)[0]
    rows = unit(1, count, dimension)
    rows[5_000:5_060, : len(query)] = near(3, query, np.linspace(0.9, 0.5, 60))
    rows[5_000:5_060, len(query) :] = 0
    monkeypatch.setattr(rows_module, "IN_FILE_PAST_BYTES", 0 if in_file else 1 << 40)
    index = VectorIndex(dimension)
    for start in range(0, count, 4_096):
        part = rows[start : start + 4_096]
        index.add(range(start, start + len(part)), quantise(part))
    asked = np.zeros(dimension, np.float32)
    asked[: len(query)] = query
    ids, cosines = index.search(asked, 60)
    exact = quantise(rows).astype(np.float32)
    exact = exact @ asked / np.linalg.norm(exact, axis=1)
    assert set(range(5_000, 5_060)) == set(ids.tolist())
    assert ids.tolist() == sorted(ids.tolist(), key=lambda row: -exact[row])
    assert cosines == pytest.approx(exact[ids], abs=1e-5)
    held, found = index.vectors([5_001, 70_000, 3])
    assert held.tolist() == [5_001, 3]
    assert found @ asked == pytest.approx(exact[[5_001, 3]], abs=1e-5)
    assert (index.nbytes < count * dimension) == in_file


@pytest.mark.parametrize("in_file", [False, True])
def test_a_model_of_the_index_agrees_through_adding_replacing_removing_and_compacting(monkeypatch, in_file):
    monkeypatch.setattr(vectors, "EXACT_MAX_ROWS", 50)
    monkeypatch.setattr(vectors, "COMPACT_MIN", 20)
    monkeypatch.setattr(rows_module, "IN_FILE_PAST_BYTES", 64 * 70 if in_file else 1 << 40)
    rng = np.random.default_rng(11)
    index, model = VectorIndex(64), {}
    for step in range(60):
        ids = rng.choice(400, 9, replace=False)
        if step % 3 == 2:
            gone = rng.choice(400, 60, replace=False)
            index.remove(gone)
            model = {row: code for row, code in model.items() if row not in set(gone.tolist())}
        codes = quantise(rng.normal(size=(9, 64)).astype(np.float32))
        index.add(ids, codes)
        model.update(zip(ids.tolist(), codes, strict=True))
        assert sorted(index.ids().tolist()) == sorted(model), f"seed 11, step {step}"
        query = unit(step, 1)[0]
        found, cosines = index.search(query, 5)
        held = np.array(sorted(model))
        stored = np.stack([model[row] for row in held.tolist()]).astype(np.float32)
        exact = stored @ query / np.linalg.norm(stored, axis=1)
        best = held[np.argsort(-exact)[:5]]
        assert found.tolist() == best.tolist(), f"seed 11, step {step}"
        assert cosines == pytest.approx(np.sort(exact)[::-1][:5], abs=1e-5)
        assert index.cosines(held, query) == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("room_for", [0, 1, 2])
def test_rows_are_in_memory_again_when_the_disk_has_no_room_left(monkeypatch, room_for):
    allocated = []

    def allocate(fd: int, offset: int, size: int) -> None:
        if len(allocated) >= room_for:
            raise OSError(28, "No space left on device")
        allocated.append(os.ftruncate(fd, offset + size))

    monkeypatch.setattr(rows_module, "IN_FILE_PAST_BYTES", 0)
    monkeypatch.setattr(vectors, "EXACT_MAX_ROWS", 10)
    monkeypatch.setattr(os, "posix_fallocate", allocate)
    index, rows = VectorIndex(64), unit(12, 1_000)
    for start in range(0, 1_000, 100):
        index.add(range(start, start + 100), quantise(rows[start : start + 100]))
    assert len(allocated) == room_for
    assert [int(index.search(row, 1)[0][0]) for row in rows] == list(range(1_000))
    assert index.nbytes > 64_000


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
    assert [index.search(row, 1)[0].tolist() for row in rows] == [[row] for row in range(count)]


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
