"""What must hold of the sparse codes and of learning on them."""

import numpy as np
import pytest

from actors.memory.flyhash import FlyHash
from actors.memory.vectors import quantise

FIRST_CELLS = [[16, 23, 48, 73, 98, 118], [17, 30, 56, 80, 86, 115]]


@pytest.fixture(scope="module")
def fly() -> FlyHash:
    return FlyHash(128)


def vectors(seed: int, count: int) -> np.ndarray:
    return quantise(np.random.default_rng(seed).normal(size=(count, 128)).astype(np.float32))


@pytest.mark.parametrize("vector", [np.zeros(128), np.full(128, 7), np.arange(128) - 64])
def test_every_input_has_exactly_the_same_number_of_winners(fly, vector):
    code = fly.code(vector.astype(np.int8))
    assert len(set(code.tolist())) == fly.active
    assert (np.diff(code) > 0).all()


def test_ties_are_broken_by_the_lower_index(fly):
    assert fly.code(np.zeros(128, np.int8)).tolist() == list(range(fly.active))


def test_the_code_is_blind_to_scale_and_to_a_constant(fly):
    vector = vectors(0, 1)[0] // 4
    assert fly.code(vector).tolist() == fly.code((vector * 3).astype(np.int8)).tolist()
    assert fly.code(vector).tolist() == fly.code((vector + 20).astype(np.int8)).tolist()


def test_the_projection_is_the_same_everywhere():
    inputs = FlyHash(128)._inputs
    assert inputs.shape == (20_480, 6)
    assert [row.tolist() for row in inputs[:2]] == FIRST_CELLS
    assert all(len(set(row.tolist())) == 6 for row in inputs[:500])


def test_overlap_grows_with_cosine_and_is_small_by_chance(fly):
    rng = np.random.default_rng(3)
    base = rng.normal(size=128)
    shares = []
    for noise in (0.2, 0.6, 1.2, 50):
        other = base + noise * rng.normal(size=128)
        pair = quantise(np.stack((base, other)).astype(np.float32))
        a, b = (set(fly.code(vector).tolist()) for vector in pair)
        shares.append(len(a & b) / fly.active)
    assert shares == sorted(shares, reverse=True), "seed 3"
    assert shares[-1] < 0.1


def test_no_cell_is_dead_and_none_is_a_hub(fly):
    used = np.bincount(np.concatenate([fly.code(v) for v in vectors(5, 2_000)]), minlength=fly.cells)
    assert (used == 0).mean() < 0.01
    assert used.max() < 40 * used.mean()
