"""Proposition 1, Theorem 2, Corollary 1 and Theorem 6 of the paper on label inference, by enumeration."""

from itertools import combinations, product

import numpy as np
import pytest


def gap(values):
    """The least distance of two different labelings' scores, Lambda."""
    return float(np.diff(np.sort(values)).min())


def recovers(values, tau):
    """Whether the nearest score names every labeling, whatever the noise below tau: LABELINF at the worst noise."""
    noise = np.linspace(-tau, tau, 41)[1:-1]  # open at both ends
    seen = values[:, None] + noise
    return bool((np.abs(seen[..., None] - values).argmin(axis=2) == np.arange(len(values))[:, None]).all())


@pytest.mark.parametrize("seed", range(20))
def test_proposition_1_and_theorem_2_labels_are_recovered_if_and_only_if_the_gap_is_two_tau(seed):
    values = np.random.default_rng(seed).random(8)
    tau = gap(values) / 2
    assert recovers(values, tau)
    assert not recovers(values, 1.2 * tau), "control: a smaller gap does not do"


@pytest.mark.parametrize(("rows", "classes"), [(3, 2), (2, 3)])
def test_corollary_1_labels_from_one_cross_entropy(rows, classes):
    tau = 0.5
    exponents = 2 * tau * rows * np.arange(1, classes + 1)[None] * (classes + 1.0) ** np.arange(rows)[:, None]
    logs = -exponents - np.logaddexp.reduce(-exponents, axis=1)[:, None]
    scores = np.array(
        [-np.mean(logs[np.arange(rows), list(labels)]) for labels in product(range(classes), repeat=rows)]
    )
    assert gap(scores) >= 2 * tau * (1 - 1e-9)
    assert recovers(scores, tau)


@pytest.mark.parametrize("differences", [(1.0, 2.0, 4.0), (0.3, 0.5, 0.9), (1.0, 2.0, 3.0)])
def test_theorem_6_scores_differ_if_and_only_if_subset_sums_do(differences):
    sums = [sum(part) for size in range(4) for part in combinations(differences, size)]
    scores = [np.dot(labels, differences) / 3 for labels in product((0, 1), repeat=3)]
    assert (len(np.unique(np.round(sums, 9))) == 8) == (gap(np.array(scores)) > 1e-9)
    assert (gap(np.array(scores)) > 1e-9) == (differences != (1.0, 2.0, 3.0))
