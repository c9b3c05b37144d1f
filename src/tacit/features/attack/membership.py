"""Was this record in the release: a score a row, and canaries that prove an epsilon."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from tacit.features.attack.linkage import ReleasedRows
from tacit.features.protect.box import STEPS
from tacit.features.protect.moments import ClassMoments
from tacit.features.protect.rows import ClassTotals, NoisedRows
from tacit.leak import HeldOut, Leak, leak_from_scores
from tacit.privacy.release import Release
from tacit.privacy.rounding import check_count

__all__ = ["canary_leak", "membership_leak", "membership_scores", "totals_leak"]

_CELLS = 1 << 23


def membership_scores(release: Release, rows: ArrayLike) -> NDArray[np.float64]:
    """Return the log-likelihood that some released row is this row under noise: log sum_i e^(-|r_i - x|^2/2).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.privacy import NoGuarantee
    >>> release = Release(value=pa.table({"a": [0.0, 1.0], "label": [0, 1]}), seeded=True, surface="features",
    ...                   guarantee=NoGuarantee(reason="an example"),
    ...                   mechanism={"name": "noised_rows", "features": ["a"], "noise": [0.1]})
    >>> membership_scores(release, [[1.0], [3.0]]).round(2)
    array([   0., -200.])
    """
    seen = ReleasedRows(release)
    targets = seen.place(rows)
    own = (seen.rows**2).sum(axis=1) / 2
    chunk = max(1, _CELLS // max(1, len(own)))
    scores = np.empty(len(targets))
    for start in range(0, len(targets), chunk):
        part = targets[start : start + chunk]
        exponents = part @ seen.rows.T - own - (part**2).sum(axis=1, keepdims=True) / 2
        scores[start : start + chunk] = logsumexp(exponents, axis=1)
    return scores


def membership_leak(
    release: Release, *, members: ArrayLike, nonmembers: ArrayLike, rng: np.random.Generator, level: float = 0.95
) -> Leak:
    """Measure how well :func:`membership_scores` tells rows of the release from rows like them that are not.

    Half of the rows choose the threshold, the other half are counted. No epsilon is proved: all scores are of one
    release, and what tells the two groups apart without it, such as a later year, is counted as well.
    :func:`canary_leak` proves one.

    Parameters
    ----------
    release
        Feature rows.
    members, nonmembers
        Raw rows with the released features, in their order: those behind the release, and others drawn as they were.
    rng
        Splits the rows.
    level
        Confidence of the intervals.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.privacy import NoGuarantee
    >>> rng = np.random.default_rng(0)
    >>> inside, outside = rng.normal(size=(2, 200, 5))
    >>> table = pa.table({**{f"x{j}": inside[:, j] for j in range(5)}, "label": np.zeros(200)})
    >>> header = {"name": "noised_rows", "features": [f"x{j}" for j in range(5)], "noise": [0.1] * 5}
    >>> release = Release(value=table, guarantee=NoGuarantee(reason="an example"), surface="features", seeded=True,
    ...                   mechanism=header)
    >>> membership_leak(release, members=inside, nonmembers=outside, rng=rng).advantage > 0.9
    True
    """
    leak = leak_from_scores(
        membership_scores(release, members),
        membership_scores(release, nonmembers),
        threshold=HeldOut(fraction=0.5, rng=rng),
        level=level,
    )
    return replace(leak, bound=None)


def canary_leak(
    mechanism: NoisedRows,
    *,
    features: int,
    canaries: int,
    delta: float,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Leak:
    """Prove an epsilon of the noise on rows: canaries in one of two opposite corners of the box, told by likelihood.

    Each row gets its own noise, so every canary is a run of its own. The two corners are the neighbours that the noise
    is calibrated for: no pair of records is easier to tell.

    Parameters
    ----------
    mechanism
        What releases rows; anything with its ``protect``.
    features
        How many features a row has.
    canaries
        Rows in each corner; half of them choose the threshold.
    delta
        The delta of the promise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> leak = canary_leak(NoisedRows(epsilon=2.0, delta=1e-3), features=4, canaries=5000, delta=1e-3, rng=rng)
    >>> 0.5 < leak.epsilon_lower_bound <= 2.0
    True
    """
    corner = np.full((check_count(canaries, name="canaries"), features), STEPS, dtype=np.int64)
    here, there = (mechanism.protect(side, rng=rng).sum(axis=1) for side in (corner, -corner))
    return leak_from_scores(here, there, threshold=HeldOut(fraction=0.5, rng=rng), level=level, delta=delta)


def totals_leak(
    mechanism: ClassTotals,
    *,
    features: int,
    runs: int,
    delta: float,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Leak:
    """Prove an epsilon of class totals: one record in one of two opposite corners of the box, told by its class's sums.

    The two data sets differ in that record alone, and what they have in common does not matter: noise is added.

    Parameters
    ----------
    mechanism
        What releases totals; anything with its ``protect``.
    features
        How many features a row has.
    runs
        Releases of each data set; half of them choose the threshold.
    delta
        The delta of the promise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> leak = totals_leak(ClassTotals(epsilon=4.0, delta=1e-3), features=3, runs=500, delta=1e-3, rng=rng)
    >>> 0.5 < leak.epsilon_lower_bound <= 4.0
    True
    """
    count = check_count(runs, name="runs")
    corner = np.full((1, features), STEPS, dtype=np.int64)
    here, there = (
        [mechanism.protect(moments, rng=rng).sums[0].sum() for _ in range(count)]
        for moments in (ClassMoments.of(side, np.zeros(1, dtype=np.int64), classes=2) for side in (corner, -corner))
    )
    return leak_from_scores(here, there, threshold=HeldOut(fraction=0.5, rng=rng), level=level, delta=delta)
