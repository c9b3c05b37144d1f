"""The scorers that hosts run, by name: how to attack each, and the real one to attack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import brier_score_loss, log_loss, mean_absolute_error

from tacit.privacy.errors import InvalidInput
from tacit.scores.attack.answers import Answers, Bounded, Exact, Rounded
from tacit.scores.attack.infer import Oracle
from tacit.scores.attack.metrics import AUC, F1, AbsoluteError, Accuracy, Metric, RootMeanSquaredError
from tacit.scores.attack.steps import Labels
from tacit.scores.losses import (
    Loss,
    check_labels,
    sklearn_brier_score,
    sklearn_log_loss,
    torch_bce,
    torch_bce_with_logits,
    torch_cross_entropy,
)
from tacit.scores.losses.precision import Numbers

__all__ = ["SCORERS", "Scorer", "find_scorer", "hidden"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """A scorer: what an attack needs to know of it, and the function that a host calls.

    Parameters
    ----------
    name
        What it is called.
    metric
        The loss or metric for a number of classes; raises for classes it does not take.
    score
        Takes labels, predictions and the number of classes, as the host does.

    Examples
    --------
    >>> scorer = find_scorer("log_loss")
    >>> oracle = scorer.oracle([0, 1, 1], classes=2)
    >>> round(oracle(np.array([0.5, 0.5, 0.5])), 6)
    0.693147
    """

    name: str
    metric: Callable[[int], Loss | Metric]
    score: Callable[[Labels, Numbers, int], float]

    def oracle(self, labels: ArrayLike, *, classes: int) -> Oracle:
        """Return a host that holds these labels.

        Examples
        --------
        >>> find_scorer("accuracy").oracle([0, 1], classes=2)(np.array([0, 0]))
        0.5
        """
        truth = check_labels(labels, classes=classes)
        return lambda predictions: float(self.score(truth, predictions, classes))


def _log_loss(labels: Labels, predictions: Numbers, classes: int) -> float:
    return float(log_loss(labels, predictions, labels=range(classes)))


def _brier(labels: Labels, predictions: Numbers, classes: int) -> float:
    if classes == 2:
        return float(brier_score_loss(labels, predictions))
    return float(brier_score_loss(labels, predictions, labels=range(classes)))


def _binary(metric: Callable[[], Loss | Metric]) -> Callable[[int], Loss | Metric]:
    def build(classes: int) -> Loss | Metric:
        if classes != 2:
            raise InvalidInput(f"classes must be 2 for this metric, got {classes!r}: try log_loss or accuracy")
        return metric()

    return build


def _own(metric: Callable[[int], Loss | Metric]) -> Callable[[Labels, Numbers, int], float]:
    return lambda labels, predictions, classes: float(metric(classes).score(predictions, labels))


_ALL = (
    Scorer(name="log_loss", metric=lambda k: sklearn_log_loss(classes=k), score=_log_loss),
    Scorer(name="brier", metric=lambda k: sklearn_brier_score(classes=k), score=_brier),
    Scorer(
        name="softmax",
        metric=lambda k: torch_cross_entropy(classes=k),
        score=_own(lambda k: torch_cross_entropy(classes=k)),
    ),
    Scorer(name="sigmoid", metric=_binary(torch_bce_with_logits), score=_own(lambda _: torch_bce_with_logits())),
    Scorer(name="bce", metric=_binary(torch_bce), score=_own(lambda _: torch_bce())),
    Scorer(name="accuracy", metric=lambda k: Accuracy(classes=k), score=_own(lambda k: Accuracy(classes=k))),
    Scorer(name="f1", metric=_binary(F1), score=_own(lambda _: F1())),
    Scorer(name="auc", metric=_binary(AUC), score=_own(lambda _: AUC())),
    Scorer(name="rmse", metric=_binary(RootMeanSquaredError), score=_own(lambda _: RootMeanSquaredError())),
    Scorer(name="mae", metric=_binary(AbsoluteError), score=lambda y, p, _: float(mean_absolute_error(y, p))),
)

SCORERS: dict[str, Scorer] = {scorer.name: scorer for scorer in _ALL}
"""Every scorer by its name."""


def find_scorer(name: str) -> Scorer:
    """Return the scorer of this name.

    Examples
    --------
    >>> find_scorer("log-likelihood")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: metric must be one of log_loss, brier, ..., got 'log-likelihood'
    """
    if name not in SCORERS:
        raise InvalidInput(f"metric must be one of {', '.join(SCORERS)}, got {name!r}")
    return SCORERS[name]


def hidden(
    oracle: Oracle, *, decimals: int | None, tau: float | None, rng: np.random.Generator
) -> tuple[Oracle, Answers]:
    """Return the oracle with its scores rounded or made noisy, and what that is to an attacker.

    Parameters
    ----------
    oracle
        The host.
    decimals
        Round to this many decimals.
    tau
        Add noise, uniform between -tau and tau.
    rng
        Draws the noise.

    Examples
    --------
    >>> rounded, answers = hidden(lambda p: 0.123, decimals=1, tau=None, rng=np.random.default_rng(0))
    >>> rounded(np.zeros(1)), answers.decimals
    (0.1, 1)
    """
    if decimals is not None and tau is not None:
        raise InvalidInput("decimals and noise must not both be given: choose the one the host uses")
    if decimals is not None:
        rounded = Rounded(decimals=decimals)
        return (lambda predictions: round(oracle(predictions), decimals)), rounded
    if tau is not None:
        bounded = Bounded(tau=tau)
        return (lambda predictions: oracle(predictions) + rng.uniform(-tau, tau)), bounded
    return oracle, Exact()
