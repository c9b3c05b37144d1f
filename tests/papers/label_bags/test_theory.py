"""The lemmas behind random bags: true as corrected, with counterexamples to what is printed."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from papers.label_bags.theory import (
    RiskBound,
    bag_label_excess,
    bag_risk_deviation,
    class_rademacher,
    linear_patterns,
    linear_rademacher,
    linear_risk_bound,
    mean_residual_deviation,
    risk_bound,
    row_risk_deviation,
    size_trade_off,
    threshold_rademacher,
)
from tacit.bags.learners.random_bags import BagMoments
from tacit.privacy.errors import InvalidInput

FINITE = {"complexity": 0.0, "flattened": 0.0, "table": 0.0}  # of one hypothesis


def all_bags(rows, size):
    return [list(c) for c in itertools.combinations(range(rows), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_lemma_1_by_enumeration(size):
    x = np.random.default_rng(size).normal(size=(6, 2))
    left = np.mean([np.sum(x[bag].mean(axis=0) ** 2) for bag in all_bags(6, size)])
    mean = np.sum(x.mean(axis=0) ** 2)
    square = np.mean(np.sum(x**2, axis=1))
    assert left == pytest.approx(((size - 1) * 6 * mean + (6 - size) * square) / (size * 5), abs=1e-12)


def bag_risk(h, y, size):
    """R_1 by enumeration of bags and of Bernoulli labels: E|a - b|^2 = (a - p)^2 + p(1 - p)."""
    total = 0.0
    bags = all_bags(len(y), size)
    for bag in bags:
        p, a = y[bag].mean(axis=0), h[bag].mean(axis=0)
        total += np.sum((a - p) ** 2 + p * (1 - p))
    return total / len(bags)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_lemma_2_holds_with_the_corrected_constant_and_not_as_printed(size):
    rng = np.random.default_rng(size)
    y, h = rng.integers(2, size=(2, 6, 2)).astype(float)
    moments = BagMoments(size=size, rows=6)
    residual = h - y
    first = moments.c * np.sum(residual.mean(axis=0) ** 2) + np.mean(np.sum(residual**2, axis=1)) / moments.k
    variance = float(np.var(y, axis=0).sum())
    exact = bag_risk(h, y, size)
    assert exact == pytest.approx(first + bag_label_excess(variance, size=size, rows=6), abs=1e-12)
    assert abs(exact - first - bag_label_excess(variance, size=size, rows=6, printed=True)) > 0.01


def test_lemma_3_on_random_instances():
    """The excess risk of a minimizer of the printed objective, on enumerated populations and drawn bags."""
    rng = np.random.default_rng(0)
    N, m, n, H = 8, 3, 12, 6
    for _ in range(60):
        y, h = rng.integers(2, size=N).astype(float), rng.integers(2, size=(H, N)).astype(float)
        bags = np.argsort(rng.random((n, N)), axis=1)[:, :m]
        labels = (rng.random(n) < y[bags].mean(axis=1)).astype(float)
        weights = rng.dirichlet(np.ones(N))  # the population behind the table: the same rows, other shares
        moments = BagMoments(size=m, rows=N)
        r = h[:, bags].mean(axis=2) - labels
        chosen = np.argmin(np.mean(r**2, axis=1) - moments.c * r.mean(axis=1) ** 2)
        population = ((h - y) ** 2) @ weights
        R1 = np.array([bag_risk(one[:, None], y[:, None], m) for one in h])
        delta_1 = np.abs(np.mean((h - y) ** 2, axis=1) - population).max()
        delta_3 = np.abs(np.mean(h - y, axis=1) ** 2 - r.mean(axis=1) ** 2).max()
        gap = np.abs(R1 - np.mean(r**2, axis=1)).max()
        right = 2 * (m - 1) * N / (N - m) * delta_3 + 2 * delta_1 + 2 * m * (N - 1) / (N - m) * gap
        assert population[chosen] - population.min() <= right + 1e-12


def test_lemma_4_vector_contraction():
    """E sup sum e_i |f(x_i) - y_i|^2 <= sqrt(2) L E sup sum e_ik f(x_i)[k], L = 2 sqrt(K), all signs enumerated."""
    rng = np.random.default_rng(0)
    n, K = 4, 2
    for _ in range(20):
        f, y = rng.random((5, n, K)), rng.random((n, K))
        values = np.sum((f - y) ** 2, axis=2)
        left = np.mean([(values @ np.array(e)).max() for e in itertools.product([-1, 1], repeat=n)])
        right = np.mean([(f.reshape(5, -1) @ np.array(e)).max() for e in itertools.product([-1, 1], repeat=n * K)])
        assert left <= np.sqrt(2) * 2 * np.sqrt(K) * right + 1e-12


@pytest.mark.parametrize("targets", [2, 4, 9])
def test_lemmas_5_and_6_need_the_factor_k(targets):
    """One hypothesis, all labels of a row wrong together or none: the loss is 0 or K, each half of the time."""
    rng = np.random.default_rng(targets)
    n, delta, draws = 400, 0.05, 20_000
    losses = targets * rng.binomial(n, 0.5, size=draws) / n
    gap = np.abs(losses - targets / 2)
    true = bag_risk_deviation(0.0, bags=n, delta=delta, targets=targets)
    printed = bag_risk_deviation(0.0, bags=n, delta=delta, targets=targets, printed=True)
    assert np.mean(gap > true) <= delta
    assert np.mean(gap > printed) > 3 * delta, "as printed it fails far too often"
    assert row_risk_deviation(0.0, rows=n, delta=delta, targets=targets) == true


def test_equation_25_needs_the_factor_2():
    """Residuals of +-1: the printed radius is left with probability .174, not .05; the corrected one with .0066."""
    n, delta = 10_000, 0.05
    mean = np.abs(2 * np.random.default_rng(0).binomial(n, 0.5, size=50_000) / n - 1)
    radius = np.sqrt(np.log(2 / delta) / (2 * n))
    assert 2 * norm.sf(radius * np.sqrt(n)) == pytest.approx(0.174, abs=5e-4)
    assert np.mean(mean > radius) == pytest.approx(0.174, abs=0.01)
    assert np.mean(mean > 2 * radius) < delta


@pytest.mark.parametrize("bernoulli", [False, True], ids=["proportions", "Bernoulli"])
def test_lemma_7_over_a_class(bernoulli):
    """Measured failures of the corrected lemma over a class of thresholds stay below delta."""
    rng = np.random.default_rng(0)
    N, m, n, delta = 200, 5, 60, 0.1
    x, y = rng.normal(size=N), rng.integers(2, size=N).astype(float)
    h = (x[None, :] > np.quantile(x, [0.1, 0.3, 0.5, 0.7, 0.9])[:, None]).astype(float)
    sample = np.mean([class_rademacher(h[:, rng.integers(N, size=n)], draws=50, rng=rng) for _ in range(100)])
    gaps = []
    for _ in range(400):
        bags = np.argsort(rng.random((n, N)), axis=1)[:, :m]
        labels = y[bags].mean(axis=1)
        if bernoulli:
            labels = (rng.random(n) < labels).astype(float)
        r = (h[:, bags].mean(axis=2) - labels).mean(axis=1)
        gaps.append(np.abs(np.mean(h - y, axis=1) ** 2 - r**2).max())
    bound = mean_residual_deviation(sample, bags=n, size=m, delta=delta, bernoulli=bernoulli)
    assert np.mean(np.array(gaps) > bound) <= (2 if bernoulli else 1) * delta
    assert np.mean(np.array(gaps) > bound / 30) > 2 * delta, "control: a bound that is too small is left"


def test_the_bound_as_printed_is_pinned_and_vacuous():
    """(6) for K = 1, one hypothesis, m = 10, N = 1e5, n = 1e4, delta = .0125 is 1.7117."""
    printed = risk_bound(size=10, rows=100_000, bags=10_000, delta=0.0125, printed=True, **FINITE)
    assert printed.total == pytest.approx(1.7117, abs=5e-5)
    assert printed.vacuous
    true = risk_bound(size=10, rows=100_000, bags=10_000, delta=0.0125, **FINITE)
    assert true.total > printed.total
    assert "vacuous, since it is never above 1" in str(true)
    assert true.confidence == pytest.approx(0.95)


def test_the_whole_bound_holds_and_is_not_vacuous_for_small_bags():
    """Thresholds in one dimension, bags of one and of two: measured excess risk against the bound."""
    rng = np.random.default_rng(0)
    cuts = np.linspace(-2, 2, 41)
    for m in (1, 2):
        N, n = 20_000, 20_000
        bound = linear_risk_bound(dimension=1, size=m, rows=N, bags=n, bernoulli=False)
        x = rng.normal(size=N)
        y = ((x > 0.3) ^ (rng.random(N) < 0.2)).astype(float)
        bags = rng.integers(N, size=(n, m))
        h = (x[None, :] > cuts[:, None]).astype(np.float32)
        r = h[:, bags].mean(axis=2) - y[bags].mean(axis=1)
        moments = BagMoments(size=m, rows=N)
        chosen = cuts[np.argmin(np.mean(r**2, axis=1) - moments.c * r.mean(axis=1) ** 2)]
        risk = lambda t: 0.2 + 0.6 * abs(norm.cdf(t) - norm.cdf(0.3))  # noqa: E731
        assert not bound.vacuous
        assert risk(chosen) - min(map(risk, cuts)) <= bound.total


def test_the_trade_off_in_the_bag_size():
    bounds = size_trade_off([1, 2, 4, 8, 16, 64], dimension=10, rows=10**6, memberships=10**6)
    totals = [bound.total for bound in bounds]
    assert totals == sorted(totals)
    assert totals[4] / totals[3] == pytest.approx(2**1.5, rel=0.2), "m sqrt(m) where n m is fixed"
    assert not bounds[0].vacuous
    assert bounds[-1].vacuous
    near = linear_risk_bound(dimension=1, size=99_999, rows=100_000, bags=100)
    assert near.total > 1e4, "a bag of nearly all rows says nothing about rows"


def test_exact_proportions_cost_less_than_bernoulli_draws():
    one, two = (linear_risk_bound(dimension=3, size=4, rows=10**5, bags=10**4, bernoulli=b) for b in (False, True))
    assert one.total < two.total


@pytest.mark.parametrize("points", [3, 4, 5])
def test_patterns_of_linear_functions_are_counted(points):
    """By sweeping directions in the plane: Cover's number is reached by points in general position."""
    x = np.random.default_rng(points).normal(size=(points, 2))
    seen = set()
    for angle in np.linspace(0, 2 * np.pi, 5000):
        projected = x @ np.array([np.cos(angle), np.sin(angle)])
        seen |= {tuple(projected > t) for t in [-np.inf, *projected]}
    assert len(seen) == round(np.exp(linear_patterns(points, dimension=2)))


def test_complexities_bound_each_other():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    exact = threshold_rademacher(x, draws=300, rng=rng)
    cuts = np.sort(x)
    every = np.concatenate([x[None, :] > cuts[:, None], x[None, :] <= cuts[:, None], np.ones((1, 300))]).astype(float)
    measured = class_rademacher(every, draws=300, rng=rng)
    assert exact == pytest.approx(measured, rel=0.15)
    assert exact < linear_rademacher(300, dimension=1)
    assert linear_rademacher(3, dimension=10) == 0.5
    repeated = np.repeat(rng.normal(size=3), 100)
    assert threshold_rademacher(repeated, draws=300, rng=rng) < linear_rademacher(300, dimension=1, distinct=3)


def test_flattened_complexity_of_free_targets_adds_up():
    every = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    both = np.array([np.stack([a, b], axis=1) for a in every for b in every])
    rng = np.random.default_rng(0)
    assert class_rademacher(both, draws=5000, rng=rng) == pytest.approx(2 * 0.5, abs=0.03)


@pytest.mark.parametrize(
    "make",
    [
        lambda: linear_patterns(0, dimension=1),
        lambda: bag_risk_deviation(0.0, bags=0, delta=0.1),
        lambda: bag_risk_deviation(0.0, bags=5, delta=1.0),
        lambda: bag_label_excess(0.1, size=7, rows=6),
        lambda: risk_bound(size=5, rows=5, bags=5, delta=0.1, **FINITE),
        lambda: linear_risk_bound(dimension=1, size=2, rows=5, bags=5, confidence=1.0),
    ],
)
def test_bad_input_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_a_bound_below_the_number_of_labels_says_something():
    bound = RiskBound(mean_residual=0.5, table=0.1, bags=0.6, confidence=0.9, size=2, rows=9, drawn=5, targets=2)
    assert not bound.vacuous
    assert str(bound) == "excess Hamming risk at most 1.2 with probability 0.9"
