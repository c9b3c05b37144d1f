"""Published losses of random bags that are not unbiased for rows: proportions (DLLP), and distances of means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.bags.learners.random_bags import BagMoments, BagObjective
from tacit.bags.partition import RandomBags

__all__ = ["BagMeanObjective", "ProportionLoss"]

Floats = NDArray[np.float64]
_LEAST = 1e-12


@dataclass(frozen=True, slots=True)
class BagMeanObjective(BagObjective):
    """The squared distance of bag means, uncorrected: what it is smallest for is not what rows need."""

    def value_and_gradient(self, means: Floats, labels: Floats, moments: BagMoments, /) -> tuple[float, Floats]:  # noqa: ARG002
        """Return mean|r|^2 and its gradient."""
        r = means - labels
        return float(np.mean(np.sum(r**2, axis=1))), 2 * r / len(r)


@dataclass(frozen=True, slots=True)
class ProportionLoss(BagObjective):
    """DLLP: the cross-entropy of bag means, -sum_c a_c log(mean of p_c); not unbiased for rows.

    References
    ----------
    Ardehaly and Culotta (2017); formula sheet f6.
    """

    of_logits: ClassVar[bool] = True

    def labels(self, bags: RandomBags, moments: BagMoments, /) -> Floats:  # noqa: ARG002
        """Return proportions inside [0, 1]: noise may have moved them out."""
        return np.clip(bags.labels, 0.0, 1.0)

    def value_and_gradient(self, means: Floats, labels: Floats, moments: BagMoments, /) -> tuple[float, Floats]:  # noqa: ARG002
        """Return the loss and its gradient; one target means two classes."""
        p = np.clip(means, _LEAST, 1 - _LEAST)
        if means.shape[1] == 1:
            value = -(labels * np.log(p) + (1 - labels) * np.log1p(-p))
            return float(value.sum(axis=1).mean()), ((1 - labels) / (1 - p) - labels / p) / len(p)
        return float(-(labels * np.log(p)).sum(axis=1).mean()), -labels / p / len(p)
