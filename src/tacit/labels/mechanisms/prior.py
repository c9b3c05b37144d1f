"""Randomized response among the likely classes, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.labels.mechanisms.base import PUBLIC_CLASSES, LabelMechanism, split_epsilon
from tacit.labels.mechanisms.base import Prior as PriorList
from tacit.privacy.settings import about

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.column import ClassColumn

__all__ = ["SHARE", "Prior"]

SHARE = about(
    "The share of epsilon that estimates the prior, where the plan has none; a tenth is enough from a few thousand "
    "labels on.",
    rule="in (0, 1)",
    holds=lambda share: 0 < share < 1,
)


@dataclass(frozen=True, kw_only=True)
class Prior(LabelMechanism):
    """Randomized response among the classes that a prior makes likely.

    The prior is public, or estimated from a share of epsilon. Both releases read the same labels, so their epsilons
    add.

    References
    ----------
    Ghazi et al. (2021), Algorithms 1 and 2. Formula sheet a4, a5.
    """

    name: ClassVar[str] = "prior"
    phrase: ClassVar[str] = "randomized response among the likely classes"
    takes_prior: ClassVar[bool] = True

    share: float = field(default=0.1, metadata=SHARE)

    def assumptions(self, prior: PriorList) -> tuple[str, ...]:
        """Return what its guarantee rests on; a prior that is given must not come from the labels."""
        return (PUBLIC_CLASSES, *(() if prior is None else ("a row's prior does not depend on its own label",)))

    def settle(
        self,
        coding: Any,  # noqa: ANN401
        *,
        epsilon: float,
        prior: PriorList,
        counts: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> ClassColumn:
        """Return the best mechanism for the public prior, or for one estimated from the counts."""
        from tacit.labels.mechanisms.estimate import estimate_prior

        if prior is not None:
            return _column(coding, epsilon, prior)
        first, rest = split_epsilon(epsilon, self.share)
        return _column(coding, rest, estimate_prior(counts, epsilon=first, rng=rng))

    def rebuild(self, settled: Mapping[str, Any], *, epsilon: float, prior: PriorList) -> ClassColumn:
        """Return the mechanism for the release's prior."""
        from tacit.labels.mechanisms.column import listed_classes

        rest = epsilon if prior is not None else split_epsilon(epsilon, self.share)[1]
        return _column(listed_classes(settled), rest, settled["prior"])


def _column(coding: Any, epsilon: float, prior: Any) -> ClassColumn:  # noqa: ANN401
    import numpy as np

    from tacit.labels.mechanisms.column import ClassColumn
    from tacit.labels.mechanisms.top_k import PriorRandomizedResponse

    mechanism = PriorRandomizedResponse(epsilon=epsilon, prior=np.asarray(prior)).bind(len(coding))
    return ClassColumn(coding, mechanism, mechanism.prior)
