"""Leaks: a million scores, and epsilon bounds many at a time."""

from __future__ import annotations

import math
import time

import numpy as np
from scipy.stats import beta, binom
from sklearn.metrics import roc_auc_score, roc_curve

from benchmarks.published_tail import published_tail
from benchmarks.timing import timed_row
from tacit.leak import FixedThreshold, HeldOut, UnionBoundThresholds, epsilon_one_run, leak_from_scores
from tacit.leak.intervals import lower_limit

REPEATS = 3


def run(*, quick: bool) -> list[dict]:
    """Return one row a case."""
    return [*_scores(10_000 if quick else 1_000_000), _one_run(quick=quick), _limits(200 if quick else 2000)]


def _scores(rows: int) -> list[dict]:
    rng = np.random.default_rng(0)
    members, nonmembers = rng.normal(1, 1, rows // 2), rng.normal(0, 1, rows // 2)
    truth, scores = np.repeat([1, 0], rows // 2), np.concatenate([members, nonmembers])

    def reference() -> None:
        roc_curve(truth, scores)
        roc_auc_score(truth, scores)

    theirs = _best(reference)
    thresholds = {
        "fixed threshold": FixedThreshold(1.0),
        "held-out threshold": HeldOut(rng=rng),
        "200 thresholds corrected for": UnionBoundThresholds(thresholds=tuple(np.linspace(-3, 4, 200))),
    }
    return [
        timed_row(
            f"leak of {rows:,} scores, {name}",
            _best(lambda how=how: leak_from_scores(members, nonmembers, threshold=how)),
            "scikit-learn roc_curve and roc_auc_score, no intervals",
            theirs,
        )
        for name, how in thresholds.items()
    ]


def _one_run(*, quick: bool) -> dict:
    right, guesses, delta = (80, 100, 1e-5) if quick else (1100, 2000, 1e-5)

    def ours() -> float:
        return epsilon_one_run(right, guesses, guesses, delta=delta, tail=published_tail)

    assert abs(ours() - _by_the_loop(right, guesses, delta)) < 1e-6
    theirs = _best(lambda: _by_the_loop(right, guesses, delta))
    return timed_row(
        f"published one-run bound, {guesses:,} guesses", _best(ours), "the paper's loop, 30 halvings", theirs
    )


def _by_the_loop(right: int, guesses: int, delta: float) -> float:
    def p_value(epsilon: float) -> float:
        q = 1 / (1 + math.exp(-epsilon))
        best = mass = 0.0
        for i in range(1, right + 1):
            mass += binom.pmf(right - i, guesses, q)
            best = max(best, mass / i)
        return binom.sf(right - 1, guesses, q) + 2 * guesses * delta * best

    low, high = 0.0, 8.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle) < 0.05 else (low, middle)
    return low


def _limits(many: int) -> dict:
    counts = np.random.default_rng(1).integers(1, 1001, many)
    ours = _best(lambda: lower_limit(counts, 1000, alpha=0.025))
    theirs = _best(lambda: [beta.ppf(0.025, k, 1001 - k) for k in counts])
    return timed_row(f"{many:,} Clopper-Pearson limits", ours, "scipy's beta.ppf one by one", theirs)


def _best(function) -> float:
    function()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)
