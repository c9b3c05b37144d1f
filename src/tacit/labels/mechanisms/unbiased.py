"""The unbiased release of numbers with the least variance, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.labels.mechanisms.base import LabelMechanism
from tacit.labels.mechanisms.base import Prior as PriorList
from tacit.privacy.errors import InvalidRelease

if TYPE_CHECKING:
    from tacit.labels.mechanisms.number_column import NumberColumn

__all__ = ["Unbiased"]

_ROUNDED = 1e-6  # the header holds exact fractions as floats


@dataclass(frozen=True, kw_only=True)
class Unbiased(LabelMechanism):
    """For numbers: release one whose expectation is the label, with the least squared error under a prior.

    Without a public prior all values count alike.

    References
    ----------
    Badanidiyuru et al. (2023). Formula sheet a9.
    """

    name: ClassVar[str] = "unbiased"
    phrase: ClassVar[str] = "noisy numbers without bias"
    numbers: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    def settle(self, coding: Any, *, epsilon: float, prior: PriorList, **_: Any) -> NumberColumn:  # noqa: ANN401
        """Return the best unbiased randomizer of these values."""
        import numpy as np

        from tacit.labels.mechanisms.number_column import NumberColumn
        from tacit.labels.mechanisms.optimal import OptimalUnbiased

        weights = np.full(len(coding), 1 / len(coding)) if prior is None else np.asarray(prior)
        best = OptimalUnbiased(epsilon=epsilon, values=np.asarray(coding.values), prior=weights)
        matrix = np.array(best.exact_transition(), dtype=np.float64)
        described = {"transition": matrix.tolist()}
        return NumberColumn(coding, best.prior, best.outputs, matrix, described=described, mechanism=best)

    def rebuild(self, settled: Mapping[str, Any], *, epsilon: float, **_: Any) -> NumberColumn:  # noqa: ANN401
        """Return the column that reads a release; another machine's solver need not find the same randomizer."""
        import numpy as np

        from tacit.labels.mechanisms.number_column import NumberColumn, listed_values

        matrix = np.asarray(settled["transition"], dtype=np.float64)
        if (matrix.max(axis=0) > np.exp(epsilon) * matrix.min(axis=0) * (1 + _ROUNDED)).any():
            raise InvalidRelease(f"the release has a transition matrix that does not keep epsilon {epsilon:g}")
        return NumberColumn(
            listed_values(settled), np.asarray(settled["prior"]), np.asarray(settled["outputs"]), matrix
        )
