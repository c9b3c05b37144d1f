"""What others did, to compare with: exhaustive search, random predictions, boosting by accuracy scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.design import Labels
from tacit.scores.attacks.infer import Oracle
from tacit.scores.losses import FLOAT64, InvertibleLoss, LossReduction, NumberSystem

__all__ = ["boosted_labels", "exhaustive_labels", "random_prediction_labels"]

_MOST_LABELINGS = 1 << 24


def exhaustive_labels(
    score: float, loss: InvertibleLoss, predictions: ArrayLike, *, precision: NumberSystem = FLOAT64
) -> Labels:
    """Return the labels whose score is nearest: the paper's search over all K^N labelings.

    References
    ----------
    Aggarwal et al. (2021), Algorithm LABELINF.

    Examples
    --------
    >>> from tacit.scores.losses import SquaredError
    >>> p, truth = np.array([0.0, 0.25, 0.375]), np.array([1, 0, 1])
    >>> exhaustive_labels(SquaredError().score(truth, p), SquaredError(), p)
    array([1, 0, 1])
    """
    table = np.asarray(loss.row_losses(predictions, precision=precision), dtype=np.float64)
    rows, classes = table.shape
    if classes**rows > _MOST_LABELINGS:
        raise InvalidInput(f"predictions must have few rows: {classes}^{rows} labelings are too many to try")
    sums = np.zeros(1)
    for row in table:
        sums = (row[:, None] + sums).reshape(-1)
    scores = sums / rows if loss.reduction is LossReduction.MEAN else sums
    best = int(np.argmin(np.abs(scores - score)))
    return np.array([best // classes**i % classes for i in range(rows)], dtype=np.int64)


def random_prediction_labels(oracle: Oracle, loss: InvertibleLoss, *, rows: int, rng: np.random.Generator) -> Labels:
    """Return what the exhaustive search makes of one score of uniformly random predictions.

    References
    ----------
    Aggarwal et al. (2021), footnote 6: already mild noise leaves nothing to find.

    Examples
    --------
    >>> from tacit.scores.losses import ClippedCrossEntropy
    >>> truth, rng = np.array([1, 0, 1, 1]), np.random.default_rng(0)
    >>> loss = ClippedCrossEntropy()
    >>> random_prediction_labels(lambda p: loss.score(truth, p), loss, rows=4, rng=rng)
    array([1, 0, 1, 1])
    """
    if loss.classes == 2:
        predictions = rng.uniform(size=check_count(rows, name="rows"))
    else:
        predictions = rng.dirichlet(np.ones(loss.classes), size=check_count(rows, name="rows"))
    return exhaustive_labels(float(oracle(predictions)), loss, predictions)


def boosted_labels(oracle: Callable[[Labels], float], *, rows: int, queries: int, rng: np.random.Generator) -> Labels:
    """Return the majority of random 0/1 submissions whose accuracy was above one half.

    With k queries its accuracy is about 1/2 + sqrt(k/(2 pi N)) for k far below N.

    References
    ----------
    Blum, Hardt (2015), "The Ladder", Section 3.1: the boosting attack.

    Examples
    --------
    >>> truth, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> guesses = boosted_labels(lambda p: float((p == truth).mean()), rows=200, queries=400, rng=rng)
    >>> bool((guesses == truth).mean() > 0.7)
    True
    """
    votes = np.zeros(check_count(rows, name="rows"), dtype=np.int64)
    for _ in range(check_count(queries, name="queries")):
        submission = rng.integers(0, 2, size=rows)
        if oracle(submission) > 0.5:
            votes += 2 * submission - 1
    return (votes > 0).astype(np.int64)
