"""The feature release as it was printed, for reproduction: it is not differentially private, and says so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from papers.private_fisher.scores import by_distance
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import NoGuarantee
from tacit.privacy.rounding import check_count, check_delta, check_epsilon

__all__ = ["REASON", "PrintedRelease", "published_release"]

REASON = (
    "the printed algorithm reads means, ranking and largest norm without noise, releases true labels, and its noise is "
    "not scaled to the sensitivity"
)
"""Why the printed algorithm carries no guarantee."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrintedRelease:
    """What the printed algorithm releases: the places of the features kept, noisy rows of them, and true labels."""

    features: tuple[int, ...]
    rows: NDArray[np.float64]
    labels: NDArray[np.generic]
    noise: float
    guarantee: NoGuarantee = NoGuarantee(reason=REASON)  # noqa: RUF009  # a frozen value


def published_release(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    keep: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    score: Callable[[ArrayLike, ArrayLike], NDArray[np.float64]] = by_distance,
) -> PrintedRelease:
    """Release the ``keep`` features of largest score with Gaussian noise of variance 2 N ln(1/delta)/epsilon.

    N is the largest L1 norm of a cut row. Carries no guarantee: at N = 10, epsilon 1 and a claimed delta of 1e-5 the
    true delta of the noise alone is 0.248, and means, ranking, N and the labels leave without any.

    Parameters
    ----------
    score
        ``by_distance``, the paper's, or ``by_t_statistic``, what it is compared with.

    References
    ----------
    The feature-release paper, Algorithm 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 50)
    >>> X = rng.normal(size=(50, 4)) + 3 * y[:, None] * (np.arange(4) == 2)
    >>> release = published_release(X, y, keep=1, epsilon=6.0, delta=1e-5, rng=rng)
    >>> release.features, release.rows.shape
    ((2,), (50, 1))
    >>> print(release.guarantee)
    no guarantee: the printed algorithm reads means, ranking and largest norm without noise, releases true labels, ...
    """
    rows, classes = np.asarray(X, dtype=np.float64), np.asarray(labels)
    m = check_count(keep, name="keep")
    if m > rows.shape[1]:
        raise InvalidInput(f"keep must be at most the number of features, {rows.shape[1]}, got {m}")
    ranked = np.argsort(-score(rows, classes), kind="stable")[:m]  # lines 2 to 5
    cut = rows[:, ranked]
    largest = float(np.abs(cut).sum(axis=1).max())  # line 6
    variance = 2 * largest * math.log(1 / check_delta(delta, zero=False)) / check_epsilon(epsilon)  # line 7
    noise = math.sqrt(variance)
    noisy = cut + rng.normal(scale=noise, size=cut.shape)  # line 8
    return PrintedRelease(features=tuple(int(j) for j in ranked), rows=noisy, labels=classes, noise=noise)
