"""Linkage and membership beside the exact Bayes attacker, who knows the law of the rows."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from tacit.features.attacks.linkage import link_rows
from tacit.features.attacks.matching import match_rows
from tacit.features.attacks.membership import membership_scores
from tacit.features.attacks.released_rows import ReleasedRows

LINKED = [(2, 0.5), (8, 2.0)]
MEMBERS = [(10, 0.5, 400), (20, 1.0, 400), (5, 0.2, 2000), (30, 1.5, 1000)]


def released(rows, noise, rng):
    return ReleasedRows(rows + rng.normal(scale=noise, size=rows.shape), noise=noise)


def exact_links(squares):
    """Of each released row the likeliest candidate over all orders of the rows."""
    orders = np.array(list(permutations(range(len(squares)))))
    likely = np.exp(-(squares - squares.min(axis=1, keepdims=True)))[np.arange(len(squares)), orders].prod(axis=1)
    return [np.bincount(column, likely).argmax() for column in orders.T]


def linked(features, noise, *, rows=6, runs=300):
    """The share of six rows that are linked correctly: exactly, by ours, and row by row."""
    rng, order = np.random.default_rng(0), np.arange(rows)
    right = []
    for _ in range(runs):
        known = rng.normal(size=(rows, features))
        release = released(known, noise, rng)
        squares = ((release.rows[:, None] - release.place(known)) ** 2).sum(axis=2) / 2
        ways = exact_links(squares), match_rows(release, known)[0], link_rows(release, known)
        right.append([np.mean(way == order) for way in ways])
    return np.mean(right, axis=0)


@pytest.mark.parametrize(("features", "noise"), LINKED)
def test_rows_are_linked_as_by_the_exact_bayes_attacker(features, noise):
    """Who knows that the released rows are the candidates in another order. The control links row by row."""
    exact, ours, alone = linked(features, noise)
    assert abs(exact - ours) < 0.01
    assert alone < exact - 0.03


def balanced_advantage(members, others):
    """The largest difference of the two shares above a threshold."""
    scores = np.concatenate([members, others])
    inside = np.repeat([1 / len(members), -1 / len(others)], [len(members), len(others)])
    return np.cumsum(inside[np.argsort(-scores)]).max()


def found(features, noise, rows, *, runs=6):
    """For each run the scores of members and others: exact, ours, and without the density of released rows."""
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        inside, outside = rng.normal(size=(2, rows, features))
        release = released(inside, noise, rng)
        seen = release.rows * noise
        density = -(seen**2).sum(axis=1) / (2 * (1 + noise**2))

        def near(targets, weight, seen=seen):
            return logsumexp(-((targets[:, None] - seen) ** 2).sum(axis=2) / (2 * noise**2) - weight, axis=1)

        yield (
            (near(inside, density), near(outside, density)),
            (membership_scores(release, inside), membership_scores(release, outside)),
            (near(inside, 0.0), near(outside, 0.0)),
        )


@pytest.mark.parametrize(
    ("features", "noise", "rows"),
    [*MEMBERS[:2], *(pytest.param(*case, marks=pytest.mark.slow) for case in MEMBERS[2:])],
)
def test_membership_is_found_as_by_the_exact_bayes_attacker(features, noise, rows):
    """Who knows the density of all rows weighs each released row by its inverse; ours is estimated from the release."""
    exact, ours, control = np.mean(
        [[balanced_advantage(*scores) for scores in run] for run in found(features, noise, rows)], axis=0
    )
    assert abs(exact - ours) < 0.01
    assert control < exact - 0.02, "without the density"


def calibration_error(beliefs, right, bins=10):
    parts = np.array_split(np.argsort(beliefs), bins)
    return np.mean([abs(beliefs[part].mean() - right[part].mean()) for part in parts])


def membership_calibration_error(runs):
    """Of the score as log odds, its constant such that half of the rows are believed to be members."""
    beliefs = [expit(scores + middle(scores)) for scores in map(np.concatenate, runs)]
    member = [np.repeat([True, False], [len(inside), len(outside)]) for inside, outside in runs]
    return calibration_error(np.concatenate(beliefs), np.concatenate(member))


def middle(scores):
    return brentq(lambda constant: expit(scores + constant).mean() - 0.5, -scores.max() - 10, -scores.min() + 10)


def link_calibration_error(features, noise, *, rows=300, runs=20):
    rng, chances, right = np.random.default_rng(0), [], []
    for _ in range(runs):
        known = rng.normal(size=(rows, features))
        links, chance = match_rows(released(known, noise, rng), known)
        chances.append(chance)
        right.append(links == np.arange(rows))
    return calibration_error(np.concatenate(chances), np.concatenate(right))


def test_beliefs_are_calibrated():
    """Membership by its score as log odds: twice that is too sure. And links."""
    runs = [ours for _, ours, _ in found(20, 1.0, 400)]
    assert membership_calibration_error(runs) < 0.02
    bold = [tuple(2 * (side + middle(np.concatenate(run))) for side in run) for run in runs]
    assert membership_calibration_error(bold) > 0.03
    assert link_calibration_error(8, 1.0, runs=10) < 0.02
