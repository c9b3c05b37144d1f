"""Randomized response, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.labels.mechanisms.base import LabelMechanism

if TYPE_CHECKING:
    from tacit.labels.mechanisms.column import ClassColumn

__all__ = ["Rr"]


@dataclass(frozen=True, kw_only=True)
class Rr(LabelMechanism):
    """Keep a label with probability e^epsilon / (e^epsilon + K - 1), else draw another one uniformly."""

    name: ClassVar[str] = "rr"
    phrase: ClassVar[str] = "randomized response"

    def settle(self, coding: Any, *, epsilon: float, **_: Any) -> ClassColumn:  # noqa: ANN401
        """Return randomized response over these classes."""
        from tacit.labels.mechanisms.column import ClassColumn
        from tacit.labels.mechanisms.response import RandomizedResponse

        return ClassColumn(coding, RandomizedResponse(epsilon=epsilon, classes=len(coding)))

    def rebuild(self, settled: Mapping[str, Any], *, epsilon: float, **_: Any) -> ClassColumn:  # noqa: ANN401
        """Return randomized response over the release's classes."""
        from tacit.labels.mechanisms.column import listed_classes

        return self.settle(listed_classes(settled), epsilon=epsilon)
