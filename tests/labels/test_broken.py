"""Mechanisms that are broken on purpose are found in 10,000 rows, and honest ones are seldom suspected."""

import numpy as np
import pyarrow as pa
import pytest

from tacit.labels import Plan, protect
from tacit.labels.attacks.guess import guess_labels, guess_labels_in_order
from tacit.labels.attacks.randomization import test_independence, test_randomization
from tacit.labels.mechanisms import RandomizedResponse

ROWS, LEVEL = 10_000, 0.05


def respond(labels, rng, *, epsilon=1.0):
    return RandomizedResponse(epsilon=epsilon, classes=2).randomize(labels, rng=rng)


def is_suspected(labels, released):
    return not test_randomization(labels, released, epsilon=1.0, classes=[0, 1]).acted(significance=LEVEL)


def keeps_too_much(rng, rows):
    labels = rng.integers(0, 2, rows)
    return is_suspected(labels, respond(labels, rng, epsilon=1.25))


def reuses_draws_in_blocks(rng, rows):
    labels, block = rng.integers(0, 2, rows), respond(np.zeros(200, int), rng) == 1
    return is_suspected(labels, np.where(np.resize(block, rows), 1 - labels, labels))


def has_one_seed_for_two_releases(rng, rows):
    labels, seed = rng.integers(0, 2, rows), int(rng.integers(2**31))
    first, second = (respond(labels, np.random.default_rng(seed)) for _ in range(2))
    return test_independence(labels, first, second, epsilon=1.0) < LEVEL


def leaves_a_tenth_of_a_class_bare(rng, rows):
    labels = rng.integers(0, 2, rows)
    bare = (labels == 1) & (rng.random(rows) < 0.1)
    return is_suspected(labels, np.where(bare, labels, respond(labels, rng)))


def leaks_the_order(rng, rows):
    return finds_order(np.sort(rng.integers(0, 2, rows)), rng)


def finds_order(labels, rng):
    release = protect(pa.table({"y": labels}), Plan(label="y", epsilon=1, classes=("0", "1")), rng=rng)
    return guess_labels_in_order(release, guess_labels(release)) is not None


BROKEN = [
    keeps_too_much,
    reuses_draws_in_blocks,
    has_one_seed_for_two_releases,
    leaves_a_tenth_of_a_class_bare,
    leaks_the_order,
]


@pytest.mark.parametrize("is_found", BROKEN)
def test_broken_mechanisms_are_found(is_found):
    rng, runs = np.random.default_rng(0), 4 if is_found is leaks_the_order else 40
    assert sum(is_found(rng, ROWS) for _ in range(runs)) >= 0.9 * runs


def false_alarms(rng, rows):
    """Whether one honest run is suspected by each of the three."""
    labels = rng.integers(0, 2, rows)
    first, second = (respond(labels, rng) for _ in range(2))
    shared = test_independence(labels, first, second, epsilon=1.0) < LEVEL
    return is_suspected(labels, first), shared, finds_order(labels, rng)


@pytest.mark.parametrize(("runs", "rows"), [(50, 1000), pytest.param(1000, ROWS, marks=pytest.mark.slow)])
def test_honest_mechanisms_are_seldom_suspected(runs, rows):
    """At most at the level, within three standard deviations of that many runs."""
    rng = np.random.default_rng(1)
    alarms = np.sum([false_alarms(rng, rows) for _ in range(runs)], axis=0)
    assert (alarms <= runs * LEVEL + 3 * np.sqrt(runs * LEVEL * (1 - LEVEL))).all(), alarms
