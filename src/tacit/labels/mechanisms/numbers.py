"""Mechanisms from numbers to numbers, with finitely many outputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.labels.mechanisms.base import LABEL, LabelMechanism, PublicPrior
from tacit.privacy.settings import BOUND

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.evidence import ReleasedEvidence

__all__ = ["NumberMechanism"]


@dataclass(frozen=True, kw_only=True)
class NumberMechanism(LabelMechanism):
    """Releases one of a few outputs per label.

    Parameters
    ----------
    written
        What a release states: it is read by its own outputs, as another machine need not find the same ones.
    """

    numbers: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = True

    written: Any = field(default=None, metadata=BOUND, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is None:
            return
        import numpy as np

        from tacit.labels.mechanisms.finite import check_prior
        from tacit.labels.mechanisms.values import LabelValues

        values = self.values if isinstance(self.values, LabelValues) else LabelValues(values=self.values)
        prior = np.full(len(values), 1 / len(values)) if self.prior is None else self.prior
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "prior", check_prior(prior, classes=len(values)))

    @property
    @abstractmethod
    def outputs(self) -> NDArray[np.float64]:
        """The numbers that can be released."""

    def rebuild(self, settled: Mapping[str, Any], *, epsilon: float, prior: PublicPrior) -> Self:
        """Return the mechanism that reads a release."""
        mechanism = replace(self, written=settled)
        return mechanism.bind(settled["values"], epsilon=self._split(epsilon, prior)[1], prior=settled["prior"])

    def describe(self) -> dict[str, Any]:
        """Return values, prior and outputs."""
        lists = {"values": self.values.values, "prior": self.prior, "outputs": self.outputs}
        return {name: numbers.tolist() for name, numbers in lists.items()}

    def emit(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> pa.Array:
        """Draw numbers."""
        import pyarrow as pa

        return pa.array(self.outputs[self.randomize(codes, rng=rng)])

    def evidence(self, rows: pa.Table) -> ReleasedEvidence:
        """Return the likelihood of each released number."""
        from tacit.labels.mechanisms.evidence import evidence_of_numbers

        return evidence_of_numbers(
            rows[LABEL], outputs=self.outputs, values=self.values.values, transition=self.transition(), prior=self.prior
        )
