"""What every mechanism with finitely many outputs can do, from its transition matrix alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_epsilon

__all__ = ["OverClasses", "check_codes", "check_prior", "estimate_counts", "posterior_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverClasses:
    """An epsilon and a number of classes, which may be set later.

    Examples
    --------
    >>> OverClasses(epsilon=1.0).bind(3).K
    3
    """

    epsilon: float
    classes: int | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if self.classes is not None:
            check_count(self.classes, name="classes", least=2)

    def bind(self, classes: int) -> Self:
        """Return the mechanism for ``classes`` classes."""
        if self.classes not in (None, classes):
            raise InvalidInput(f"must be {self.classes}, as the mechanism was made for, got {classes}", field="classes")
        return replace(self, classes=classes)

    @property
    def K(self) -> int:  # noqa: N802  # the papers' name
        """The number of classes, once it is set."""
        if self.classes is None:
            raise InvalidInput("must be set: call bind(classes) with the number of classes first", field="classes")
        return self.classes


def posterior_of(transition: NDArray[np.float64], *, prior: ArrayLike) -> NDArray[np.float64]:
    """Return P(label = j | output = i) as row i, for a prior over labels.

    References
    ----------
    Formula sheet a2.

    Examples
    --------
    >>> posterior_of(np.array([[0.8, 0.2], [0.2, 0.8]]), prior=[0.5, 0.5])
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    weights = check_prior(prior, classes=len(transition))
    joint = (weights[:, None] * transition).T
    total = joint.sum(axis=1, keepdims=True)
    # an output that cannot happen tells nothing
    return np.where(total > 0, joint / np.where(total > 0, total, 1), weights)


def estimate_counts(transition: NDArray[np.float64], observed: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return an unbiased estimate of the true class counts; entries may be negative, their sum is exact.

    Solves T' n = c for the observed counts c.

    References
    ----------
    Formula sheet a3.

    Examples
    --------
    >>> estimate_counts(np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0, 0, 1, 1]))
    array([2., 2.])
    """
    counts = np.bincount(observed, minlength=transition.shape[1]).astype(np.float64)
    if np.linalg.matrix_rank(transition) < len(transition):
        raise InvalidInput("class counts cannot be estimated: this mechanism maps two labels to the same outputs")
    return np.asarray(np.linalg.solve(transition.T, counts), dtype=np.float64)


def check_prior(prior: ArrayLike, *, classes: int) -> NDArray[np.float64]:
    """Return a prior over ``classes`` classes as floats, or raise if it is none.

    Examples
    --------
    >>> check_prior([0.5, 0.6], classes=2)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: prior must be >= 0 and sum to 1, got a sum of 1.1
    """
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape[-1:] != (classes,):
        raise InvalidInput(
            f"must have one entry for each of {classes} classes, got shape {weights.shape}", field="prior"
        )
    sums = weights.sum(axis=-1)
    worst = float(np.atleast_1d(sums)[np.argmax(np.abs(np.atleast_1d(sums) - 1))])
    if not np.isfinite(weights).all() or (weights < 0).any() or abs(worst - 1) > 1e-6:
        raise InvalidInput(f"must be >= 0 and sum to 1, got a sum of {worst:.6g}", field="prior")
    return np.asarray(weights / sums[..., None])


def check_codes(codes: ArrayLike, *, classes: int) -> NDArray[np.int64]:
    """Return class codes as int64, or raise if one is not in 0..classes-1.

    Examples
    --------
    >>> check_codes([0, 3], classes=2)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: labels must be in 0..1, got 3
    """
    array = np.asarray(codes)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise InvalidInput(
            f"must be a column of whole numbers, got {array.dtype} of shape {array.shape}", field="labels"
        )
    result = array.astype(np.int64, copy=False)
    if len(result) and (result.min() < 0 or result.max() >= classes):
        bad = int(result.min() if result.min() < 0 else result.max())
        raise InvalidInput(f"must be in 0..{classes - 1}, got {bad}", field="labels")
    return result
