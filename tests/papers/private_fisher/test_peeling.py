"""Selection by peeling: enumerated, and drawn as it was enumerated."""

from itertools import permutations, product
from math import exp

import numpy as np

from papers.private_fisher.peeling import peel


def _permute_and_flip_law(scores, rate):
    """P(first) by enumeration of the orders."""
    best = max(scores)
    heads = [exp(-rate * (best - s)) for s in scores]
    law = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for j in order:
            law[j] += left * heads[j] / len(orders)
            left *= 1 - heads[j]
    return law


def test_peeling_draws_permute_and_flip():
    scores, runs = np.array([0, 700, 1025]), 8_000
    rng = np.random.default_rng(1)
    drawn = [peel(scores, keep=1, sensitivity=1025, epsilon=2.0, rng=rng)[0] for _ in range(runs)]
    seen = np.bincount(drawn, minlength=3) / runs
    law = _permute_and_flip_law([0, 700, 1025], 2.0 / (2 * 1025))
    assert np.abs(seen - law).max() < 6 * 0.5 / runs**0.5
    doubled = _permute_and_flip_law([0, 700, 1025], 4.0 / (2 * 1025))
    assert np.abs(seen - doubled).max() > 6 * 0.5 / runs**0.5


def test_permute_and_flip_is_private():
    for move in product((-1, 0, 1), repeat=3):
        here, there = (_permute_and_flip_law(s, 0.5) for s in ((2, 0, 1), tuple(np.add((2, 0, 1), move))))
        assert np.abs(np.log(here / there)).max() <= 1.0 + 1e-12
