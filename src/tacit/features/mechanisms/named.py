"""The mechanisms that a plan names: every row, or totals of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.privacy.settings import Choice

if TYPE_CHECKING:
    from tacit.features.mechanisms.noisy_rows import NoisyRows
    from tacit.features.mechanisms.noisy_totals import NoisyTotals

__all__ = ["RowMechanism", "TotalsMechanism"]


@dataclass(frozen=True, kw_only=True)
class RowMechanism(Choice):
    """Release every row: Gaussian noise on each selected feature, randomized response on the label."""

    name: ClassVar[str] = "rows"
    phrase: ClassVar[str] = "rows"
    suffix: ClassVar[str] = ".parquet"
    releases_labels: ClassVar[bool] = True

    def bind(self, *, epsilon: float, delta: float, label_epsilon: float) -> NoisyRows:
        """Return the mechanism with its part of epsilon, and that of the labels; infinity adds no noise."""
        from tacit.features.mechanisms.noisy_rows import NoisyRows

        return NoisyRows(epsilon=epsilon, delta=delta, label_epsilon=label_epsilon)


@dataclass(frozen=True, kw_only=True)
class TotalsMechanism(Choice):
    """Release the counts, sums and pooled squares of the classes with Gaussian noise, and no row."""

    name: ClassVar[str] = "totals"
    phrase: ClassVar[str] = "class totals"
    suffix: ClassVar[str] = ".json"
    releases_labels: ClassVar[bool] = False

    def bind(self, *, epsilon: float, delta: float, label_epsilon: float) -> NoisyTotals:  # noqa: ARG002  # no labels
        """Return the mechanism with its part of epsilon; infinity adds no noise."""
        from tacit.features.mechanisms.noisy_totals import NoisyTotals

        return NoisyTotals(epsilon=epsilon, delta=delta)
