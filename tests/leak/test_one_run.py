"""The one-run bound: the sheet's numbers, the optimum by linear programming, coverage, power."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from benchmarks.published_tail import published_tail
from tacit.leak import epsilon_one_run, sharp_tail
from tacit.privacy import InvalidInput

RUNS = 2000
LIMIT = 0.05 + 3 * math.sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.parametrize(
    ("v", "r", "m", "delta", "epsilon"),
    [
        (90, 100, 1000, 0.0, 1.630823),
        (90, 100, 1000, 1e-5, 1.626143),
        (90, 100, 1000, 1e-4, 1.580560),
        (600, 1000, 1000, 0.0, 0.297468),
        (600, 1000, 1000, 1e-5, 0.297227),
        (100, 100, 100, 0.0, 3.492965),
    ],
)
def test_pinned(v, r, m, delta, epsilon):
    assert epsilon_one_run(v, r, m, delta=delta, tail=published_tail) == pytest.approx(epsilon, abs=5e-7)
    if delta == 0:
        assert epsilon_one_run(v, r, m) == pytest.approx(epsilon, abs=5e-7)


def test_pinned_p_values():
    for tail in (published_tail, sharp_tail):
        assert tail(90, 100, 1000, epsilon=1.0) == pytest.approx(2.735813e-5, rel=2e-7)
    assert published_tail(90, 100, 1000, epsilon=1.0, delta=1e-5) == pytest.approx(8.412886e-4, rel=1e-7)


def test_all_right_has_a_closed_form():
    assert epsilon_one_run(100, 100, 100) == pytest.approx(-math.log(0.05 ** (-1 / 100) - 1), abs=1e-10)


def published_by_the_book(v, r, m, epsilon, delta):
    """The loop of the paper, term by term."""
    q = 1 / (1 + math.exp(-epsilon))
    best, mass = 0.0, 0.0
    for i in range(1, v + 1):
        mass += binom.pmf(v - i, r, q)
        best = max(best, mass / i)
    return min(1.0, binom.sf(v - 1, r, q) + 2 * m * delta * best)


@pytest.mark.parametrize("r", [1, 2, 7, 60, 400])
def test_published_agrees_with_the_loop(r):
    m = 2 * r
    for v in sorted({1, r // 2, (3 * r) // 4, r} - {0}):
        for epsilon in (0.0, 0.3, 1.0, 4.0):
            expected = published_by_the_book(v, r, m, epsilon, 1e-3)
            sharp = float(sharp_tail(v, r, m, epsilon=epsilon, delta=1e-3))
            ours = float(published_tail(v, r, m, epsilon=epsilon, delta=1e-3))
            assert ours == pytest.approx(max(expected, sharp), rel=1e-9)


def largest_chance(v, r, m, epsilon, delta):
    """Maximise P(V >= v) over all (epsilon, delta) mechanisms that guess r of m fair coins.

    By symmetry a best mechanism's probability of an answer depends only on how many of its guesses are right;
    a bit's two values give p_k of k right guesses k/r : (r - k + 1)/r p_(k-1), each with weight r/m.
    """
    E, n = math.exp(epsilon), r + 1
    rows, width = [], n + 2 * r
    for k in range(1, r + 1):
        up, down = np.zeros(width), np.zeros(width)
        up[[k, k - 1, n + k - 1]] = k / r, -E * (r - k + 1) / r, -1
        down[[k - 1, k, n + r + k - 1]] = (r - k + 1) / r, -E * k / r, -1
        rows += [up, down]
    budget = np.concatenate([np.zeros(n), np.full(2 * r, r / m)])
    result = linprog(
        np.concatenate([np.zeros(v), -np.ones(n - v), np.zeros(2 * r)]),
        A_ub=np.array([*rows, budget]),
        b_ub=np.append(np.zeros(2 * r), delta),
        A_eq=[np.concatenate([np.ones(n), np.zeros(2 * r)])],
        b_eq=[1.0],
    )
    return -result.fun


@pytest.mark.parametrize("delta", [1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_sharp_is_the_optimum(epsilon, delta):
    for r, m in ((1, 1), (2, 2), (3, 6), (10, 10), (10, 40), (40, 40)):
        for v in sorted({1, r // 2, (3 * r) // 4, r} - {0}):
            ours = float(sharp_tail(v, r, m, epsilon=epsilon, delta=delta))
            assert ours == pytest.approx(largest_chance(v, r, m, epsilon, delta), abs=1e-6)


def test_the_printed_bound_fails_below_the_mean():
    printed = published_by_the_book(1, 2, 2, 3.0, 1e-2)
    attained = largest_chance(1, 2, 2, 3.0, 1e-2)
    without = binom.sf(0, 2, 1 / (1 + math.exp(-3.0)))
    assert (attained - without) / 1e-2 == pytest.approx(0.0497, abs=1e-4)
    assert (printed - without) / 1e-2 == pytest.approx(0.0090, abs=1e-4)
    assert published_tail(1, 2, 2, epsilon=3.0, delta=1e-2) >= attained - 1e-9


def test_sharp_proves_more_than_published():
    v = np.arange(1, 201)
    sharp = epsilon_one_run(v, 200, 400, delta=1e-4)
    published = epsilon_one_run(v, 200, 400, delta=1e-4, tail=published_tail)
    assert np.all(sharp >= published)
    assert np.all(sharp <= epsilon_one_run(v, 200, 400))
    assert np.all(np.diff(sharp) >= -1e-9)  # more right guesses never prove less
    assert sharp[-20] > published[-20] + 0.005


def test_the_result_is_refuted_and_the_next_is_not():
    v, r, m, delta = 70, 100, 300, 1e-4
    for tail in (sharp_tail, published_tail):
        found = epsilon_one_run(v, r, m, delta=delta, tail=tail)
        assert tail(v, r, m, epsilon=found, delta=delta) <= 0.05
        assert tail(v, r, m, epsilon=found + 1e-7, delta=delta) > 0.05


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_coverage_of_randomized_response(epsilon):
    right = np.random.default_rng(21).binomial(300, 1 / (1 + math.exp(-epsilon)), size=RUNS)
    for tail in (sharp_tail, published_tail):
        for delta in (0.0, 1e-4):
            assert np.mean(epsilon_one_run(right, 300, 300, delta=delta, tail=tail) > epsilon) <= LIMIT


def chance_of_v(v, r, epsilon, delta):
    """The mechanism that attains the optimum at v: randomized response, its counts from v on made likelier."""
    mass = binom.pmf(np.arange(r + 1), r, 1 / (1 + math.exp(-epsilon)))
    above, lifted = mass[v:].sum(), float(sharp_tail(v, r, r, epsilon=epsilon, delta=delta))
    mass[v:] *= lifted / above
    mass[:v] *= (1 - lifted) / (1 - above)
    return mass


@pytest.mark.parametrize("delta", [1e-3, 1e-2, 2e-2])
def test_coverage_of_the_leakiest_mechanism(delta):
    r, epsilon = 100, 1.0
    claims = epsilon_one_run(np.arange(r + 1), r, r, delta=delta) > epsilon
    worst = max(chance_of_v(v, r, epsilon, delta)[claims].sum() for v in range(60, r + 1))
    assert 0.01 < worst <= 0.05


def test_coverage_needs_the_delta():
    r, epsilon, delta = 100, 1.0, 1e-2
    claims = epsilon_one_run(np.arange(r + 1), r, r) > epsilon
    assert max(chance_of_v(v, r, epsilon, delta)[claims].sum() for v in range(60, r + 1)) > 0.06


def test_coverage_with_classes_and_abstentions():
    # five classes, skewed prior, randomized response; the attack guesses only where the output is class 0
    epsilon, prior, rows, rng = 1.0, np.array([0.4, 0.3, 0.1, 0.1, 0.1]), 400, np.random.default_rng(22)
    keep = math.exp(epsilon) / (math.exp(epsilon) + 4)
    labels = rng.choice(5, p=prior, size=(RUNS, rows))
    kept = rng.random((RUNS, rows)) < keep
    outputs = np.where(kept, labels, (labels + rng.integers(1, 5, size=labels.shape)) % 5)
    guessed = outputs == 0
    right = (guessed & (labels == 0)).sum(axis=1)
    made = guessed.sum(axis=1)
    assert np.mean(epsilon_one_run(right, made, rows, prior=0.4) > epsilon) <= LIMIT
    # a prior set too low claims too much
    assert np.mean(epsilon_one_run(right, made, rows, prior=0.3) > epsilon) > 2 * LIMIT


def test_power_an_under_noised_mechanism_is_caught():
    right = np.random.default_rng(23).binomial(500, 1 / (1 + math.exp(-1.5)), size=RUNS)
    assert np.mean(epsilon_one_run(right, 500, 500, delta=1e-5) > 1.0) > 0.95


def test_choosing_the_number_of_guesses_afterwards_breaks_coverage():
    rng, epsilon, m = np.random.default_rng(24), 0.5, 400
    right = np.cumsum(rng.random((RUNS, m)) < 1 / (1 + math.exp(-epsilon)), axis=1)
    made = np.arange(1, m + 1)
    bounds = epsilon_one_run(right[:, 19::20], made[19::20], m)
    assert np.mean(bounds[:, -1] > epsilon) <= LIMIT
    assert np.mean(bounds.max(axis=1) > epsilon) > 2 * LIMIT


def test_extreme_sizes():
    assert epsilon_one_run(0, 10, 10) == 0
    assert epsilon_one_run(10, 10, 10, delta=0.5) == 0
    million = 1_000_000
    assert 12 < epsilon_one_run(million, million, million, delta=1e-9) < epsilon_one_run(million, million, million)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(sharp_tail([1, 10**6], 10**6, 10**6, epsilon=[800.0, 0.0], delta=1e-9)).all()


@pytest.mark.parametrize(
    ("counts", "options", "words"),
    [
        ((1, 0, 10), {}, "guesses must be >= 1, got 0"),
        ((3, 2, 10), {}, "right must be from 0 to guesses, got 3 of 2"),
        ((1, 11, 10), {}, "guesses must be from 0 to examples, got 11 of 10"),
        ((1, 2, 10), {"prior": 0.0}, "prior must be in"),
        ((1, 2, 10), {"delta": 0.1, "prior": 0.3, "tail": published_tail}, "use sharp_tail"),
        ((1, 2, 10), {"delta": -0.1}, "delta must be in"),
    ],
)
def test_refuses(counts, options, words):
    with pytest.raises(InvalidInput, match=words):
        epsilon_one_run(*counts, **options)
