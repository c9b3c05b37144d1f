"""The way to train an estimator that cannot learn from likelihoods, judged by held-out released labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.denoise import DenoisingRule, ForwardCorrection, NoCorrection, NoisyLabels
from tacit.labels.fitting.model import FittedModel, fit_hard, fit_soft
from tacit.labels.fitting.temperature import find_temperature, scale_temperature
from tacit.labels.learners.retrain import RetrainingRule, SkipIfCollapsed

__all__ = ["JudgedTraining", "judge_training"]

Array = NDArray[np.float64]

_HELD = 5  # one in so many rows judges
_LEAST_ROWS = 50
_LEAST_TEMPERATURE = 0.05  # of a model that is not confident enough


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTraining:
    """How targets are made, which rows are trained on again, if any, and the temperature of the model."""

    denoise: DenoisingRule
    retrain: RetrainingRule | None
    temperature: float | None = None


def judge_training(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    noisy: NoisyLabels,
    *,
    again: bool = True,
    rng: np.random.Generator,
) -> JudgedTraining:
    """Return the way under which the released labels of a held-out fifth are likeliest.

    Tried are the released labels unchanged, forward correction, and, with ``again``, either one trained again on the
    rows where prediction and released label agree. Each has the temperature that suits the held-out rows best. Too few
    rows cannot judge: then it is forward correction.
    """
    if len(noisy.given) < _LEAST_ROWS:
        return JudgedTraining(denoise=ForwardCorrection(), retrain=None)
    order = rng.permutation(len(noisy.given))
    held, kept = order[::_HELD], np.sort(np.setdiff1d(order, order[::_HELD]))
    judge = _HeldOutJudge(_safe_indexing(X, held), noisy.take(held))
    rows, seen = _safe_indexing(X, kept), noisy.take(kept)
    tried: list[tuple[float, JudgedTraining]] = []
    rule = SkipIfCollapsed()
    for denoise in (ForwardCorrection(), NoCorrection()):
        targets = denoise.targets(estimator, rows, seen, rng=rng)
        model = fit_soft(estimator, rows, targets, sample_weight=seen.sample_weight, rng=rng)
        tried.append(judge.tell(model, denoise, None))
        retrained = _train_again(estimator, rows, seen, model, rule, rng) if again else None
        if retrained is not None:
            tried.append(judge.tell(retrained, denoise, rule))
    return max(tried, key=lambda one: one[0])[1]


def _train_again(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: ANN401
    noisy: NoisyLabels,
    model: FittedModel,
    rule: RetrainingRule,
    rng: np.random.Generator,
) -> FittedModel | None:
    probabilities = model.probabilities(X)
    rows = rule.choose(probabilities, given=noisy.given)
    if not len(rows):
        return None
    codes, weights = probabilities.argmax(axis=1)[rows], noisy.take(rows).sample_weight
    return fit_hard(estimator, _safe_indexing(X, rows), codes, classes=model.classes, sample_weight=weights, rng=rng)


@dataclass(frozen=True, slots=True)
class _HeldOutJudge:
    X: Any
    noisy: NoisyLabels

    def tell(
        self, model: FittedModel, denoise: DenoisingRule, retrain: RetrainingRule | None
    ) -> tuple[float, JudgedTraining]:
        """The mean log-likelihood of the held-out labels at the best temperature, and the way that it judges."""
        likelihood, weights = self.noisy.likelihood, self.noisy.sample_weight
        predicted = model.probabilities(self.X)
        temperature = find_temperature(predicted, likelihood, sample_weight=weights, least=_LEAST_TEMPERATURE)
        seen = (scale_temperature(predicted, temperature=temperature) * likelihood).sum(axis=1)
        fits = float(np.average(np.log(np.maximum(seen, np.finfo(float).tiny)), weights=weights))
        return fits, JudgedTraining(denoise=denoise, retrain=retrain, temperature=temperature)
