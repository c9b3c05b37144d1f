"""What labels and all inner products prove at the margin: tighter than the largest inner product alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.margin.labels import check_points, signs_of
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["EXPECTED_RATIO", "MarginCoverage", "OutputBounds", "bound_outputs", "effective_dimension", "judge_coverage"]

EXPECTED_RATIO = 3.0
"""Effective dimensions a training point from which on membership is expected; see docs/models_margin.md."""


class MarginCoverage(StrEnum):
    """What is known beforehand about membership at the margin, for given training points.

    ``PROVED``: at every KKT point of the margin problem all training points lie on the margin (:func:`bound_outputs`;
    Theorem 4.2, corrected, where no labels are known), and every fresh point asked about lies below it.
    ``EXPECTED``: no proof, but :func:`effective_dimension` of the points is at least 3 times their number: every set
    of 20 such points in benchmarks/models_membership_margin.py gave its members away (AUC 0.999 and more).
    ``NOT_COVERED``: neither.
    """

    PROVED = "proved"
    EXPECTED = "expected"
    NOT_COVERED = "not covered"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutputBounds:
    """Bounds at every KKT point of margin 1 for given points and labels; all scale with the margin.

    Parameters
    ----------
    upper
        Above A_l over the neurons with v_j > 0 (first row) and those with v_j < 0 (second row); infinite if
        nothing is proved.
    lower
        Below A_l over the neurons of the label's sign: where it is positive the point lies on the margin.
    """

    points: Floats
    signs: Floats
    upper: Floats
    lower: Floats

    @property
    def on_margin(self) -> NDArray[np.bool_]:
        """Which training points are proved to lie on the margin."""
        return np.asarray(self.lower > 0)

    @property
    def holds(self) -> bool:
        """Whether all of them are."""
        return bool(self.on_margin.all())

    def fresh(self, X: ArrayLike) -> Floats:
        """Return what |Phi(x)| cannot exceed, in margins, for each row.

        With k_i = x_i . x + 1, Phi(x) is at most `sum_i upper_+i [y_i k_i]_+` and at least
        `-sum_i upper_-i [-y_i k_i]_+`.
        """
        rows = check_points(X)
        if rows.shape[1] != self.points.shape[1]:
            raise InvalidInput(
                f"X must have {self.points.shape[1]} columns, as the training points, got {rows.shape[1]}"
            )
        agreement = (rows @ self.points.T + 1) * self.signs
        above, below = np.maximum(agreement, 0), np.maximum(-agreement, 0)
        with np.errstate(invalid="ignore"):  # 0 times infinity: nothing is proved
            limit = np.maximum(above @ self.upper[0], below @ self.upper[1])
        return np.asarray(np.where(np.isnan(limit), np.inf, limit))


def bound_outputs(X: ArrayLike, y: ArrayLike) -> OutputBounds:
    """Bound how much each training point can weigh in a network at a KKT point of margin 1.

    With K = X X' + 1, `O_ki = [-y_k y_i K_ki]_+` and `S_ki = [y_k y_i K_ki]_+` for i != k, stationarity gives for the
    sums A+ and A- over neurons with v_j > 0 and v_j < 0

        K_kk A_k <= 1 + sum_i O_ki (A+_i + A-_i)    over the neurons of k's own sign,
        K_kk A_k <= sum_i O_ki A_i                  over the others,
        K_kk A_k >= 1 - sum_i S_ki A_i              over the neurons of k's own sign.

    The first two are a system z <= b + M z with M >= 0; where its spectral radius is below 1, z <= (I - M)^-1 b. For 20
    points on the sphere of radius sqrt(d) this proves all on the margin from d of about 400 on, where Theorem 4.2
    needs about 30,000.

    References
    ----------
    docs/proofs/models.md; paper 004, Lemmas B.1 and B.2, whose steps these are without the worst case over pairs.
    """
    points = check_points(X)
    signs = signs_of(y, rows=len(points))
    kernel = points @ points.T + 1
    own = np.diag(kernel).copy()
    agreement = kernel * np.outer(signs, signs) / own[:, None]
    np.fill_diagonal(agreement, 0.0)
    opposed, agreed = np.maximum(-agreement, 0), np.maximum(agreement, 0)
    upper = _solve(opposed, own, signs)
    if upper is None:
        nothing = np.full((2, len(points)), np.inf)
        return OutputBounds(points=points, signs=signs, upper=nothing, lower=np.full(len(points), -np.inf))
    of_sign = upper[np.where(signs > 0, 0, 1)]
    lower = 1 / own - (agreed * of_sign).sum(axis=1)
    return OutputBounds(points=points, signs=signs, upper=upper, lower=lower)


def judge_coverage(X: ArrayLike, y: ArrayLike | None = None, *, fresh: ArrayLike | None = None) -> MarginCoverage:
    """Return what is known beforehand about membership at the margin for these training points.

    Without their labels only Theorem 4.2 can prove something. ``fresh`` points were not trained on: each must be proved
    to lie below the margin too.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, 20)
    >>> [str(judge_coverage(rng.normal(size=(20, d)), labels)) for d in (1000, 200, 20)]
    ['proved', 'expected', 'not covered']
    """
    rows = check_points(X)
    if _proves(rows, y, fresh):
        return MarginCoverage.PROVED
    expected = len(rows) > 1 and effective_dimension(rows) >= EXPECTED_RATIO * len(rows)
    return MarginCoverage.EXPECTED if expected else MarginCoverage.NOT_COVERED


def _proves(rows: Floats, y: ArrayLike | None, fresh: ArrayLike | None) -> bool:
    """Whether the bounds hold; without labels those of the largest inner product (docs/proofs/models.md)."""
    if y is not None:
        bounds = bound_outputs(rows, y)
        return bounds.holds and (fresh is None or bool((bounds.fresh(fresh) < 1).all()))
    products = np.abs(rows @ rows.T)
    least = float(np.diag(products).min())
    np.fill_diagonal(products, 0.0)
    taken = (products.max() + 1) * (len(rows) - 1)
    if 3 * taken >= least + 1:
        return False
    if fresh is None:
        return True
    overlaps = np.abs(check_points(fresh) @ rows.T).max(axis=1)
    return bool((len(rows) * (overlaps + 1) < least + 1 - 2 * taken).all())


def effective_dimension(X: ArrayLike) -> float:
    """Return (mean |x|^2)^2 / mean (x_i . x_j)^2 over i != j: d for points uniform on a sphere in d dimensions.

    Points that share a direction have fewer: it is what counts of the dimension for membership at the margin.
    """
    rows = check_points(X)
    if len(rows) < 2:
        raise InvalidInput(f"X must have two rows or more to compare, got {len(rows)}")
    products = rows @ rows.T
    mean_square = float(np.trace(products)) / len(rows)
    apart = (np.square(products).sum() - np.square(np.diag(products)).sum()) / (len(rows) * (len(rows) - 1))
    return mean_square**2 / float(apart) if apart > 0 else math.inf


def _solve(opposed: Floats, own: Floats, signs: Floats) -> Floats | None:
    """Return (I - M)^-1 b as two rows, or None if the spectral radius of M is not below 1."""
    mine = np.stack([signs > 0, signs < 0])
    system = np.block(
        [
            [opposed, opposed * mine[0][:, None]],
            [opposed * mine[1][:, None], opposed],
        ]
    )
    rest = np.eye(2 * len(own)) - system
    try:
        # M >= 0 has spectral radius below 1 exactly where (I - M) s = 1 has a solution s > 0
        bound, witness = np.linalg.solve(rest, np.stack([(mine / own).ravel(), np.ones(2 * len(own))], axis=1)).T
    except np.linalg.LinAlgError:
        return None
    return bound.reshape(2, -1) if (witness > 0).all() else None
