"""What a model is fitted to, when labels are known as means of random bags."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.bags.learners.random_bags.risk import BagMoments, unbiased_risk
from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import RandomBags

__all__ = [
    "BagObjective",
    "EasyLabels",
    "RandomBagObjective",
    "UnbiasedObjective",
    "easy_labels",
]

Floats = NDArray[np.float64]


class RandomBagObjective(Protocol):
    """What a model can be fitted to."""

    of_logits: ClassVar[bool]
    """Whether the value is a loss of logits, so that its curvature stays as weights grow."""
    of_rows: ClassVar[bool]
    """Whether the value is corrected to be the loss of rows, so that noise counts k times."""

    def labels(self, bags: RandomBags, moments: BagMoments, /) -> Floats:
        """Return the label that represents each bag, (bags, targets)."""

    def at_rows(
        self, f: Floats, labels: Floats, members: sparse.csr_matrix, *, loss: SemilinearLoss, moments: BagMoments
    ) -> tuple[float, Floats]:
        """Return the value and its gradient in f of each row; ``members`` takes rows to the means of bags."""


class BagObjective(ABC):
    """A loss of the bags, as a function of the mean prediction of their rows."""

    __slots__ = ()

    of_logits: ClassVar[bool] = False
    of_rows: ClassVar[bool] = False

    def labels(self, bags: RandomBags, moments: BagMoments, /) -> Floats:  # noqa: ARG002
        """Return the bags' own labels."""
        return bags.labels

    @abstractmethod
    def value_and_gradient(self, means: Floats, labels: Floats, moments: BagMoments, /) -> tuple[float, Floats]:
        """Return the loss and its gradient in the bag means of h."""

    def at_rows(
        self, f: Floats, labels: Floats, members: sparse.csr_matrix, *, loss: SemilinearLoss, moments: BagMoments
    ) -> tuple[float, Floats]:
        """Return the value and its gradient in f of each row."""
        value, slope = self.value_and_gradient(members @ loss.mean(f), labels, moments)
        return value, loss.chain(f, members.T @ slope)


@dataclass(frozen=True, slots=True)
class UnbiasedObjective(BagObjective):
    """The U-statistic form of Theorem 2's objective: over draws of bags its mean is the risk, plus a constant.

    References
    ----------
    Formula sheet f4.
    """

    of_rows: ClassVar[bool] = True

    def value_and_gradient(self, means: Floats, labels: Floats, moments: BagMoments, /) -> tuple[float, Floats]:
        """Return the objective and its gradient."""
        r = means - labels
        n, risk = len(r), unbiased_risk(r, moments)
        slope = 2 * r / n - moments.c * (2 * r.mean(axis=0) - 2 * r / n) / (n - 1)
        return risk, moments.k * slope


@dataclass(frozen=True, slots=True)
class EasyLabels:
    """EasyLLP: a soft label for every row of a bag whose mean given the row's label is that label.

    The loss is semilinear in the soft label, so it is unbiased for the row loss, and convex where b is.

    References
    ----------
    Busa-Fekete et al. (2023), for bags drawn without replacement; formula sheet f5.
    """

    of_logits: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True

    def labels(self, bags: RandomBags, moments: BagMoments, /) -> Floats:
        """Return the soft label of each bag's rows; the base rate is the mean of the bags' labels."""
        rate = bags.labels.mean(axis=0)
        return easy_labels(bags.labels, rate, size=moments.size, rows=moments.rows)

    def at_rows(
        self,
        f: Floats,
        labels: Floats,
        members: sparse.csr_matrix,
        *,
        loss: SemilinearLoss,
        moments: BagMoments,  # noqa: ARG002
    ) -> tuple[float, Floats]:
        """Return the mean of b(f) - s'f over the rows of bags, and its gradient in f of each row."""
        joins = np.asarray(members.mean(axis=0)).ravel()
        soft = members.T @ labels / len(labels)
        value = joins @ loss.potential(f) - np.sum(soft * f)
        return float(value), np.asarray(joins[:, None] * loss.mean(f) - soft)


def easy_labels(proportions: Floats, rate: Floats, *, size: int, rows: int) -> Floats:
    """Return soft labels s with E[s | y] = y, for bags of k of N rows drawn without replacement.

    s = ((N-1) k a - (k-1) N p)/(N-k), with a the proportions of bags and p the mean of T(y) over all rows. As N grows
    it becomes the published k(a - p) + p for independent rows, of variance (k-1)p(1-p) given y.

    Examples
    --------
    >>> easy_labels(np.array([[1.0]]), np.array([0.5]), size=1, rows=10)
    array([[1.]])
    """
    return np.asarray(((rows - 1) * size * proportions - (size - 1) * rows * rate) / (rows - size))
