"""The rows to train on again, with predicted labels: retraining on predictions costs no privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["AllRows", "ConfidentRows", "ConsensusRows", "RetrainingReport", "RetrainingRule", "SkipIfCollapsed"]

Rows = NDArray[np.int64]


class RetrainingRule(Protocol):
    """A rule that selects the rows for retraining; their labels are the model's own predictions."""

    def choose(self, probabilities: NDArray[np.float64], *, given: NDArray[np.int64]) -> Rows:
        """Return the rows to keep, from the model's probabilities and the given (noisy) labels."""


@dataclass(frozen=True, slots=True)
class AllRows:
    """All rows, with the predicted labels.

    References
    ----------
    Das et al. (2024), Section 4.
    """

    def choose(self, probabilities: NDArray[np.float64], *, given: NDArray[np.int64]) -> Rows:  # noqa: ARG002
        """Return every row."""
        return np.arange(len(probabilities))


@dataclass(frozen=True, slots=True)
class ConsensusRows:
    """The rows whose predicted label is the given one: fewer, and far more often correct.

    Helps where the given labels are wrong more often than the first model; with nearly clean labels it only
    throws rows away.

    References
    ----------
    Das et al. (2024), Section 5.
    """

    def choose(self, probabilities: NDArray[np.float64], *, given: NDArray[np.int64]) -> Rows:
        """Return the rows where prediction and given label agree."""
        return np.flatnonzero(probabilities.argmax(axis=1) == given)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentRows:
    """The ``fraction`` of rows with the largest margin between the two likeliest classes.

    References
    ----------
    Das et al. (2024), Appendix H.
    """

    fraction: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise InvalidInput(f"must be in (0, 1], got {self.fraction!r}", field="fraction")

    def choose(self, probabilities: NDArray[np.float64], *, given: NDArray[np.int64]) -> Rows:  # noqa: ARG002
        """Return the rows of largest margin, in their order."""
        two = np.partition(probabilities, -2, axis=1)[:, -2:]
        margin = two[:, 1] - two[:, 0]
        count = max(1, round(self.fraction * len(margin)))
        return np.sort(np.argsort(-margin, kind="stable")[:count])


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipIfCollapsed:
    """Select rows with ``by``, or none if half the classes drop out of the predictions.

    A class that is seldom the likeliest drops out of hard labels. A class counts as dropped if its share of the
    predictions is below ``least`` times its mean probability; of two classes one is half. Retrained on such
    predictions, a model of rare labels can rank rows worse than chance.

    Parameters
    ----------
    by
        The rule, if fewer than half the classes drop out.
    least
        Share of its mean probability that a class must have among the predictions.

    Examples
    --------
    >>> rare, given = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]), np.array([0, 1, 0])
    >>> SkipIfCollapsed().choose(rare, given=given), ConsensusRows().choose(rare, given=given)
    (array([], dtype=int64), array([0, 2]))
    """

    by: RetrainingRule = ConsensusRows()
    least: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.least <= 1:
            raise InvalidInput(f"must be in [0, 1], got {self.least!r}", field="least")

    def choose(self, probabilities: NDArray[np.float64], *, given: NDArray[np.int64]) -> Rows:
        """Return the rows that ``by`` chooses, or none."""
        classes = probabilities.shape[1]
        predicted = np.bincount(probabilities.argmax(axis=1), minlength=classes) / len(probabilities)
        forgotten = np.count_nonzero(predicted < self.least * probabilities.mean(axis=0))
        if 2 * forgotten >= classes:
            return np.empty(0, dtype=np.int64)
        return self.by.choose(probabilities, given=given)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrainingReport:
    """How often predicted and given labels are correct, on all rows and on those used for retraining.

    References
    ----------
    Das et al. (2024), Tables 3 and 7.
    """

    given: float
    predicted: float
    chosen: float
    chosen_fraction: float

    def __str__(self) -> str:
        return (
            f"given labels {self.given:.1%} right, predicted {self.predicted:.1%}; "
            f"on the {self.chosen_fraction:.1%} of rows retrained on {self.chosen:.1%}"
        )
