"""Upper bounds of labels per query and of queries per table, against enumeration and the pins of the formula sheet."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from papers.score_attacks.bounds import labels_per_query, queries_for, unit_of
from papers.score_attacks.losses import ArbitraryPrecision, ItakuraSaito, Mahalanobis, NormLike
from papers.score_attacks.separation import smallest_difference
from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import plan_attack
from tacit.scores.losses import ClippedCrossEntropy, LossReduction, ProbabilityFloor, SigmoidCrossEntropy, SquaredError
from tacit.scores.metrics import SKLEARN_FLOOR, LogLoss
from tacit.scores.policies import Bounded, Rounded

LOG_LOSS = ClippedCrossEntropy(clip=ProbabilityFloor(1e-6))
IDENTITY = ((1.0, 0.0), (0.0, 1.0))


# g2, g5, g8.


@pytest.mark.parametrize(
    ("loss", "digits", "counting"),
    [
        (LOG_LOSS, 10, 13),
        (ClippedCrossEntropy(clip=ProbabilityFloor(1e-15)), 11, 14),
        (SquaredError(), 6, 8),
        (NormLike(alpha=3.0), 8, 10),
        (Mahalanobis(matrix=IDENTITY), 7, 9),
        (ItakuraSaito(clip=ProbabilityFloor(1e-6)), 26, 30),
    ],
)
def test_digits_and_the_counting_upper_bound(loss, digits, counting):
    limits = labels_per_query(loss, 100, tau=1e-4)
    assert (limits.digits, limits.counting) == (digits, counting)
    assert digits <= limits.upper_bound <= counting


def test_four_decimals():
    assert labels_per_query(LOG_LOSS, 100, tau=Rounded(decimals=4).error).digits == 11


def test_ten_rows_of_range_ten():
    # N = m = 10, tau = 1e-3, R = 10: 9/12.
    loss = Mahalanobis(matrix=((5.0, 0.0), (0.0, 5.0)))
    assert loss.difference_range() == 10
    limits = labels_per_query(loss, 10, tau=1e-3)
    assert (limits.digits, limits.counting) == (9, 12)


@pytest.mark.parametrize(("classes", "digits"), [(3, 6), (10, 2)])
def test_k_ary_digits(classes, digits):
    loss = ClippedCrossEntropy(classes=classes, clip=ProbabilityFloor(1e-6))
    limits = labels_per_query(loss, 100, tau=1e-4)
    widest, unit = loss.difference_range(), 0.02
    assert limits.digits == digits == 1 + math.floor(math.log(widest / ((classes - 1) * unit), classes))
    m = limits.counting
    assert classes**m - 1 <= m * widest / unit < (classes ** (m + 1) - 1) * m / (m + 1)
    assert limits.isoperimetric is None


def test_titanic_at_five_decimals_holds_at_most_twelve_labels():
    limits = labels_per_query(LogLoss(floor=SKLEARN_FLOOR).loss, 2201, tau=Rounded(decimals=5).error)
    assert limits.digits == 11
    assert limits.upper_bound == limits.isoperimetric == 12  # what Conway-Guy weights reach
    assert (limits.counting, limits.variance) == (14, 13)


def test_a_sum_does_not_pay_for_rows():
    total = SquaredError(reduction=LossReduction.SUM)
    assert unit_of(total, 100, tau=1e-4) == 2e-4
    assert labels_per_query(total, 100, tau=1e-2).digits == labels_per_query(SquaredError(), 100, tau=1e-4).digits


def test_an_unbounded_loss_has_no_upper_bound():
    assert math.isinf(labels_per_query(SigmoidCrossEntropy(), 100, tau=1.0).upper_bound)
    everything = labels_per_query(ClippedCrossEntropy(), 100, tau=1.0, precision=ArbitraryPrecision(bits=100))
    assert math.isinf(everything.digits)
    assert labels_per_query(ClippedCrossEntropy(), 100, tau=1e-300).upper_bound > 900  # binary64's own exponents


def best_ratio(labels, largest):
    """The least R/u at which some integer weights up to ``largest`` have distinct subset sums, by enumeration."""
    for top in range(1, largest + 1):
        for rest in combinations(range(1, top), labels - 1):
            if smallest_difference([[0, w] for w in (*rest, top)]) >= 1:
                return top
    return None


@pytest.mark.parametrize(("labels", "best"), [(1, 1), (2, 2), (3, 4), (4, 7), (5, 13)])
def test_upper_bounds_never_forbid_what_exists(labels, best):
    # The least largest element of a set with distinct subset sums is 1, 2, 4, 7, 13, 24, ...
    assert best_ratio(labels, best) == best
    loss = Mahalanobis(matrix=((best / 2, 0.0), (0.0, best / 2)), reduction=LossReduction.SUM)
    limits = labels_per_query(loss, labels, tau=0.5)  # R/u = best
    assert min(limits.counting, limits.variance, limits.isoperimetric) >= labels
    # And they do forbid: at half the range, a power of two is out of reach.
    less = Mahalanobis(matrix=((best / 4, 0.0), (0.0, best / 4)), reduction=LossReduction.SUM)
    assert labels_per_query(less, labels, tau=0.5).upper_bound < labels


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_half_of_a_cube_has_a_boundary_of_the_middle_layer(dimension):
    # The inequality of Harper behind the isoperimetric upper bound, by enumeration.
    points = range(2**dimension)
    neighbors = {p: {p ^ (1 << i) for i in range(dimension)} for p in points}
    boundaries = []
    for half in combinations(points, 2 ** (dimension - 1)):
        inside = set(half)
        boundaries.append(len(set().union(*(neighbors[p] for p in inside)) - inside))
    assert min(boundaries) == math.comb(dimension, dimension // 2)


def test_random_gaps_obey_every_upper_bound():
    rng = np.random.default_rng(6)
    for _ in range(100):
        labels = int(rng.integers(2, 11))
        weights = [int(w) for w in rng.integers(1, 2**20, labels)]
        gap = smallest_difference([[0, w] for w in weights])
        if gap == 0:
            continue
        ratio = Fraction(max(weights), gap)
        assert 2**labels - 1 <= labels * ratio
        assert 4**labels - 1 <= 3 * labels * ratio**2
        assert math.comb(labels, labels // 2) < ratio + Fraction(1, 2)


def test_query_bounds_of_the_sheet():
    single = queries_for(1024, largest_weight=1)
    assert single.counting == pytest.approx(102.39, abs=5e-3)
    assert single.detecting == pytest.approx(204.8)
    assert queries_for(1024, largest_weight=690.78).counting == pytest.approx(52.70, abs=5e-3)
    assert queries_for(1024, largest_weight=690.78).detecting is None


def test_entropy_is_the_stronger_bound_for_fixed_questions():
    for rows, weight in ((1024, 1), (2201, 1637.6), (150, 100)):
        bounds = queries_for(rows, largest_weight=weight)
        assert bounds.counting < bounds.entropy
    # One 0-1 question about fixed rows: a binomial count, whose entropy the bound must not undercut.
    counts = np.array([math.comb(64, k) for k in range(65)]) / 2.0**64
    entropy = -(counts * np.log2(counts)).sum()
    bound = 64 / queries_for(64, largest_weight=1).entropy
    assert entropy <= bound <= entropy + 0.2


def test_infinite_weights_need_no_bound():
    assert queries_for(10, largest_weight=math.inf).counting == 0
    with pytest.raises(InvalidInput, match="largest_weight must be > 0"):
        queries_for(10, largest_weight=0)


@pytest.mark.parametrize(("rows", "classes"), [(2, 2), (150, 3), (2201, 2)])
def test_a_plan_has_the_bounds_of_all_queries_in_labels_per_query(rows, classes):
    metric = LogLoss(classes=classes, floor=SKLEARN_FLOOR)
    unit = unit_of(metric.loss, rows, tau=Bounded(tau=1e-5).error)
    least = queries_for(rows, largest_weight=metric.loss.difference_range() / unit, classes=classes)
    bounds = plan_attack(metric, rows=rows, policy=Bounded(tau=1e-5)).bounds
    assert bounds.counting == pytest.approx(rows / least.counting, rel=1e-6)
    assert bounds.entropy == pytest.approx(rows / least.entropy, rel=1e-6)
