"""Labels released in stages, by name: earlier rows teach the prior of later ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tacit.labels.mechanisms.base import LabelMechanism
from tacit.labels.mechanisms.base import Prior as PriorList
from tacit.labels.mechanisms.prior import Prior
from tacit.labels.mechanisms.rr import Rr
from tacit.privacy.settings import about

if TYPE_CHECKING:
    from tacit.labels.mechanisms.column import ClassColumn
    from tacit.labels.mechanisms.stages import StagedColumn

__all__ = ["Staged"]


@dataclass(frozen=True, kw_only=True)
class Staged(LabelMechanism):
    """Release a random part of the rows by randomized response, and each later part under a learned prior.

    A model of the features and the labels released so far gives every later row its own prior. The parts are disjoint,
    so the guarantee is that of one label's release. The release has the columns ``stage`` and ``prior``: functions of
    the features and of released labels, which cost nothing.

    References
    ----------
    Ghazi et al. (2021), Algorithm 3. Formula sheet a6.
    """

    name: ClassVar[str] = "staged"
    phrase: ClassVar[str] = "randomized response in {stages} stages"
    takes_prior: ClassVar[bool] = True
    needs_features: ClassVar[bool] = True

    stages: int = field(
        default=2, metadata=about("How many parts.", rule="an integer >= 2", holds=lambda stages: stages >= 2)
    )
    estimator: Literal["logistic", "trees"] = field(
        default="logistic", metadata=about("What learns between stages: logistic regression, or boosted trees.")
    )

    def assumptions(self, prior: PriorList) -> tuple[str, ...]:
        """Return what its guarantee rests on."""
        return self._first(prior).assumptions(prior)

    def settle(self, coding: Any, *, epsilon: float, prior: PriorList, **draws: Any) -> StagedColumn:  # noqa: ANN401
        """Return the stages over these classes."""
        return self._staged(self._first(prior).settle(coding, epsilon=epsilon, prior=prior, **draws), epsilon)

    def rebuild(self, settled: Mapping[str, Any], *, epsilon: float, prior: PriorList) -> StagedColumn:
        """Return the stages over the release's classes."""
        return self._staged(self._first(prior).rebuild(settled, epsilon=epsilon, prior=prior), epsilon)

    def _first(self, prior: PriorList) -> Rr | Prior:
        return Rr() if prior is None else Prior()

    def _staged(self, first: ClassColumn, epsilon: float) -> StagedColumn:
        from tacit.labels.mechanisms.stages import StagedColumn

        return StagedColumn(first, epsilon, self.stages, self.estimator)
