"""The same model as an estimator's, fitted by the likelihood of released labels."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from tacit.labels.fitting.boosting.learner import LikelihoodBoosting
from tacit.labels.fitting.boosting.libraries import library_of
from tacit.labels.fitting.likelihood import LikelihoodRegression

__all__ = ["likelihood_form"]


def likelihood_form(estimator: Any) -> Any:  # noqa: ANN401
    """Return an estimator with ``fit_likelihoods`` for the same model; the estimator itself where there is none.

    A logistic regression with a squared penalty becomes a :class:`LikelihoodRegression`, which chooses the penalty by
    the release instead of ``C``. Boosted trees of scikit-learn, XGBoost, LightGBM and CatBoost become those of a
    :class:`LikelihoodBoosting`. In a pipeline the last step is replaced.

    Examples
    --------
    >>> likelihood_form(LogisticRegression(class_weight="balanced"))
    LikelihoodRegression(class_weight='balanced')
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        form = likelihood_form(last)
        return estimator if form is last else Pipeline([*estimator.steps[:-1], (name, form)], memory=estimator.memory)
    if type(estimator) is LogisticRegression and _has_squared_penalty(estimator):
        return LikelihoodRegression(class_weight=estimator.class_weight, random_state=estimator.random_state)
    if is_classifier(estimator) and library_of(estimator) is not None:
        return LikelihoodBoosting(estimator)
    return estimator


def _has_squared_penalty(estimator: Any) -> bool:  # noqa: ANN401
    settings = estimator.get_params(deep=False)
    squared = not settings.get("l1_ratio") and settings.get("penalty") not in ("l1", "elasticnet")
    return bool(settings["fit_intercept"] and squared)
