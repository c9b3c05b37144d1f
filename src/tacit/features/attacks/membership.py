"""Was this row in the release: a score per row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.covariance import oas

from tacit.features.attacks.attacked_features import AttackedFeatures
from tacit.features.attacks.released_rows import ReleasedRows
from tacit.features.methods import RowMembership
from tacit.leak import HeldOut, Leak, leak_from_scores

__all__ = ["find_members", "membership_leak", "membership_scores"]

_CELLS = 1 << 23


def find_members(_: RowMembership, target: AttackedFeatures) -> Leak:
    """Score rows of the protected table and rows that were never used, and separate the two."""
    released = ReleasedRows.of(target.release)
    inside, outside = (membership_scores(released, target.read(name)) for name in ("truth", "data"))
    leak = membership_leak(inside, outside, rng=target.rng, level=target.level)
    member = np.repeat([True, False], [len(inside), len(outside)])
    return replace(leak, guesses=pa.table({"score": np.concatenate([inside, outside]), "member": member}))


def membership_scores(released: ReleasedRows, rows: ArrayLike) -> NDArray[np.float64]:
    """Return the log-likelihood ratio, up to a constant, of "a released row is this row" to "none of them is".

    log sum_i e^(-|r_i - x|^2/2)/m(r_i), with m the density of released rows, taken as Gaussian with their own mean and
    covariance: a released row near x says much where few are, and little in a crowd.

    References
    ----------
    Chen, Wiesel, Eldar and Hero (2010) for the covariance.

    Examples
    --------
    >>> membership_scores(ReleasedRows([[0.0], [1.0]], noise=0.1), [[1.0], [3.0]]).round(2)
    array([   0.5, -199.5])
    """
    targets = released.place(rows)
    own = (released.rows**2).sum(axis=1) / 2 - _rarity(released.rows)
    chunk = max(1, _CELLS // max(1, len(own)))
    scores = np.empty(len(targets))
    for start in range(0, len(targets), chunk):
        part = targets[start : start + chunk]
        exponents = part @ released.rows.T - own - (part**2).sum(axis=1, keepdims=True) / 2
        scores[start : start + chunk] = logsumexp(exponents, axis=1)
    return scores


def _rarity(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minus the log density of each row, up to a constant; rows with noise of variance 1 vary at least as much."""
    centered = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(oas(centered, assume_centered=True)[0])
    return np.asarray(((centered @ vectors) ** 2 / np.maximum(values, 1.0)).sum(axis=1) / 2)


def membership_leak(
    members: ArrayLike, nonmembers: ArrayLike, *, rng: np.random.Generator, level: float = 0.95
) -> Leak:
    """Measure how well :func:`membership_scores` separate rows of the release from rows like them that are not in it.

    Half of the rows choose the threshold, the other half are counted. There is no bound on epsilon: all scores are of
    one release, and what separates the two groups without it, such as a later year, is counted as well.
    :func:`~tacit.features.attacks.canaries.canary_leak` has one.
    """
    threshold = HeldOut(fraction=0.5, rng=rng)
    return replace(leak_from_scores(members, nonmembers, threshold=threshold, level=level), bound=None)
