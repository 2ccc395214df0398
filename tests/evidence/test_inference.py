"""The statistics give what the literature prints, and keep their promises where nothing is printed."""

import random

import pytest
import scipy.stats

from evidence.inference import (
    Pairs,
    chance_of_gain,
    holm,
    holm_alphas,
    lower_bound,
    mcnemar_exact,
    mcnemar_midp,
    p_above,
    p_below,
    paired_interval,
    upper_bound,
    wilson,
)

BENTUR = Pairs(1, 1, 7, 12)
"""Airway hyper-responsiveness before and after stem cell transplantation (Bentur et al. 2009)."""
CAVO = Pairs(59, 6, 16, 80)
"""Complete response before and after consolidation (Cavo et al. 2012)."""


@pytest.mark.parametrize(
    ("pairs", "low", "high"), [(BENTUR, -0.508, -0.013), (CAVO, -0.1195, -0.0032)], ids=["bentur", "cavo"]
)
def test_the_paired_interval_is_bonett_and_prices_as_fagerland_lydersen_and_laake_print_it(pairs, low, high):
    digits = len(str(low).partition(".")[2])
    assert tuple(round(v, digits) for v in paired_interval(pairs)) == (low, high)


def test_mcnemars_p_values_are_as_printed():
    assert round(mcnemar_exact(BENTUR), 3) == 0.070
    assert round(mcnemar_midp(BENTUR), 3) == 0.039
    assert round(mcnemar_exact(CAVO), 6) == 0.052479
    assert round(mcnemar_midp(CAVO), 6) == 0.034690


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval_is_as_newcombe_1998_prints_it(right, n, low, high):
    assert tuple(round(v, 4) for v in wilson(right, n)) == (low, high)


def test_holms_adjusted_p_values_are_as_in_the_textbook_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_alphas([0.01, 0.04, 0.03, 0.005], 0.05) == pytest.approx([0.05 / 3, 0.05, 0.025, 0.0125])


def test_exact_mcnemar_and_wilson_agree_with_scipy_on_random_counts():
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(50):
        pairs = Pairs(*(rng.randint(0, 30) for _ in range(4)))
        discordant = pairs.only_with + pairs.only_without
        if not discordant:
            continue
        test = scipy.stats.binomtest(pairs.only_with, discordant)
        assert mcnemar_exact(pairs) == pytest.approx(test.pvalue), f"seed {seed}: {pairs}"
        interval = test.proportion_ci(method="wilson")
        assert wilson(pairs.only_with, discordant) == pytest.approx((interval.low, interval.high)), f"seed {seed}"


def test_the_chance_of_a_gain_is_the_posterior_that_a_dirichlet_draw_would_estimate():
    pairs = Pairs(3, 6, 2, 9)
    assert chance_of_gain(pairs) == pytest.approx(scipy.stats.beta(7, 3).sf(0.5))
    assert chance_of_gain(Pairs(5, 0, 0, 5)) == 0.5


@pytest.mark.parametrize("pairs", [BENTUR, CAVO, Pairs(2, 9, 1, 8), Pairs(0, 0, 0, 30)])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_one_sided_p_values_and_bounds_say_the_same(pairs, alpha):
    for threshold in (-0.1, 0.0, 0.05):
        assert (p_above(pairs, threshold) < alpha) == (lower_bound(pairs, alpha) > threshold)
        assert (p_below(pairs, threshold) < alpha) == (upper_bound(pairs, alpha) < threshold)


def test_a_proportion_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no proportion"):
        wilson(0, 0)


def test_without_an_effect_a_gain_is_claimed_in_fewer_than_one_of_twenty_samples():
    seed = 20_261_130
    rng = random.Random(seed)
    claims = 0
    for _ in range(2_000):
        outcomes = rng.choices(range(4), weights=(40, 15, 15, 30), k=40)
        pairs = Pairs(*(outcomes.count(i) for i in range(4)))
        claims += lower_bound(pairs, 0.05) > 0
    assert claims / 2_000 <= 0.06, f"seed {seed}"
