"""Predictions of learners from bags, their accuracy and their calibration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2
from sklearn.metrics import roc_auc_score

from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import BagTotals, Partition
from tacit.privacy.errors import InvalidInput

__all__ = ["Calibration", "Evaluation", "Predictor", "calibration_error", "evaluate"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The quality of predictions on rows with known labels.

    Parameters
    ----------
    loss
        The mean loss; the log loss for 0/1 labels.
    score
        Accuracy for classes, R^2 for the squared loss, D^2 (explained deviance) for counts.
    auc
        Area under the ROC curve (for K classes one against the rest, averaged); None for other losses, or where the
        rows have one class.
    calibration_error
        Expected calibration error over ten groups of equal size; None if labels are no classes.
    predicted, observed
        The mean prediction and the mean label, which calibration in the large compares.
    """

    loss: float
    score: float
    auc: float | None
    calibration_error: float | None
    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    rows: int


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


def evaluate(loss: SemilinearLoss, f: Floats, labels: ArrayLike) -> Evaluation:
    """Measure predictions f against labels."""
    T = loss.statistic(labels)
    mean = loss.mean(f)
    return Evaluation(
        loss=float(loss.value(f, labels).mean()),
        score=loss.score(f, labels),
        auc=_auc(loss, mean, T),
        calibration_error=calibration_error(mean, T) if loss.of_classes else None,
        predicted=tuple(mean.mean(axis=0).tolist()),
        observed=tuple(T.mean(axis=0).tolist()),
        rows=len(T),
    )


def calibration_error(probabilities: Floats, truth: Floats, *, groups: int = 10) -> float:
    """Return the expected calibration error over groups of about equal size, the worst of the targets."""
    errors = []
    for p, t in zip(probabilities.T, truth.T, strict=True):
        # equal predictions stay together: what splits them could be the order of the rows
        edges = np.unique(np.quantile(p, np.arange(1, groups) / groups))
        group = np.searchsorted(edges, p, side="right")
        errors.append(np.abs(np.bincount(group, p - t)).sum() / len(p))
    return float(max(errors))


def _auc(loss: SemilinearLoss, mean: Floats, T: Floats) -> float | None:
    if not loss.of_classes:
        return None
    areas = [roc_auc_score(t, p) for t, p in zip(T.T, mean.T, strict=True) if 0 < t.sum() < len(t)]
    return float(np.mean(areas)) if len(areas) == T.shape[1] else None


class Predictor(ABC):
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
        """Return the probability of each class, or of each of several labels."""
        f = self._f(features)
        return self.loss_.probabilities(f)

    def predict(self, features: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the most probable class, the labels above one half, or the predicted mean."""
        f = self._f(features)  # raises if nothing is fitted
        found = self.loss_.predict(f)
        classes = getattr(self, "classes_", None)
        return found if classes is None else np.asarray(classes[found])

    def score(self, features: Any, labels: ArrayLike) -> float:  # noqa: ANN401
        """Return accuracy for classes, R^2 for the squared loss, D^2 for counts."""
        f = self._f(features)
        return self.loss_.score(f, self._codes(labels))

    def evaluate(self, features: Any, labels: ArrayLike) -> Evaluation:  # noqa: ANN401
        """Return loss, score, AUC and calibration on rows with known labels."""
        f = self._f(features)
        return evaluate(self.loss_, f, self._codes(labels))

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
