"""A two-layer network trained to its margin, as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from papers.margin_membership.logistic_loss import LogisticMarginLoss
from tacit.models.margin.fit import check_settings
from tacit.models.margin.gradient import MarginLoss
from tacit.models.margin.train import initial_network, train
from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput

__all__ = ["MarginClassifier"]


class MarginClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify by the sign of a two-layer ReLU network trained toward the margin of its training points.

    Features are used as they are: scale them first. Where the network separates the training points it is rescaled
    to least margin 1, and ``separated_`` is true. Where it does not, it is the network that the steps ended at, a
    ``ConvergenceWarning`` says so and ``separated_`` is false. It protects nothing: see the attacks of this surface.

    Parameters
    ----------
    initial_scale
        Norm of the first network.
    loss
        By default ``LogisticMarginLoss()``, which bears points on the wrong side.

    References
    ----------
    Paper 004, Section 2; :func:`tacit.models.margin.fit.fit_margin`, which certifies what it finds.
    """

    classes_: NDArray[Any]
    network_: TwoLayerReLU
    separated_: bool

    def __init__(
        self,
        width: int = 100,
        *,
        steps: int = 500,
        initial_scale: float = 1e-3,
        loss: MarginLoss | None = None,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.steps = steps
        self.initial_scale = initial_scale
        self.loss = loss
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train on points of two classes."""
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        check_settings(width=self.width, steps=self.steps, initial_scale=self.initial_scale)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) > 2:
            kind = type_of_target(labels)
            raise InvalidInput(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) < 2:
            raise InvalidInput(f"must have two classes, got 1 class: {self.classes_[0]!r}", field="y")
        signs = np.where(codes == 1, 1.0, -1.0)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        start = initial_network(width=self.width, dimension=rows.shape[1], scale=self.initial_scale, rng=rng)
        loss = LogisticMarginLoss() if self.loss is None else self.loss
        trained, _ = train(rows, signs, start, steps=self.steps, loss=loss)
        margin = float((signs * trained(rows)).min())
        self.separated_ = margin > 0
        self.network_ = trained.scaled(1 / margin) if self.separated_ else trained
        if not self.separated_:
            warnings.warn(
                f"the network does not separate its training points after {self.steps} steps, so it has no margin: "
                "raise steps or width",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return Phi of each row: above 0 is the second class."""
        check_is_fitted(self)
        return self.network_(validate_data(self, X, dtype=np.float64, reset=False))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return 1/(1 + e^-Phi) and its complement: an order, not calibrated chances."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
