"""Every sampler against its law, with a law slightly off that must be rejected, and against OpenDP's samplers."""

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import chi2, laplace, norm

from tacit.privacy.noise import DiscreteGaussian, DiscreteLaplace, WeightedChoice, keep_or_switch

LEVEL = 1e-6
UNSEEDED_LEVEL = 1e-9  # OpenDP takes no seed: a test of it must not flake
N = 300_000
SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(10, 3), Fraction(40), Fraction(1000, 3)]


def pool(observed, expected):
    """Merge neighboring cells until each expects 20 counts and a hundredth of all; more cells see less."""
    least = max(20.0, sum(expected) / 100)
    cells, o, e = [], 0.0, 0.0
    for seen, hoped in zip(observed, expected, strict=True):
        o, e = o + seen, e + hoped
        if e >= least:
            cells.append((o, e))
            o, e = 0.0, 0.0
    if cells:
        cells[-1] = (cells[-1][0] + o, cells[-1][1] + e)
    return np.array(cells).T


def p_value(drawn, law, reach):
    """Pearson's test of integer draws against ``law.pmf`` on -reach..reach, the two tails as cells of their own."""
    k = np.arange(-reach, reach + 1)
    mass = law.pmf(k)
    tail = max(0.0, 1 - mass.sum()) / 2
    observed = np.bincount(np.clip(drawn, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    observed, expected = pool(observed, len(drawn) * np.concatenate([[tail], mass, [tail]]))
    if len(observed) < 2:
        return 1.0
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), len(observed) - 1)


def p_value_of_two(first, second, reach):
    """The chi-square test that two samples of integers have one law."""
    counts = [np.bincount(np.clip(x, -reach, reach) + reach, minlength=2 * reach + 1) for x in (first, second)]
    shares = [len(first) / (len(first) + len(second)), len(second) / (len(first) + len(second))]
    total = counts[0] + counts[1]
    statistic, cells = 0.0, 0
    for count, share in zip(counts, shares, strict=True):
        # pooled by the total so that both samples have the same cells
        table = pool(count, total * min(shares))
        expected = pool(total * share, total * min(shares))[0]
        statistic += ((table[0] - expected) ** 2 / expected).sum()
        cells = len(expected)
    return chi2.sf(statistic, cells - 1)


def reach_of(scale):
    return int(np.ceil(30 * float(scale))) + 2


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
def test_draws_follow_the_law_and_no_law_near_it(law, scale):
    drawn = law(scale=scale).draw(N, rng=np.random.default_rng(11))
    assert p_value(drawn, law(scale=scale), reach_of(scale)) > LEVEL
    assert p_value(drawn, law(scale=scale * Fraction(103, 100)), reach_of(scale)) < LEVEL


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 2)], ids=str)
def test_the_two_laws_are_told_apart(scale):
    drawn = DiscreteLaplace(scale=scale).draw(N, rng=np.random.default_rng(12))
    assert p_value(drawn, DiscreteGaussian(scale=scale), reach_of(scale)) < LEVEL


@pytest.mark.parametrize("scale", [1e6, float(2**40), float(2**52)])
@pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
def test_large_scales_follow_the_continuous_law(law, scale):
    drawn = law(scale=scale).draw(N, rng=np.random.default_rng(13))
    cells = np.arange(1, 64) / 64

    def p_at(s):
        edges = s * (laplace if law is DiscreteLaplace else norm).ppf(cells)
        observed = np.bincount(np.searchsorted(edges, drawn), minlength=64)
        return chi2.sf(((observed - N / 64) ** 2 / (N / 64)).sum(), 63)

    assert p_at(scale) > LEVEL
    assert p_at(1.03 * scale) < LEVEL


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0, 20.0])
@pytest.mark.parametrize("K", [2, 10, 300])
def test_choices_follow_their_weights(epsilon, K):
    choice = keep_or_switch(epsilon, outcomes=K)
    drawn = choice.draw(N, rng=np.random.default_rng(14))
    assert choice_p_value(drawn, choice) > LEVEL


def choice_p_value(drawn, choice):
    p = np.array(choice.probabilities, dtype=float)
    observed, expected = pool(np.bincount(drawn, minlength=len(p)), len(drawn) * p)
    if len(observed) < 2:
        return 1.0
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), len(observed) - 1)


def test_choices_from_fractions_follow_them_and_none_near():
    shares = [Fraction(1, 7), Fraction(2, 7), Fraction(0), Fraction(4, 7)]
    drawn = WeightedChoice.from_fractions(shares).draw(N, rng=np.random.default_rng(15))
    assert (drawn != 2).all()
    assert choice_p_value(drawn, WeightedChoice.from_fractions(shares)) > LEVEL
    near = [Fraction(1, 7), Fraction(2, 7) - Fraction(1, 100), Fraction(0), Fraction(4, 7) + Fraction(1, 100)]
    assert choice_p_value(drawn, WeightedChoice.from_fractions(near)) < LEVEL


def test_a_choice_near_the_true_one_is_rejected():
    drawn = keep_or_switch(1.0, outcomes=10).draw(N, rng=np.random.default_rng(16))
    assert choice_p_value(drawn, keep_or_switch(1.05, outcomes=10)) < LEVEL


def opendp_noise(law, scale, size):
    dp.enable_features("contrib")
    make, metric = {
        DiscreteLaplace: (dp.m.make_laplace, dp.l1_distance(T="i64")),
        DiscreteGaussian: (dp.m.make_gaussian, dp.l2_distance(T=float)),
    }[law]
    return np.array(make(dp.vector_domain(dp.atom_domain(T="i64")), metric, scale=scale)([0] * size))


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3)], ids=str)
@pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
def test_opendp_draws_from_the_same_law(law, scale):
    theirs = opendp_noise(law, float(scale), 30_000)
    ours = law(scale=scale).draw(N, rng=np.random.default_rng(17))
    assert p_value_of_two(ours, theirs, reach_of(scale)) > UNSEEDED_LEVEL
    wider = law(scale=scale * Fraction(5, 4)).draw(N, rng=np.random.default_rng(18))
    assert p_value_of_two(wider, theirs, reach_of(scale)) < UNSEEDED_LEVEL


def test_opendp_randomizes_like_a_choice():
    dp.enable_features("contrib")
    choice = keep_or_switch(1.0, outcomes=4)
    keep = float(choice.probabilities[0])
    measurement = dp.m.make_randomized_response(categories=[0, 1, 2, 3], prob=keep)
    theirs = np.array([measurement(0) for _ in range(4000)])
    ours = choice.draw(N, rng=np.random.default_rng(19))
    assert p_value_of_two(ours, theirs, 4) > UNSEEDED_LEVEL
    other = keep_or_switch(1.5, outcomes=4).draw(N, rng=np.random.default_rng(20))
    assert p_value_of_two(other, theirs, 4) < UNSEEDED_LEVEL


def test_opendp_prices_laplace_noise_alike():
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    for scale, sensitivity in [(2.0, 1), (10.0, 3)]:
        theirs = dp.m.make_laplace(*space, scale=scale).map(sensitivity)
        assert theirs == pytest.approx(DiscreteLaplace(scale=scale).loss(sensitivity=sensitivity).pure_epsilon)
