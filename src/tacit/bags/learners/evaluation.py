"""Predictions of learners from bags, their performance and their fit to the released totals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import BagTotals, Partition
from tacit.leak.number_performance import NumberPerformance, judge_numbers
from tacit.leak.performance import ClassPerformance, judge_classes
from tacit.privacy.errors import InvalidInput

__all__ = ["BagPredictor", "Calibration"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How far the predictions' bag totals are from the released ones: a test of fit that needs no label.

    Under a calibrated model a bag's gap has the variance of its labels plus that of its noise; ``statistic`` is the
    sum of squared gaps over variances, about ``bags`` if the model fits and more if it does not. For rows that the
    model was fitted on it is somewhat smaller.
    """

    columns: tuple[str, ...]
    bags: int
    statistic: float
    predicted: tuple[float, ...]
    released: tuple[float, ...]

    @property
    def p_value(self) -> float:
        """How likely so large a statistic is if the model is calibrated."""
        return float(chi2.sf(self.statistic, max(self.bags, 1)))

    def __str__(self) -> str:
        last = "of the last class " if len(self.predicted) > 1 else ""
        return (
            f"By {', '.join(self.columns)}: predictions {last}add up to {self.predicted[-1]:,.1f}, "
            f"released {self.released[-1]:,.1f}."
        )

    @classmethod
    def of(cls, partition: Partition, bag: NDArray[np.int64], loss: SemilinearLoss, f: Floats) -> Calibration:
        """Compare predictions with a partition's totals."""
        inside = bag >= 0
        expected, variance = np.zeros_like(partition.totals), np.zeros_like(partition.totals)
        np.add.at(expected, bag[inside], loss.mean(f)[inside])
        np.add.at(variance, bag[inside], loss.curvature(f)[inside])
        gaps = (partition.totals - expected) ** 2 / np.maximum(variance + partition.variance, 1e-12)
        return cls(
            columns=partition.columns,
            bags=gaps.size,
            statistic=float(gaps.sum()),
            predicted=tuple(expected.sum(axis=0).tolist()),
            released=tuple(partition.totals.sum(axis=0).tolist()),
        )


class BagPredictor(ABC):
    """A fitted loss, and f of rows; the rest follows."""

    loss_: SemilinearLoss
    risk_: float | None = None
    """For random bags, the unbiased estimate of the mean squared error per row."""

    @abstractmethod
    def _f(self, features: Any) -> Floats:  # noqa: ANN401
        """Return f, (rows, targets), or raise if the learner is not fitted."""

    def decision_function(self, features: Any) -> Floats:  # noqa: ANN401
        """Return f, one column per target (a flat array for one target)."""
        f = self._f(features)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict_proba(self, features: Any) -> Floats:  # noqa: ANN401
        """Return the probability of each class."""
        f = self._f(features)
        return self.loss_.probabilities(f)

    def predict(self, features: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the most probable class, or the predicted mean."""
        f = self._f(features)  # raises if nothing is fitted
        found = self.loss_.predict(f)
        classes = getattr(self, "classes_", None)
        return found if classes is None else np.asarray(classes[found])

    def score(self, features: Any, labels: ArrayLike) -> float:  # noqa: ANN401
        """Return accuracy for classes, R^2 for the squared loss, D^2 for counts."""
        f = self._f(features)
        return self.loss_.score(f, self._codes(labels))

    def mean_loss(self, features: Any, labels: ArrayLike) -> float:  # noqa: ANN401
        """Return the mean of the loss on rows with known labels."""
        f = self._f(features)
        return float(self.loss_.value(f, self._codes(labels)).mean())

    def evaluate(self, features: Any, labels: ArrayLike) -> ClassPerformance | NumberPerformance:  # noqa: ANN401
        """Judge the predictions by rows with known labels."""
        f, codes = self._f(features), self._codes(labels)
        T, classes = self.loss_.statistic(codes), self.loss_.class_codes
        if classes is None:
            return judge_numbers(self.loss_.mean(f)[:, 0], np.asarray(codes, dtype=np.float64))
        truth = T if self.loss_.exclusive else np.hstack([1 - T, T])
        return judge_classes(self.loss_.probabilities(f), truth, names=getattr(self, "classes_", classes).tolist())

    def calibration(self, release: BagTotals, features: Any) -> list[Calibration]:  # noqa: ANN401, ARG002
        """Compare the bag totals of the predictions with the released ones; random bags have none."""
        return []

    def _codes(self, labels: ArrayLike) -> ArrayLike:
        """Labels as numbers: class names by their place among ``classes_``, numbers unchanged."""
        given, classes = np.asarray(labels), getattr(self, "classes_", np.zeros(0))
        if given.dtype.kind not in "UO" or classes.dtype.kind != "U":
            return labels
        place = {name: code for code, name in enumerate(classes.tolist())}
        unknown = sorted(set(given.tolist()) - set(place))
        if unknown:
            raise InvalidInput(f"must be among the classes {', '.join(place)}, got {unknown[0]!r}", field="labels")
        return np.array([place[name] for name in given.tolist()])
