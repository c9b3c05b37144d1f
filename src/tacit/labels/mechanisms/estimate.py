"""A prior over classes estimated from the private labels themselves, and paid for from the same epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.labels.mechanisms.binned import RandomizedResponseOnBins
from tacit.labels.mechanisms.column import Coding, LabelColumn, Values, column_of
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.privacy.composition import compose
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.rounding import check_epsilon, exact, round_up

__all__ = ["EstimatedPrior", "PriorEstimate", "estimate_prior", "project_to_simplex"]

_SENSITIVITY = 2  # another label takes one from a count and adds one to another
_PUBLIC = "features and the class list are public"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorEstimate:
    """Noised class counts, the prior they give, and what they cost.

    Examples
    --------
    >>> one = Guarantee(unit=Unit.LABEL, epsilon=0.1)
    >>> PriorEstimate(counts=np.array([3, 1]), prior=np.array([0.75, 0.25]), guarantee=one).prior
    array([0.75, 0.25])
    """

    counts: NDArray[np.int64]
    prior: NDArray[np.float64]
    guarantee: Guarantee


def estimate_prior(counts: ArrayLike, *, epsilon: float, rng: np.random.Generator) -> PriorEstimate:
    """Estimate the class prior from class counts with discrete Laplace noise of scale 2/epsilon on each.

    The noised counts, divided by the public number of labels, are projected to the nearest distribution.

    Unit: one row's label; neighbours differ in that label alone, which moves two counts by one each. Assumes that
    the class list and the number of labels are public. Not protected: features, which rows exist.

    Parameters
    ----------
    counts
        How many labels each class has: private.
    epsilon
        What the estimate may cost.
    rng
        :func:`tacit.privacy.noise.system_rng` for a real release.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2012). Formula sheet e2.

    Examples
    --------
    >>> found = estimate_prior([700, 300], epsilon=0.5, rng=np.random.default_rng(0))
    >>> bool(abs(found.prior[0] - 0.7) < 0.05), print(found.guarantee)
    epsilon 0.5 for one label
    (True, None)
    """
    exact_counts = np.asarray(counts, dtype=np.int64)
    total = int(exact_counts.sum())
    if exact_counts.ndim != 1 or len(exact_counts) < 2 or (exact_counts < 0).any() or not total:
        raise InvalidInput(f"counts must be of two classes or more, with at least one label, got {counts!r}")
    noise = DiscreteLaplace.for_epsilon(check_epsilon(epsilon), sensitivity=_SENSITIVITY)
    noised = exact_counts + noise.draw(len(exact_counts), rng=rng)
    return PriorEstimate(
        counts=noised,
        prior=project_to_simplex(noised / total),
        guarantee=Guarantee(unit=Unit.LABEL, epsilon=epsilon, assumptions=(_PUBLIC,)),
    )


def project_to_simplex(point: ArrayLike) -> NDArray[np.float64]:
    """Return the nearest distribution: max(point - t, 0) with the t that makes the sum 1.

    References
    ----------
    Duchi et al. (2008), Figure 1.

    Examples
    --------
    >>> project_to_simplex([0.9, 0.3, -0.2])
    array([0.8, 0.2, 0. ])
    """
    values = np.asarray(point, dtype=np.float64)
    descending = -np.sort(-values)
    shifts = (np.cumsum(descending) - 1) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(descending > shifts)[-1]
    result = np.maximum(values - shifts[last], 0)
    return np.asarray(result / result.sum())  # rounding off


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedPrior:
    """Spend a share of epsilon on the prior, the rest on the best mechanism for that prior.

    Classes go through :class:`PriorRandomizedResponse`, numbers through :class:`RandomizedResponseOnBins`.
    The two releases read the same labels, so their epsilons add.

    Unit: one row's label; neighbours differ in that label alone. Assumes that the class list and the number of
    labels are public. Not protected: features, which rows exist.

    Parameters
    ----------
    epsilon
        Of both together, read as the decimal it prints.
    share
        In (0, 1): the part of epsilon for the prior. A tenth is plenty from a few thousand labels on.

    References
    ----------
    Ghazi et al. (2021) and (2022), where a prior is estimated from part of the budget.

    Examples
    --------
    >>> EstimatedPrior(epsilon=1.0, share=0.1).split
    (0.1, 0.9)
    >>> print(EstimatedPrior(epsilon=1.0).guarantee())
    epsilon 1 for one label
    """

    name: ClassVar[str] = "estimated_prior"
    epsilon: float
    share: float = 0.1

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 0 < self.share < 1:
            raise InvalidInput(f"share must be in (0, 1), got {self.share!r}")

    @property
    def split(self) -> tuple[float, float]:
        """The epsilon of the prior and that of the labels; their exact sum is not above epsilon."""
        first = float(exact(self.share) * exact(self.epsilon))
        return first, -round_up(exact(first) - exact(self.epsilon))

    def guarantee(self) -> Guarantee:
        """Return the promise for one label, of the prior and the labels together.

        Examples
        --------
        >>> EstimatedPrior(epsilon=3.0, share=0.2).guarantee().epsilon
        3.0
        """
        parts = [Guarantee(unit=Unit.LABEL, epsilon=part, assumptions=(_PUBLIC,)) for part in self.split]
        return compose(parts)

    def settle(self, coding: Coding, *, counts: ArrayLike, rng: np.random.Generator) -> LabelColumn:
        """Estimate the prior, which spends its share, and return the column under the mechanism made for it.

        Examples
        --------
        >>> from tacit.data.classes import Classes
        >>> column = EstimatedPrior(epsilon=1.0).settle(Classes(values=("a", "b")), counts=[90, 10],
        ...                                             rng=np.random.default_rng(0))
        >>> column.describe()["name"], column.describe()["epsilon"]
        ('prior_randomized_response', 0.9)
        """
        first, rest = self.split
        prior = estimate_prior(counts, epsilon=first, rng=rng).prior
        if isinstance(coding, Values):
            return column_of(
                coding, mechanism=RandomizedResponseOnBins(epsilon=rest, values=coding.values, prior=prior)
            )
        return column_of(coding, mechanism=PriorRandomizedResponse(epsilon=rest, prior=prior))
