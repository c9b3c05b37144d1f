"""Train an estimator on released labels: denoise, fit, and fit again on its own predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from tacit.labels.fitting.class_weights import coded
from tacit.labels.fitting.denoise import DenoisingRule, LikelihoodTargets, NoisyLabels, takes_likelihoods
from tacit.labels.fitting.model import FittedModel, Weights, fit_hard, fit_soft
from tacit.labels.fitting.temperature import find_temperature
from tacit.labels.learners.features import trial_rows
from tacit.labels.learners.flattened import warn_if_flattened
from tacit.labels.learners.forgotten import warn_if_forgotten
from tacit.labels.learners.judged import JudgedTraining, judge_training
from tacit.labels.learners.retrain import RetrainingRule, SkipIfCollapsed

__all__ = ["LabelTraining", "TrainingResult"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingResult:
    """The model, its temperature, and what the first model predicted of the rows that it was trained on."""

    model: FittedModel
    temperature: float
    predicted: NDArray[np.int64]
    chosen: NDArray[np.int64]  # the rows that were trained on again; all, if none were
    as_given: bool  # whether it takes the features as they are, and not their representation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelTraining:
    """What to train and how; ``denoise`` and ``retrain`` None choose by estimator and held-out released labels."""

    estimator: Any
    denoise: DenoisingRule | None
    retrain: RetrainingRule | None
    rounds: int
    student: Any
    warm: bool
    classes: Sequence[Any]
    progress: Callable[[int, int], None] | None

    def train(self, X: Any, represented: Any, noisy: NoisyLabels, rng: np.random.Generator) -> TrainingResult:  # noqa: ANN401
        """Fit once, and as often again as is asked for or helps."""
        base = coded(self.estimator, self.classes)
        way = self._way(base, represented, noisy, rng)
        rounds = 0 if way.retrain is None else self.rounds
        self._tell(0, rounds)
        targets = way.denoise.targets(base, represented, noisy, rng=rng)
        fit = getattr(way.denoise, "fit", fit_soft)
        first = model = fit(base, represented, targets, sample_weight=noisy.sample_weight, rng=rng)
        probabilities = model.probabilities(represented)
        warn_if_flattened(probabilities, targets, noisy)
        predicted, chosen, as_given = probabilities.argmax(axis=1), np.arange(len(noisy.given)), False
        for number in range(rounds):
            self._tell(1 + number, rounds)
            assert way.retrain is not None  # as there are rounds
            chosen = way.retrain.choose(probabilities, given=noisy.given)
            if len(chosen) == 0:
                break  # nothing to learn from: the last model stays
            codes, weights = probabilities.argmax(axis=1)[chosen], noisy.take(chosen).sample_weight
            again, seen = (base, represented) if self.student is None else (coded(self.student, self.classes), X)
            start = model if self.warm else None
            rows = _safe_indexing(seen, chosen)
            model = fit_hard(again, rows, codes, classes=model.classes, sample_weight=weights, start=start, rng=rng)
            probabilities, as_given = model.probabilities(seen), self.student is not None
        warn_if_forgotten(probabilities, noisy, classes=self.classes)
        temperature = way.temperature or 1.0
        if way.temperature is None and model is not first:
            temperature = find_temperature(probabilities, noisy.likelihood, sample_weight=noisy.sample_weight)
        return TrainingResult(
            model=model, temperature=temperature, predicted=predicted, chosen=chosen, as_given=as_given
        )

    def try_out(self, X: Any, represented: Any, weights: Weights) -> None:  # noqa: ANN401
        """Train on made-up labels of some rows, or of all if these do not suffice, before anything is charged."""
        rows = trial_rows(X)
        try:
            self._train_made_up(_safe_indexing(X, rows), _safe_indexing(represented, rows), weights, rows)
        except Exception:  # whatever an estimator raises on few rows
            self._train_made_up(X, represented, weights, np.arange(_num_samples(X)))

    def _train_made_up(self, X: Any, represented: Any, weights: Weights, rows: NDArray[np.int64]) -> None:  # noqa: ANN401
        codes = np.arange(len(rows)) % len(self.classes)
        likelihood = np.eye(len(self.classes))[codes] + 0.5
        kept = None if weights is None else weights[rows]
        noisy = NoisyLabels(given=codes, likelihood=likelihood, sample_weight=kept)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            replace(self, progress=None).train(X, represented, noisy, np.random.default_rng(0))

    def _way(self, base: Any, X: Any, noisy: NoisyLabels, rng: np.random.Generator) -> JudgedTraining:  # noqa: ANN401
        """What is asked for; else the likelihood, or what held-out labels prefer where the estimator cannot use it."""
        retrain = SkipIfCollapsed() if self.retrain is None else self.retrain
        if self.denoise is not None:
            return JudgedTraining(denoise=self.denoise, retrain=retrain)
        if takes_likelihoods(base):
            network = hasattr(base, "fit_targets")
            return JudgedTraining(denoise=LikelihoodTargets(), retrain=retrain if network else self.retrain)
        judged = judge_training(base, X, noisy, again=self.rounds > 0, rng=rng)
        asked = self.retrain is not None or self.student is not None or self.warm
        return JudgedTraining(denoise=judged.denoise, retrain=retrain) if asked else judged

    def _tell(self, fits: int, rounds: int) -> None:
        if self.progress is not None:
            self.progress(fits, 1 + rounds)
