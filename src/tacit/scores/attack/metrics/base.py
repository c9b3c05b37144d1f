"""What a metric that is not an additive loss gives an attacker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from numpy.typing import ArrayLike

from tacit.privacy.errors import InvalidInput
from tacit.scores.attack.answers import Answers
from tacit.scores.attack.design import Design
from tacit.scores.losses.precision import Numbers

__all__ = ["Metric", "two_classes"]


class Metric(ABC):
    """A score that a host computes from predictions and labels, with the designs that attack it.

    Examples
    --------
    >>> from tacit.scores.attack import Accuracy
    >>> Accuracy().score([0, 1], [0, 0])
    0.5
    """

    __slots__ = ()

    classes: int

    @abstractmethod
    def score(self, predictions: ArrayLike, labels: ArrayLike) -> float:
        """Return the score as scikit-learn computes it.

        Examples
        --------
        >>> from tacit.scores.attack import AUC
        >>> AUC().score([0.1, 0.9], [0, 1])
        1.0
        """

    @abstractmethod
    def designs(self, *, rows: int, answers: Answers) -> Iterator[Design]:
        """Yield the ways of asking for all labels.

        Examples
        --------
        >>> from tacit.scores.attack import Accuracy, Exact
        >>> [design.queries for design in Accuracy().designs(rows=2201, answers=Exact())]
        [499]
        """

    @abstractmethod
    def largest_weight(self, *, rows: int, answers: Answers) -> float:
        """Return how much one label moves the score, in units of what an answer resolves.

        Examples
        --------
        >>> from tacit.scores.attack import Accuracy, Exact
        >>> Accuracy().largest_weight(rows=100, answers=Exact())
        1.0
        """

    @abstractmethod
    def neutral(self, rows: int) -> Numbers:
        """Return predictions of the metric's kind that mean nothing: what a first look at a host may submit.

        Examples
        --------
        >>> from tacit.scores.attack import Accuracy
        >>> Accuracy().neutral(2)
        array([0, 0])
        """


def two_classes(classes: int, *, metric: str) -> int:
    """Return ``classes``, or raise if it is not 2.

    Examples
    --------
    >>> two_classes(3, metric="auc")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: classes must be 2 for auc, got 3
    """
    if classes != 2:
        raise InvalidInput(f"classes must be 2 for {metric}, got {classes!r}")
    return classes
