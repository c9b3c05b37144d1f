"""A prior paid from the same epsilon: the promise of both together, from both sides."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import chisquare

from tacit.data.classes import Classes
from tacit.labels.mechanisms.column import Values
from tacit.labels.mechanisms.estimate import EstimatedPrior, estimate_prior, project_to_simplex
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.privacy import InvalidInput
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.rounding import exact

REACH = 12


def log_probabilities(labels, *, plan, classes, noise_epsilon):
    """log P(noised counts, released labels) for all outputs near the data, of the two steps together."""
    K = classes
    first, rest = plan.split
    noise = DiscreteLaplace.for_epsilon(noise_epsilon or first, sensitivity=2)
    counts = np.bincount(labels, minlength=K)
    result = {}
    for seen in itertools.product(range(-REACH, REACH + 1), repeat=K):
        log_noise = sum(math.log(float(noise.pmf(s - c))) for s, c in zip(seen, counts, strict=True))
        prior = project_to_simplex(np.array(seen) / len(labels))
        transition = PriorRandomizedResponse(epsilon=rest, prior=prior).exact_transition()
        for out in itertools.product(range(K), repeat=len(labels)):
            chance = math.prod(transition[y][o] for y, o in zip(labels, out, strict=True))
            result[seen, out] = log_noise + math.log(chance) if chance else -math.inf
    return result


def max_log_ratio(first, second):
    return max(
        abs(first[key] - second[key]) for key in first if not (math.isinf(first[key]) and math.isinf(second[key]))
    )


@pytest.mark.parametrize(("labels", "other"), [((0, 0), (0, 1)), ((1, 0), (0, 0)), ((0, 1), (1, 1))])
def test_prior_and_labels_together_cost_epsilon_and_no_less(labels, other):
    plan = EstimatedPrior(epsilon=1.0, share=0.3)
    ratio = max_log_ratio(*(log_probabilities(y, plan=plan, classes=2, noise_epsilon=None) for y in (labels, other)))
    assert ratio <= 1.0 + 1e-12
    assert ratio == pytest.approx(1.0, abs=1e-9), "the bound is reached"


def test_noise_for_half_the_sensitivity_would_break_the_promise():
    plan = EstimatedPrior(epsilon=1.0, share=0.3)
    pair = (log_probabilities(y, plan=plan, classes=2, noise_epsilon=0.6) for y in ((0, 0), (0, 1)))
    assert max_log_ratio(*pair) > 1.25


@settings(max_examples=200, deadline=None)
@given(st.floats(0.001, 100), st.floats(0.001, 0.999))
def test_the_two_parts_never_exceed_the_whole(epsilon, share):
    plan = EstimatedPrior(epsilon=epsilon, share=share)
    first, rest = plan.split
    assert exact(first) + exact(rest) <= exact(epsilon)
    assert plan.guarantee().epsilon <= epsilon
    assert plan.guarantee().epsilon == pytest.approx(epsilon, rel=1e-12)


def test_the_guarantee_names_both_parts_and_no_prior_assumption():
    promise = EstimatedPrior(epsilon=2.0, share=0.25).guarantee()
    assert [part.epsilon for part in promise.loss.parts] == [0.5, 1.5]
    assert promise.assumptions == ("features and the class list are public",)


@pytest.mark.parametrize(("claimed", "fits"), [(0.5, True), (0.6, False), (0.4, False)])
def test_the_noise_on_the_counts_is_discrete_laplace(claimed, fits):
    rng = np.random.default_rng(3)
    drawn = np.concatenate([estimate_prior([1000] * 50, epsilon=0.5, rng=rng).counts - 1000 for _ in range(1000)])
    cells = np.arange(-20, 21)
    chances = DiscreteLaplace.for_epsilon(claimed, sensitivity=2).pmf(cells)
    seen = np.array([(drawn == k).sum() for k in cells])
    rest = len(drawn) - seen.sum()
    p = chisquare([*seen, rest], np.array([*chances, 1 - chances.sum()]) * len(drawn)).pvalue
    assert bool(p > 1e-6) is fits


def test_the_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(0)
    for _ in range(20):
        point = rng.normal(0.3, 0.6, size=rng.integers(2, 6))
        found = project_to_simplex(point)
        assert found.sum() == pytest.approx(1.0)
        assert (found >= 0).all()
        best = minimize(
            lambda p, point=point: ((p - point) ** 2).sum(),
            np.full(len(point), 1 / len(point)),
            bounds=[(0, 1)] * len(point),
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        )
        assert ((found - point) ** 2).sum() <= best.fun + 1e-8


def test_clipping_and_rescaling_is_not_the_nearest():
    point = np.array([0.9, 0.3, -0.2])
    clipped = np.maximum(point, 0) / np.maximum(point, 0).sum()
    assert ((project_to_simplex(point) - point) ** 2).sum() < ((clipped - point) ** 2).sum() - 1e-3


def test_many_labels_give_a_good_prior():
    rng = np.random.default_rng(1)
    found = estimate_prior([70_000, 20_000, 10_000, 0], epsilon=0.1, rng=rng)
    assert found.prior == pytest.approx([0.7, 0.2, 0.1, 0.0], abs=0.003)
    assert found.guarantee.epsilon == 0.1


def test_numbers_get_bins_and_classes_get_the_likely_ones():
    rng = np.random.default_rng(0)
    plan = EstimatedPrior(epsilon=2.0)
    numbers = plan.settle(Values(values=[0, 1, 2]), counts=[50, 30, 20], rng=rng).describe()
    classes = plan.settle(Classes(values=("a", "b")), counts=[50, 30], rng=rng).describe()
    assert (numbers["name"], classes["name"]) == ("randomized_response_on_bins", "prior_randomized_response")
    assert numbers["epsilon"] == classes["epsilon"] == 1.8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EstimatedPrior(epsilon=0.0), "epsilon must be a finite number > 0"),
        (lambda: EstimatedPrior(epsilon=math.nan), "epsilon must be a finite number > 0"),
        (lambda: EstimatedPrior(epsilon=1.0, share=1.0), r"share must be in \(0, 1\)"),
        (lambda: EstimatedPrior(epsilon=1.0, share=math.nan), r"share must be in \(0, 1\)"),
        (lambda: estimate_prior([3], epsilon=1.0, rng=np.random.default_rng(0)), "two classes or more"),
        (lambda: estimate_prior([0, 0], epsilon=1.0, rng=np.random.default_rng(0)), "at least one label"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
