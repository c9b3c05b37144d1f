"""P(true label | x) of rows of which nothing is released yet, from the released labels of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.class_weights import unbalanced
from tacit.labels.fitting.denoise import (
    DenoisingRule,
    ForwardCorrection,
    LikelihoodTargets,
    NoCorrection,
    NoisyLabels,
    takes_likelihoods,
)
from tacit.labels.fitting.model import FittedModel, fit_soft
from tacit.labels.fitting.temperature import find_temperature, scale_temperature

__all__ = ["predict_unseen"]

Array = NDArray[np.float64]

_FOLDS = 3
_LEAST = 0.05  # temperature of a model that is not confident enough
_MANY = 10_000  # rows of which one held-out part is enough to judge by


def predict_unseen(estimator: Any, X: Any, noisy: NoisyLabels, unseen: Any, *, rng: np.random.Generator) -> Array:  # noqa: ANN401
    """Return P(true label | x) of the rows ``unseen`` from a model of ``X`` and its released labels.

    A model of released labels predicts what is released, whose shares the noise has made more equal. So the estimator
    learns by the likelihood of the released labels, and also from them unchanged; each model gets the temperature under
    which held-out released labels are likeliest, and the one that makes them likelier is fitted to all rows. All of
    this reads released labels alone, and costs no privacy.
    """
    plain = unbalanced(estimator)
    rules = _rules(plain)
    if len(noisy.given) < 2 * _FOLDS:
        return _fit(rules[0], plain, X, noisy, rng).probabilities(unseen)
    tried = [_judge(rule, plain, X, noisy, rng) for rule in rules]
    best = int(np.argmax([likelihood for likelihood, _ in tried]))
    probabilities = _fit(rules[best], plain, X, noisy, rng).probabilities(unseen)
    return scale_temperature(probabilities, temperature=tried[best][1])


def _rules(estimator: Any) -> tuple[DenoisingRule, DenoisingRule]:  # noqa: ANN401
    corrected = LikelihoodTargets() if takes_likelihoods(estimator) else ForwardCorrection()
    return corrected, NoCorrection()


def _fit(rule: DenoisingRule, estimator: Any, X: Any, noisy: NoisyLabels, rng: np.random.Generator) -> FittedModel:  # noqa: ANN401
    targets = rule.targets(estimator, X, noisy, rng=rng)
    fit: Callable[..., FittedModel] = getattr(rule, "fit", fit_soft)
    return fit(estimator, X, targets, sample_weight=noisy.sample_weight, rng=rng)


def _judge(
    rule: DenoisingRule,
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    noisy: NoisyLabels,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The mean log-likelihood of held-out released labels at the best temperature, and that temperature."""
    folds = KFold(_FOLDS, shuffle=True, random_state=0)  # the same rows for every rule
    parts = list(folds.split(noisy.given))[: 1 if len(noisy.given) > _MANY else _FOLDS]
    rows = np.concatenate([held_out for _, held_out in parts])
    predicted = np.concatenate([
        _fit(rule, estimator, _safe_indexing(X, kept), noisy.take(kept), rng).probabilities(_safe_indexing(X, held_out))
        for kept, held_out in parts
    ])  # fmt: skip
    held = noisy.take(rows)
    temperature = find_temperature(predicted, held.likelihood, sample_weight=held.sample_weight, least=_LEAST)
    seen = (scale_temperature(predicted, temperature=temperature) * held.likelihood).sum(axis=1)
    logs = np.log(np.maximum(seen, np.finfo(float).tiny))
    return float(np.average(logs, weights=held.sample_weight)), temperature
