"""Laplace noise on the one-hot label, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.labels.mechanisms.base import LabelMechanism

if TYPE_CHECKING:
    from tacit.labels.mechanisms.column import OneHotColumn

__all__ = ["Laplace"]


@dataclass(frozen=True, kw_only=True)
class Laplace(LabelMechanism):
    """Release the one-hot label with noise of scale 2/epsilon on every class."""

    name: ClassVar[str] = "laplace"
    phrase: ClassVar[str] = "one-hot labels with Laplace noise"

    def settle(self, coding: Any, *, epsilon: float, **_: Any) -> OneHotColumn:  # noqa: ANN401
        """Return the noisy one-hot rows of these classes."""
        from tacit.labels.mechanisms.column import OneHotColumn
        from tacit.labels.mechanisms.one_hot import LaplaceOneHot

        return OneHotColumn(coding, LaplaceOneHot(epsilon=epsilon, classes=len(coding)))

    def rebuild(self, settled: Mapping[str, Any], *, epsilon: float, **_: Any) -> OneHotColumn:  # noqa: ANN401
        """Return the noisy one-hot rows of the release's classes."""
        from tacit.labels.mechanisms.column import listed_classes

        return self.settle(listed_classes(settled), epsilon=epsilon)
