"""A prior paid from the same epsilon: the guarantee of both together, from both sides."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import chisquare

from tacit.data.classes import LISTED
from tacit.labels import Plan
from tacit.labels.mechanisms import PriorRandomizedResponse, estimate
from tacit.labels.mechanisms.base import split_epsilon
from tacit.labels.mechanisms.estimate import estimate_prior, project_to_simplex
from tacit.privacy import InvalidInput
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.rounding import exact

REACH = 12


def log_probabilities(labels, *, noise_epsilon=None, classes=2):
    """log P(noisy counts, released labels) for all outputs near the data, of the two steps together."""
    K = classes
    first, rest = split_epsilon(1.0, 0.3)
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
    ratio = max_log_ratio(*(log_probabilities(y) for y in (labels, other)))
    assert ratio <= 1.0 + 1e-12
    assert ratio == pytest.approx(1.0, abs=1e-9), "the bound is reached"


def test_noise_for_half_the_sensitivity_would_break_the_guarantee():
    pair = (log_probabilities(y, noise_epsilon=0.6) for y in ((0, 0), (0, 1)))
    assert max_log_ratio(*pair) > 1.25


@settings(max_examples=200, deadline=None)
@given(st.floats(0.001, 100), st.floats(0.001, 0.999))
def test_the_two_parts_never_exceed_the_whole(epsilon, share):
    first, rest = split_epsilon(epsilon, share)
    assert exact(first) + exact(rest) <= exact(epsilon)
    assert first + rest == pytest.approx(epsilon, rel=1e-12)


def test_an_estimated_prior_is_paid_for_and_a_given_one_is_assumed():
    asked = {"label": "y", "epsilon": 2, "mechanism": "prior:share=0.25", "classes": ("a", "b")}
    assert Plan(**asked).guarantee().assumptions == ("features and the class list are public", LISTED)
    given = Plan(**asked, prior=(0.5, 0.5)).guarantee()
    assert given.assumptions[1] == "a row's prior does not depend on its own label"
    assert given.epsilon == Plan(**asked).guarantee().epsilon == 2.0


@pytest.mark.parametrize(("claimed", "fits"), [(0.5, True), (0.6, False), (0.4, False)])
def test_the_noise_on_the_counts_is_discrete_laplace(monkeypatch, claimed, fits):
    monkeypatch.setattr(estimate, "project_to_simplex", lambda shares: shares)
    rng = np.random.default_rng(3)
    drawn = np.concatenate([estimate_prior([1000] * 50, epsilon=0.5, rng=rng) for _ in range(1000)])
    drawn = np.rint(drawn * 50_000 - 1000).astype(int)
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
    assert found == pytest.approx([0.7, 0.2, 0.1, 0.0], abs=0.003)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate_prior([3], epsilon=1.0, rng=np.random.default_rng(0)), "two classes or more"),
        (lambda: estimate_prior([0, 0], epsilon=1.0, rng=np.random.default_rng(0)), "at least one label"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
