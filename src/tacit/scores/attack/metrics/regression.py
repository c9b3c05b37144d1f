"""Root mean squared error and mean absolute error of 0/1 labels: weighted sums with the weight 1 - 2 p of a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import root_mean_squared_error

from tacit.scores.attack.answers import Answers
from tacit.scores.attack.channel import Channel
from tacit.scores.attack.design import Design
from tacit.scores.attack.digits import DigitDesign
from tacit.scores.attack.joint import JointDesign
from tacit.scores.attack.metrics.base import Metric, two_classes
from tacit.scores.losses import Loss, Precision, SquaredError
from tacit.scores.losses.precision import Numbers
from tacit.scores.losses.squared import into_unit_interval

__all__ = ["AbsoluteError", "RootMeanSquaredError"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsoluteError(Loss):
    """The loss |y - p| of 0/1 labels, what ``sklearn.metrics.mean_absolute_error`` averages.

    l(1) - l(0) = 1 - 2 p for p in [0, 1].

    Examples
    --------
    >>> AbsoluteError().row_losses([0.25]), AbsoluteError().prediction_for([0.5])
    (array([[0.25, 0.75]]), array([0.25]))
    """

    def __post_init__(self) -> None:
        two_classes(self.classes, metric="the mean absolute error")

    def _range(self, _: Precision) -> float:
        return 1.0

    def _invert(self, offsets: Numbers, precision: Precision) -> Numbers:
        p = (precision.array(1) - offsets[:, 1]) / precision.array(2)
        p = into_unit_interval(p, loss=self, precision=precision)
        return np.stack([precision.array(1) - p, p], axis=1)

    def _losses(self, predictions: Numbers, precision: Precision) -> Numbers:
        return np.stack([np.abs(predictions), np.abs(precision.array(1) - predictions)], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RootMeanSquaredError(Metric):
    """``sklearn.metrics.root_mean_squared_error`` of 0/1 labels: its square is a mean of row losses.

    An error of tau in the root is one of 2 rmse tau + tau^2 in the mean, so the fewer rows are unknown, the
    more a query tells.

    Examples
    --------
    >>> round(RootMeanSquaredError().score([0.5, 0.0], [1, 1]), 6)
    0.790569
    """

    classes: int = 2

    def __post_init__(self) -> None:
        two_classes(self.classes, metric="the root mean squared error")

    def score(self, predictions: ArrayLike, labels: ArrayLike) -> float:
        """Return the score as scikit-learn computes it.

        Examples
        --------
        >>> RootMeanSquaredError().score([0.5, 0.5], [1, 0])
        0.5
        """
        return float(root_mean_squared_error(labels, predictions))

    def channel(self, *, rows: int, answers: Answers) -> Channel:
        """Return the metric as a channel of squared errors.

        Examples
        --------
        >>> from tacit.scores.attack import Exact
        >>> RootMeanSquaredError().channel(rows=3, answers=Exact()).root
        True
        """
        return Channel(loss=SquaredError(), rows=rows, answers=answers, root=True)

    def designs(self, *, rows: int, answers: Answers) -> Iterator[Design]:
        """Yield digits and the detecting matrix.

        Examples
        --------
        >>> from tacit.scores.attack import Rounded
        >>> answers = Rounded(decimals=5)
        >>> [d.queries < 400 for d in RootMeanSquaredError().designs(rows=2201, answers=answers)]
        [True, True]
        """
        channel = self.channel(rows=rows, answers=answers)
        yield DigitDesign(channel=channel)
        yield JointDesign(channel=channel)

    def largest_weight(self, *, rows: int, answers: Answers) -> float:
        """Return R/u at a score of 1/2.

        Examples
        --------
        >>> from tacit.scores.attack import Bounded
        >>> round(RootMeanSquaredError().largest_weight(rows=100, answers=Bounded(tau=1e-4)), 3)
        49.995
        """
        return 1.0 / (2 * rows * answers.error(largest=0.5) * (1 + answers.error(largest=0.5)))

    def neutral(self, rows: int) -> Numbers:
        """Return 1/2 for every row.

        Examples
        --------
        >>> RootMeanSquaredError().neutral(2)
        array([0.5, 0.5])
        """
        return np.full(rows, 0.5)
