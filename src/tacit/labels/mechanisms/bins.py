"""Randomized response on bins: the best private release of a number for squared error, given a prior."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.labels.mechanisms.base import PUBLIC_VALUES, SHARE, PublicPrior
from tacit.labels.mechanisms.numbers import NumberMechanism
from tacit.labels.mechanisms.response import RandomizedResponse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.bin_search import BestBins

__all__ = ["RandomizedResponseOnBins"]


@dataclass(frozen=True, kw_only=True)
class RandomizedResponseOnBins(NumberMechanism):
    """For numbers: replace a label by its bin's output, then apply randomized response over the outputs.

    The bins and their outputs minimize the expected squared error for the prior, over all epsilon-DP randomizers. The
    prior is public, or estimated from a share of epsilon.

    Unit: one row's label; neighbors differ in that label alone. Assumes that the list of values is public. Not
    protected: features, which rows exist.

    Parameters
    ----------
    share
        Of epsilon, for the estimate of the prior.

    References
    ----------
    Ghazi et al. (2022), Algorithm 2 and Theorem 1. Formula sheet a8.

    Examples
    --------
    >>> rr = RandomizedResponseOnBins(epsilon=1.0, values=range(5), prior=[0.4, 0.3, 0.15, 0.1, 0.05])
    >>> rr.best.starts, rr.outputs.round(6), round(rr.best.expected_error, 6)
    ((0, 2), array([0.733379, 1.632894]), 1.19463)
    """

    name: ClassVar[str] = "bins"
    phrase: ClassVar[str] = "randomized response on bins of the numbers"

    share: float = field(default=0.1, metadata=SHARE)

    def assumptions(self, prior: PublicPrior) -> tuple[str, ...]:
        """Return the assumptions of its guarantee; an estimated prior is paid for."""
        return (PUBLIC_VALUES if prior is not None else "features and the list of label values are public",)

    @cached_property
    def best(self) -> BestBins:
        """The best bins, or those of the release."""
        from tacit.labels.mechanisms.bin_search import BestBins, find_bins

        if self.written is not None:
            return BestBins.of_release(self.written)
        return find_bins(self.values.values, self.prior, self.epsilon)

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The number that is released for each bin."""
        return self.best.outputs

    def describe(self) -> dict[str, Any]:
        """Return values, prior and outputs, and where the bins start."""
        return {**super().describe(), "starts": list(self.best.starts)}

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the place of one output per label; ``codes`` are places among the values."""
        places = self.best.bins_of(len(self.values))[codes]
        return places if self._response is None else self._response.randomize(places, rng=rng)

    def transition(self) -> NDArray[np.float64]:
        """Return row i: the probability of each output when the label is the i-th value."""
        import numpy as np

        if self._response is None:
            return np.ones((len(self.values), 1))
        return self._response.transition()[self.best.bins_of(len(self.values))]

    def exact_transition(self) -> tuple[tuple[Fraction, ...], ...]:
        """Return the same as fractions."""
        matrix = ((Fraction(1),),) if self._response is None else self._response.exact_transition()
        return tuple(matrix[place] for place in self.best.bins_of(len(self.values)))

    @property
    def _response(self) -> RandomizedResponse | None:
        """Randomized response over the outputs; None for one bin, which reveals nothing."""
        bins = len(self.best.starts)
        return RandomizedResponse(epsilon=self.epsilon, classes=bins) if bins > 1 else None
