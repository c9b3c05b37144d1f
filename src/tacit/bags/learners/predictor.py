"""What every learner from bags does with its f: probabilities, predictions, a score, an evaluation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.bags.learners.evaluation import Evaluation, evaluate, headline, predictions_of, probabilities_of
from tacit.bags.losses import SemilinearLoss
from tacit.privacy.errors import InvalidInput

__all__ = ["Predictor"]

Floats = NDArray[np.float64]


class Predictor(ABC):
    """A fitted loss, and f of rows; the rest follows."""

    loss_: SemilinearLoss

    @abstractmethod
    def _f(self, features: Any) -> Floats:  # noqa: ANN401
        """Return f, (rows, targets), or raise where the learner is not fitted."""

    def decision_function(self, features: Any) -> Floats:  # noqa: ANN401
        """Return f, one column a target (a flat array for one target)."""
        f = self._f(features)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict_proba(self, features: Any) -> Floats:  # noqa: ANN401
        """Return the probability of each class, or of each of several labels."""
        f = self._f(features)
        return probabilities_of(self.loss_, f)

    def predict(self, features: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the most probable class, the labels above one half, or the predicted mean."""
        f = self._f(features)  # raises where nothing is fitted
        found = predictions_of(self.loss_, f)
        classes = getattr(self, "classes_", None)
        return found if classes is None else np.asarray(classes[found])

    def score(self, features: Any, labels: ArrayLike) -> float:  # noqa: ANN401
        """Return accuracy for classes, R^2 for the squared loss, D^2 for counts."""
        f = self._f(features)
        return headline(self.loss_, f, self._codes(labels))

    def evaluate(self, features: Any, labels: ArrayLike) -> Evaluation:  # noqa: ANN401
        """Return loss, score, AUC and calibration on rows with known labels."""
        f = self._f(features)
        return evaluate(self.loss_, f, self._codes(labels))

    def _codes(self, labels: ArrayLike) -> ArrayLike:
        """Labels as numbers: class names by their place among ``classes_``, numbers as they are."""
        given, classes = np.asarray(labels), getattr(self, "classes_", np.zeros(0))
        if given.dtype.kind not in "UO" or classes.dtype.kind != "U":
            return labels
        place = {name: code for code, name in enumerate(classes.tolist())}
        unknown = sorted(set(given.tolist()) - set(place))
        if unknown:
            raise InvalidInput(f"must be among the classes {', '.join(place)}, got {unknown[0]!r}", field="labels")
        return np.array([place[name] for name in given.tolist()])
