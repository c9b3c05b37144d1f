"""What every learner from bags does with its f: probabilities, predictions, a score, an evaluation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.bags.learn.evaluation import Evaluation, evaluate, headline, predictions_of, probabilities_of
from tacit.bags.losses import SemilinearLoss

__all__ = ["Predictor"]

Floats = NDArray[np.float64]


class Predictor(ABC):
    """A fitted loss, and f of rows; the rest follows.

    Examples
    --------
    >>> from tacit.bags.learn import AdditiveModel
    >>> issubclass(AdditiveModel, Predictor)
    True
    """

    loss_: SemilinearLoss

    @abstractmethod
    def _f(self, features: Any) -> Floats:  # noqa: ANN401
        """Return f, (rows, targets), or raise where the learner is not fitted."""

    def decision_function(self, features: Any) -> Floats:  # noqa: ANN401
        """Return f, one column a target (a flat array for one target).

        Examples
        --------
        >>> from tacit.bags.learn import AdditiveModel
        >>> AdditiveModel().decision_function(None)
        Traceback (most recent call last):
        ...
        sklearn.exceptions.NotFittedError: This AdditiveModel instance is not fitted yet. Call 'fit' with \
appropriate arguments before using this estimator.
        """
        f = self._f(features)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict_proba(self, features: Any) -> Floats:  # noqa: ANN401
        """Return the probability of each class, or of each of several labels.

        Examples
        --------
        See the class.

        >>> from tacit.bags.learn import AdditiveModel
        >>> AdditiveModel().predict_proba  # doctest: +ELLIPSIS
        <bound method Predictor.predict_proba of AdditiveModel()>
        """
        f = self._f(features)
        return probabilities_of(self.loss_, f)

    def predict(self, features: Any) -> NDArray[Any]:  # noqa: ANN401
        """Return the likeliest class, the labels above one half, or the predicted mean.

        Examples
        --------
        See the class.

        >>> from tacit.bags.learn import AdditiveModel
        >>> AdditiveModel().predict  # doctest: +ELLIPSIS
        <bound method Predictor.predict of AdditiveModel()>
        """
        f = self._f(features)
        return predictions_of(self.loss_, f)

    def score(self, features: Any, labels: ArrayLike) -> float:  # noqa: ANN401
        """Return accuracy for classes, R^2 for the squared loss, D^2 for counts.

        Examples
        --------
        See :func:`tacit.bags.learn.evaluate`.

        >>> from tacit.bags.learn import AdditiveModel
        >>> AdditiveModel().score  # doctest: +ELLIPSIS
        <bound method Predictor.score of AdditiveModel()>
        """
        f = self._f(features)
        return headline(self.loss_, f, labels)

    def evaluate(self, features: Any, labels: ArrayLike) -> Evaluation:  # noqa: ANN401
        """Return loss, score, AUC and calibration on rows with known labels.

        Examples
        --------
        See :func:`tacit.bags.learn.evaluate`.

        >>> from tacit.bags.learn import AdditiveModel
        >>> AdditiveModel().evaluate  # doctest: +ELLIPSIS
        <bound method Predictor.evaluate of AdditiveModel()>
        """
        f = self._f(features)
        return evaluate(self.loss_, f, labels)
