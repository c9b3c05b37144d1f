"""Randomized response on bins of numbers, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.labels.mechanisms.base import PUBLIC_VALUES, LabelMechanism, split_epsilon
from tacit.labels.mechanisms.base import Prior as PriorList
from tacit.labels.mechanisms.prior import SHARE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.number_column import NumberColumn

__all__ = ["Bins"]


@dataclass(frozen=True, kw_only=True)
class Bins(LabelMechanism):
    """For numbers: randomized response on the bins that are best for squared error under a prior.

    The prior is public, or estimated from a share of epsilon.

    References
    ----------
    Ghazi et al. (2022), Algorithm 2 and Theorem 1. Formula sheet a8.
    """

    name: ClassVar[str] = "bins"
    phrase: ClassVar[str] = "randomized response on bins of the numbers"
    numbers: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    share: float = field(default=0.1, metadata=SHARE)

    def assumptions(self, prior: PriorList) -> tuple[str, ...]:
        """Return what its guarantee rests on; an estimated prior is paid for."""
        return (PUBLIC_VALUES if prior is not None else "features and the list of label values are public",)

    def settle(
        self,
        coding: Any,  # noqa: ANN401
        *,
        epsilon: float,
        prior: PriorList,
        counts: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> NumberColumn:
        """Return the best bins for the public prior, or for one estimated from the counts."""
        import numpy as np

        from tacit.labels.mechanisms.binned import RandomizedResponseOnBins
        from tacit.labels.mechanisms.estimate import estimate_prior
        from tacit.labels.mechanisms.number_column import NumberColumn

        first, rest = (0.0, epsilon) if prior is not None else split_epsilon(epsilon, self.share)
        weights = estimate_prior(counts, epsilon=first, rng=rng) if prior is None else np.asarray(prior)
        best = RandomizedResponseOnBins(epsilon=rest, values=np.asarray(coding.values), prior=weights)
        matrix = np.array(best.exact_transition(), dtype=np.float64)
        described = {"starts": list(best.starts)}
        return NumberColumn(coding, best.prior, best.outputs, matrix, described=described, mechanism=best)

    def rebuild(self, settled: Mapping[str, Any], *, epsilon: float, prior: PriorList) -> NumberColumn:
        """Return the column that reads a release: outputs as they were written, bins by where they start."""
        import numpy as np

        from tacit.labels.mechanisms.number_column import NumberColumn, listed_values
        from tacit.privacy.noise.response import response_matrix

        rest = epsilon if prior is not None else split_epsilon(epsilon, self.share)[1]
        coding, bins = listed_values(settled), len(settled["starts"])
        places = np.searchsorted(settled["starts"], np.arange(len(coding)), side="right") - 1
        matrix = response_matrix(epsilon=rest, classes=bins)[places] if bins > 1 else np.ones((len(coding), 1))
        return NumberColumn(coding, np.asarray(settled["prior"]), np.asarray(settled["outputs"]), matrix)
