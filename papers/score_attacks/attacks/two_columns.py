"""The log loss of two classes from two probabilities a row, each stored finely where it is small."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.privacy.errors import InvalidInput
from tacit.scores.losses import ClippedCrossEntropy, MachineEpsilon, ProbabilityClip

__all__ = ["TwoColumnLogLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoColumnLogLoss(ClippedCrossEntropy):
    """``sklearn.metrics.log_loss`` of submissions with a column for each of the two classes.

    A single column p stores 1 - p coarsely where p is next to 1, so large differences of one sign are not
    what was asked for. Two columns store both finely: joint designs reach further.

    Examples
    --------
    >>> loss = TwoColumnLogLoss()
    >>> loss.prediction_for([30.0])
    array([[1.00000000e+00, 9.35762297e-14]])
    >>> loss.score([1], [[0.5, 0.5]]) == loss.score([1], [0.5])
    True
    """

    clip: ProbabilityClip = field(default_factory=MachineEpsilon)

    def __post_init__(self) -> None:
        if self.classes != 2:
            raise InvalidInput(f"classes must be 2 for TwoColumnLogLoss, got {self.classes!r}; use CrossEntropy")

    @property
    def columns(self) -> int:
        """Two."""
        return 2
