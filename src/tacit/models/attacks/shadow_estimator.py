"""A model trained as a release was, as a scikit-learn classifier that shadow training can copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from tacit.models.plan import Plan
from tacit.models.points import Floats, TrainingPoints
from tacit.models.releases.members import EstimatorMember, ModelMember, SafetensorsMember

__all__ = ["TrainedLikeRelease"]


class TrainedLikeRelease(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train on encoded rows and class codes by the mechanism of a plan, given as plain JSON."""

    classes_: NDArray[np.int64]
    knows_classes = True
    """Its rows need not have all of them."""
    _member: ModelMember

    def __init__(self, plan: Mapping[str, Any], classes: int, random_state: int | None = None) -> None:
        self.plan = plan
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: Floats, y: NDArray[np.int64]) -> Self:
        """Train the model."""
        plan = Plan.from_json(self.plan)
        points = TrainingPoints(rows=X, codes=y, classes=tuple(range(self.classes)))
        settled = plan.mechanism.settle(plan, rows=len(X), classes=self.classes)
        rng = np.random.default_rng(self.random_state)
        made = plan.mechanism.train(plan, settled, points, rng=rng, progress=lambda *_: None)
        self.classes_ = np.arange(self.classes)
        if made.state is not None:
            self._member = SafetensorsMember(made.state)
        else:
            self._member = EstimatorMember.of_estimator(made.estimator)
            self._member.open()
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Return a probability per class."""
        return np.asarray(softmax(self._member.logits(X, classes=self.classes), axis=1))
