"""The marks of submissions that were crafted to read labels, not to predict them. Labels are never used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from tacit.privacy.errors import InvalidInput
from tacit.scores.inspections.sketch import row_keys, shared_rows

__all__ = ["FeatureStudy", "SubmissionFinding", "inspect_submission"]

Table = NDArray[np.float64]
Rows = NDArray[np.int64]

_MOST = 4096  # rows whose neighbors are looked up
_NEIGHBORS = 8
_SAME = 1e-9  # a probability this near to another is the same
_CERTAIN = 1e-4  # a row this near to 0 or 1 may be a label that is known already
_NEUTRAL = 0.5  # share of the other rows at 1/K
_UNEQUAL = 0.01  # share of rows that differ from the middle prediction for their features
_JITTER = 1e-6  # what binary32 may do to equal rows in other batches, as a share of the predictions' range
_EXPLAINED = 0.45  # correlation of a prediction with those of its neighbors
_TIES = (1e-13, 1e-8)  # log odds this near to the most frequent are no rounding of binary64 and too fine for binary32
_OPEN = 1e-3  # nearer to 0 or 1, rounding alone moves log-odds that much
_FEW = 5  # rows that make a pattern
_LATTICE = 0.9  # share of log-odds that are whole multiples of one number, of rows that set a class apart
_MULTIPLE = 1e-3  # how near to an integer
_REPEATED = (0.98, 3)  # share of rows that two files have in common, and how many such files
_CONSTANT = 100  # rows; models of fewer are often constant
_FEWEST = 20  # rows below which features are not checked


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionFinding:
    """One reason to think that a submission was crafted: what a check measured, and its limit.

    Parameters
    ----------
    check
        The check's name, as :func:`inspect_submission` lists them.
    """

    check: str
    reason: str
    measured: float
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureStudy:
    """Which rows a model must treat alike, by the host's features; computed once per competition.

    Parameters
    ----------
    rows
        The rows whose neighbors are known: all, or an even sample of 4,096.
    neighbors
        For each of them its 8 nearest others by standardized features.
    """

    groups: Rows = field(repr=False)
    rows: Rows = field(repr=False)
    neighbors: Rows = field(repr=False)

    @classmethod
    def of(cls, features: ArrayLike) -> FeatureStudy:
        """Study a table of finite numbers; categories one-hot."""
        X = np.asarray(features, dtype=np.float64)
        if X.ndim != 2 or not len(X) or not np.isfinite(X).all():
            raise InvalidInput(
                f"must be a table of finite numbers, got shape {X.shape}; encode categories", field="features"
            )
        _, groups = np.unique(X, axis=0, return_inverse=True)
        rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), _MOST)).astype(np.int64))
        spread = X.std(axis=0)
        Z = (X[rows] - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        count = min(_NEIGHBORS, len(rows) - 1)
        if count == 0:
            return cls(groups=groups.reshape(-1), rows=rows, neighbors=np.zeros((1, 0), dtype=np.int64))
        near = np.asarray(cKDTree(Z).query(Z, k=count + 1)[1])
        own = near == np.arange(len(rows))[:, None]
        own[~own.any(axis=1), -1] = True  # more equal rows than neighbors asked for: leave out any one
        return cls(groups=groups.reshape(-1), rows=rows, neighbors=near[~own].reshape(len(rows), count))


def inspect_submission(
    predictions: ArrayLike,
    *,
    classes: int,
    features: FeatureStudy | ArrayLike | None = None,
    earlier: Sequence[str] = (),
) -> tuple[SubmissionFinding, ...]:
    """Look for the marks of predictions that were built for an attack.

    **constant**: one probability for all rows. **neutral**: of the rows that are not next to certain, more than
    half at exactly 1/K, or fewer where the others set one class apart from equal ones. **spacing**: log-odds that are
    whole multiples of one number, or equally spaced over the classes. **precision**: log-odds within 1e-8 of the
    most frequent one and not equal to it. With features, **equal rows**: rows of equal features with unequal
    predictions; **unexplained**: predictions that a row's nearest neighbors do not share. With earlier files of the
    team, **repeated**: three or more that are nearly the same file.

    A finding is a reason to look, never a proof: a team with other features than the host's may be right. An empty
    answer proves nothing either: an attacker who knows the checks can hide in a model's predictions, at the cost of
    more submissions. Noise and budget protect; these checks only alert.

    Parameters
    ----------
    predictions
        As submitted: (rows,) or (rows, classes).
    features
        The host's, best studied once by :meth:`FeatureStudy.of`.
    earlier
        What :func:`sketch_submission` made of the team's earlier files.

    References
    ----------
    Aggarwal et al. (2021), Section 3: spaced losses. Blum, Hardt (2015), Section 3.1: random predictions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> inspect_submission(1 / (1 + np.exp(-X.sum(axis=1))), classes=2, features=X)
    ()
    >>> [finding.check for finding in inspect_submission(rng.integers(0, 2, 300), classes=2, features=X)]
    ['unexplained']
    """
    P = np.asarray(predictions, dtype=np.float64)
    P = P[:, None] if P.ndim == 1 else P
    hard = bool(np.isin(P, np.arange(max(2, classes))).all())
    found = [] if hard else [*_check_values(P, classes=classes), *_check_repeated(P, earlier)]
    if features is not None:
        study = features if isinstance(features, FeatureStudy) else FeatureStudy.of(features)
        if len(study.groups) != len(P):
            raise InvalidInput(
                f"must have one row for each of {len(P)} predictions, got {len(study.groups)}", field="features"
            )
        found += _check_equal_rows(P, study)
        if not found:
            found += _check_explained(P, study, hard=hard)
    return tuple(found)


def _check_values(P: Table, *, classes: int) -> list[SubmissionFinding]:
    """Look at the numbers alone; they are probabilities, or ranks of any scale."""
    if len(P) >= _CONSTANT and not np.ptp(P, axis=0).any():
        reason = f"all {len(P)} rows have the same prediction"
        return [SubmissionFinding(check="constant", reason=reason, measured=1.0, limit=1.0)]
    if classes < 2 or P.min() < 0 or P.max() > 1:
        return []
    table = np.stack([1 - P[:, 0], P[:, 0]], axis=1) if P.shape[1] == 1 else P
    return [*_check_neutral(table), *_check_spacing(table), *_check_precision(table)]


def _check_neutral(P: Table) -> list[SubmissionFinding]:
    open_rows = P[P.max(axis=1) < 1 - _CERTAIN]
    neutral = int((np.ptp(open_rows, axis=1) < _SAME).sum())
    share = neutral / max(1, len(open_rows))
    # of three classes or more, rows that set one apart from equal others ask about it: few may then be neutral
    ordered = np.sort(open_rows, axis=1)
    apart = np.minimum(ordered[:, -2] - ordered[:, 0], ordered[:, -1] - ordered[:, 1]) < _SAME
    asking = P.shape[1] > 2 and apart.mean() >= _LATTICE if len(open_rows) else False
    if neutral < _FEW or (share <= _NEUTRAL and not asking):
        return []
    also = ", and the others set one class apart from equal ones" if asking else ""
    reason = f"{neutral} rows are at exactly 1/{P.shape[1]}, {share:.0%} of those that are not next to certain{also}"
    return [SubmissionFinding(check="neutral", reason=reason, measured=share, limit=_NEUTRAL)]


def _check_spacing(P: Table) -> list[SubmissionFinding]:
    with np.errstate(divide="ignore"):
        logs = np.log(P)
    asked = np.isfinite(logs).all(axis=1) & (P.max(axis=1) < 1 - _SAME) & (np.ptp(P, axis=1) > _SAME)
    if P.shape[1] > 2:
        return _check_linear(logs[asked])
    sizes = np.unique(np.round(np.abs(logs[asked, 1] - logs[asked, 0]), 9))
    if len(sizes) < _FEW:
        return []
    # ratios to the smallest: an attack's are integers, however large; past 1/_MULTIPLE every number is near one
    ratios = sizes / sizes[0]
    ratios = ratios[ratios * _SAME / sizes[0] < _MULTIPLE]
    if len(ratios) < _FEW:
        return []
    share = float((np.abs(ratios - np.round(ratios)) < _MULTIPLE).mean())
    if share < _LATTICE:
        return []
    reason = f"{share:.0%} of {len(ratios)} distinct log-odds are whole multiples of {sizes[0]:.6g}"
    return [SubmissionFinding(check="spacing", reason=reason, measured=share, limit=_LATTICE)]


def _check_linear(logs: Table) -> list[SubmissionFinding]:
    if len(logs) < _FEW:
        return []
    steps = np.diff(logs, axis=1)
    share = float((np.ptp(steps, axis=1) < 1e-6 * np.abs(steps).max(axis=1)).mean())
    if share < _NEUTRAL:
        return []
    reason = f"{share:.0%} of {len(logs)} rows have log-probabilities equally spaced over the classes"
    return [SubmissionFinding(check="spacing", reason=reason, measured=share, limit=_NEUTRAL)]


def _check_precision(P: Table) -> list[SubmissionFinding]:
    _, first, counts = np.unique(row_keys(P), return_index=True, return_counts=True)
    if not _OPEN < P[first[counts.argmax()]].min() < 1 - _OPEN:
        return []
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(P) - np.log(P[:, :1])
        distance = np.abs(odds - odds[first[counts.argmax()]]).max(axis=1)
    near = int(((distance > _TIES[0]) & (distance < _TIES[1])).sum())
    if near < _FEW:
        return []
    reason = f"{near} rows are within {_TIES[1]:g} of the most frequent prediction and not equal to it"
    return [SubmissionFinding(check="precision", reason=reason, measured=float(near), limit=float(_FEW))]


def _check_equal_rows(P: Table, study: FeatureStudy) -> list[SubmissionFinding]:
    """Count rows that differ from the middle prediction of their group."""
    sizes = np.bincount(study.groups)
    middles = np.cumsum(sizes) - sizes + sizes // 2
    other = np.zeros(len(P), dtype=np.bool_)
    for column in P.T:
        middle = column[np.lexsort((column, study.groups))[middles]]
        other |= np.abs(column - middle[study.groups]) > _JITTER * max(1.0, float(np.ptp(column)))
    unequal = int(other.sum())
    share = unequal / len(P)
    if unequal < _FEW or share <= _UNEQUAL:
        return []
    reason = f"{unequal} rows ({share:.1%}) differ from the middle prediction for the same features"
    return [SubmissionFinding(check="equal rows", reason=reason, measured=share, limit=_UNEQUAL)]


def _check_explained(P: Table, study: FeatureStudy, *, hard: bool) -> list[SubmissionFinding]:
    """Correlate each prediction with the mean of its neighbors': a model is a function of the features."""
    if len(study.rows) < _FEWEST or not study.neighbors.shape[1]:
        return []
    given = P[study.rows]
    several = hard and (given.shape[1] > 1 or given.max() > 1)
    if several and given.shape[1] == 1:
        given = (given == np.unique(given)).astype(np.float64)
    least = max(2 * _FEW, len(given) / 100) if several else 1
    columns = [column for column in given.T if np.ptp(column) > 0 and np.count_nonzero(column) >= least]
    explained = [_explained(column, study.neighbors) for column in columns]
    # one class guessed among others that are known gives a weighing away; probabilities may be poor in some class
    measured = min(explained, default=1.0) if several else max(explained, default=1.0)
    if measured >= _EXPLAINED:
        return []
    reason = (
        f"predictions and those of the rows with the nearest features correlate by {measured:.2f}; "
        f"a model's do by {_EXPLAINED} or more"
    )
    return [SubmissionFinding(check="unexplained", reason=reason, measured=measured, limit=_EXPLAINED)]


def _explained(column: Table, neighbors: Rows) -> float:
    _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[places]  # a few huge log-odds must not decide
    around = ranks[neighbors].mean(axis=1)
    if np.ptp(around) == 0:
        return 0.0
    return float(np.corrcoef(ranks, around)[0, 1])


def _check_repeated(P: Table, earlier: Sequence[str]) -> list[SubmissionFinding]:
    if not earlier:
        return []
    shares = shared_rows(P, earlier)
    alike = int(((shares >= _REPEATED[0]) & (shares < 1)).sum())
    if alike < _REPEATED[1]:
        return []
    reason = f"{alike} earlier files of the team have {_REPEATED[0]:.0%} or more of the rows in common with this one"
    return [SubmissionFinding(check="repeated", reason=reason, measured=float(alike), limit=float(_REPEATED[1]))]
