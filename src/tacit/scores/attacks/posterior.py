"""What all answers together reveal about every label, if answers are too noisy to be decoded one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks.enumeration import enumerated_posterior

__all__ = ["ScoreReading", "label_chances", "label_posterior", "with_unscored"]

_LEAST = 1e-6  # a model that is sure may be wrong
_NARROW = 1e-3  # an interval has to be this wide, in the units of the losses, for stable moments
_DAMPED = 0.6
_DRIFT = 0.05  # by which beliefs about all rows together may be off
_SETTLED = 1e-4
_STEPS = 80

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreReading:
    """One answer as an attacker reads it: an interval for the sum of the rows' losses.

    A noisy score has low = high and a scale, a rounded score an interval, and "no better than before" an interval
    without an upper end.

    Parameters
    ----------
    choice
        For every row which prediction of the menu was submitted.
    low, high
        What the answer reveals about the sum.
    scale
        Of the Laplace noise on it; 0 without noise, and then the interval has no error.
    """

    choice: NDArray[np.integer[Any]]
    low: float
    high: float
    scale: float = 0.0


def label_posterior(
    readings: list[ScoreReading],
    prior: ArrayLike,
    *,
    losses: ArrayLike,
    floating: float | None = None,
) -> Floats:
    """Return the probability of every label given all answers, (rows, labels).

    A few rows are enumerated. More are weighed by approximate message passing: to one row, all other rows and the noise
    are a Gaussian around each answer; the row's label is weighed against it by Bayes' rule, and its new mean and
    variance enter the others' Gaussian. For random choices and many rows this comes close to the exact posterior, which
    no attack on the same answers can beat.

    Parameters
    ----------
    losses
        (menu, labels): what each prediction of the menu costs a row with each label.
    floating
        The variance of an unknown number in all answers, such as infinity. What rows that are never varied cost is
        then one number too, with the mean and variance that ``prior`` gives it. None: these rows are weighed like all
        others.

    References
    ----------
    Rangan (2011), "Generalized approximate message passing"; Donoho, Maleki and Montanari (2009).
    """
    beliefs = np.asarray(prior, dtype=np.float64)
    table = np.asarray(losses, dtype=np.float64)
    if beliefs.ndim != 2 or not (np.isfinite(beliefs).all() and beliefs.min() >= 0 and beliefs.sum(axis=1).min() > 0):
        raise InvalidInput(f"must be probabilities of shape (rows, labels), got shape {beliefs.shape}", field="prior")
    if table.ndim != 2 or table.shape[1] != beliefs.shape[1] or not np.isfinite(table).all():
        raise InvalidInput(
            f"must be numbers of shape (menu, {beliefs.shape[1]}), got shape {table.shape}", field="losses"
        )
    beliefs = (beliefs + _LEAST) / (beliefs + _LEAST).sum(axis=1, keepdims=True)
    if not readings:
        return np.asarray(beliefs)
    exact = None if floating else enumerated_posterior(readings, beliefs, table)
    return _ReadingMatrices(readings, beliefs, table, floating=floating).pass_on() if exact is None else exact


def with_unscored(prior: Floats, losses: Floats, *, share: float) -> tuple[Floats, Floats]:
    """Return prior and losses with one more "label", last: the row is not scored, and no prediction of it counts.

    Parameters
    ----------
    share
        Of the rows that are scored; which these are is not known.
    """
    unscored = np.full((len(prior), 1), 1 - share)
    return np.concatenate([prior * share, unscored], axis=1), np.pad(losses, ((0, 0), (0, 1)))


def label_chances(beliefs: Floats, prior: Floats) -> Floats:
    """Return the chance of each label: of rows that are not scored the features alone speak."""
    classes = prior.shape[1]
    return np.asarray(beliefs[:, :classes] + prior * beliefs[:, classes:].sum(axis=1, keepdims=True))


class _ReadingMatrices:
    """The readings as matrices, without the rows whose costs are the same in all of them."""

    def __init__(self, readings: list[ScoreReading], prior: Floats, losses: Floats, *, floating: float | None) -> None:
        choices = np.array([reading.choice for reading in readings])
        flat = np.ptp(losses, axis=1) == 0
        told = ~flat[choices].all(axis=0) & ((choices != choices[0]).any(axis=0) | (floating is None))
        self.rows, self.others = np.flatnonzero(told), np.flatnonzero(~told)
        self.costs = losses[choices[0, self.others]]
        self.spread = 0.0  # the variance of what the other rows cost together
        if floating is None:  # it is in the table, and may be another number in each answer
            constant = losses.max(axis=1)[choices[:, self.others]].sum(axis=1)
        else:
            means, variances = _moments(prior[self.others], self.costs)
            constant = means.sum()
            self.spread = floating + variances.sum() + (_DRIFT * np.ptp(self.costs, axis=1).sum()) ** 2
        self.choices = choices[:, self.rows]
        self.asks = [(self.choices == choice).astype(np.float32) for choice in range(len(losses))]
        self.losses, self.prior = losses, prior
        # a missing end is put where no sum can reach it, so that differences stay finite
        far = 10.0 * (1.0 + float(np.abs(losses).max()) * len(prior))
        self.low = np.array([max(reading.low, -far) for reading in readings]) - constant
        self.high = np.array([min(reading.high, far) for reading in readings]) - constant
        self.scale = np.array([reading.scale for reading in readings])

    def pass_on(self) -> Floats:
        result = self.prior.copy()
        beliefs = self.prior[self.rows]
        logs = np.log(beliefs)
        pull = np.zeros(len(self.low))
        for step in range(_STEPS):
            means = beliefs @ self.losses.T
            expected, spread = self._sums(means, beliefs @ (self.losses**2).T - means**2)
            spread += 1e-9
            pull, sharp = self._answers(expected - spread * pull, spread)
            change = _shares(logs + self._fit(pull, sharp, means)) - beliefs
            beliefs = beliefs + (1.0 if step == 0 else _DAMPED) * change  # undamped steps may swing
            if np.abs(change).max(initial=0.0) < _SETTLED:
                break
        result[self.rows] = beliefs
        if 0 < self.spread < np.inf:
            result[self.others] = self._others()
        return result

    def _others(self) -> Floats:
        """Return the beliefs about the other rows: each has its part in how far their sum is from its mean."""
        prior = self.prior[self.others]
        away = self.costs - _moments(prior, self.costs)[0][:, None]
        return _shares(np.log(prior) + away * self.pull - away**2 * self.sharp / 2)

    def _sums(self, *by_choice: Floats) -> Floats:
        """Sum values of every row and choice over the rows of each answer; one pass over the matrices for all."""
        total = np.zeros((len(self.low), len(by_choice)))
        for ask, *values in zip(self.asks, *(value.T for value in by_choice), strict=True):
            total += ask @ np.array(values, dtype=np.float32).T
        return total.T

    def _fit(self, pull: Floats, sharp: Floats, means: Floats) -> Floats:
        """Return the log-likelihood of every row and label, the other rows at their means."""
        fits = np.zeros((len(self.rows), self.losses.shape[1]))
        for ask, costs, mean in zip(self.asks, self.losses, means.T, strict=True):
            away = costs[None, :] - mean[:, None]
            pulled, sharpened = (ask.T @ np.array([pull, sharp], dtype=np.float32).T).T
            fits += away * pulled[:, None] - away**2 * sharpened[:, None] / 2
        return fits

    def _answers(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """Return, for a sum believed to be N(mean, variance), the answer's score and curvature in the mean."""
        low, high = self.low, self.high
        if self.spread > 0:
            weight = 1 / (variance + 2 * self.scale**2)
            precision = weight.sum() + 1 / self.spread
            shift = (weight * ((low + high) / 2 - mean)).sum() / precision
            low, high = low - shift, high - shift
            self.pull, self.sharp = shift / self.spread, (1 - 1 / (precision * self.spread)) / self.spread
        noisy = self.scale > 0
        new_mean, new_variance = np.empty_like(mean), np.empty_like(mean)
        for which, moments in ((noisy, _laplace_moments), (~noisy, _interval_moments)):
            if which.any():
                new_mean[which], new_variance[which] = moments(
                    mean[which], variance[which], low[which], high[which], self.scale[which]
                )
        sharp = np.clip(1 - new_variance / variance, 1e-9, 1.0) / variance
        return (new_mean - mean) / variance, sharp


def _moments(beliefs: Floats, costs: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of what each row costs."""
    means = (beliefs * costs).sum(axis=1)
    return means, (beliefs * costs**2).sum(axis=1) - means**2


def _shares(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _interval_moments(
    mean: Floats, variance: Floats, low: Floats, high: Floats, _: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return mean and variance of a Gaussian cut to [low, high]."""
    sd = np.sqrt(variance)
    gap = np.maximum(_NARROW - (high - low), 0.0) / 2
    a, b = (low - gap - mean) / sd, (high + gap - mean) / sd
    flip = a + b > 0  # keep to the left tail, where the logarithms are exact
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    top = log_ndtr(b)
    mass = top + np.log1p(-np.exp(np.minimum(log_ndtr(a) - top, -1e-15)))
    da, db = (np.exp(-(x**2) / 2 - 0.9189385332046727 - mass) for x in (a, b))
    adds = np.where(np.isfinite(a), a, 0.0) * da - np.where(np.isfinite(b), b, 0.0) * db
    shift = da - db
    return mean + sd * np.where(flip, -shift, shift), variance * np.clip(1 + adds - shift**2, 1e-9, 1.0)


def _laplace_moments(mean: Floats, variance: Floats, low: Floats, high: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of a Gaussian times exp(-distance to [low, high] / scale): three cut Gaussians."""
    end = np.full_like(low, np.inf)
    parts = [
        (mean + variance / scale, -end, low, (mean - low) / scale + variance / scale**2 / 2),
        (mean, low, high, np.zeros_like(mean)),
        (mean - variance / scale, high, end, (high - mean) / scale + variance / scale**2 / 2),
    ]
    weights, means, variances = [], [], []
    for center, left, right, weight in parts:
        inside = _log_mass(left, right, center, np.sqrt(variance))
        part_mean, part_variance = _interval_moments(center, variance, left, right)
        weights.append(np.where(np.isfinite(weight + inside), weight + inside, -np.inf))
        means.append(np.where(np.isfinite(part_mean), part_mean, mean))
        variances.append(part_variance)
    shares = np.exp(np.array(weights) - np.max(weights, axis=0))
    shares /= shares.sum(axis=0)
    new_mean = (shares * means).sum(axis=0)
    return new_mean, (shares * (np.array(variances) + (np.array(means) - new_mean) ** 2)).sum(axis=0)


def _log_mass(left: Floats, right: Floats, mean: Floats, sd: Floats) -> Floats:
    a, b = (left - mean) / sd, (right - mean) / sd
    flip = a + b > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = log_ndtr(b)
        return np.asarray(np.where(b > a, top + np.log1p(-np.exp(np.minimum(log_ndtr(a) - top, 0.0))), -np.inf))
