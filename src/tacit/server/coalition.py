"""What all teams together learn from answers on the same rows, and how many answers keep that within a limit."""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, ndtr

from tacit.privacy.errors import InvalidInput
from tacit.scores.attacks import plan_attack
from tacit.scores.metrics import Metric
from tacit.scores.policies import Policy

__all__ = ["answer_noise", "answers_within", "bits_of", "points_gained"]

_NODES, _WEIGHTS = hermegauss(61)
_LEAST_NOISE = 1e-6
_MOST = 10**7


def answer_noise(metric: Metric, policy: Policy, *, rows: int) -> float | None:
    """Return the variance of an answer in units of what one label moves; None if that is not known."""
    moved = metric.sensitivity(rows)
    if metric.reveals is None or moved is None or (metric.classes > 2 and not metric.additive):
        return None
    low, high, scale = policy.interval(sum(metric.bounds) / 2, metric=metric, rows=rows)
    return max(_LEAST_NOISE, ((high - low) ** 2 / 12 + 2 * scale**2) / moved**2)


def points_gained(answers: int, *, rows: int, noise: float, rarest: float) -> float:
    r"""Return the points of balanced advantage that so many answers are expected to give on all rows.

    An attacker who predicts a class at random for k rows sees each of their labels as if through Gaussian noise, at
    the distance d with

    .. math:: d^2 = \frac{Q}{s^2 + k v}

    between its two values, where Q is the number of answers, :math:`s^2` their noise and v the variance of a label
    that is left, the fixed point of message passing. The advantage is then :math:`2 \Phi(d/2) - 1`. The attacker
    chooses k. For exact answers and balanced classes this is about :math:`\sqrt{2Q / (\pi n)}`.

    Parameters
    ----------
    noise
        The variance of an answer, in units of what one label moves.
    rarest
        The share of the rarest class, whose labels gain most.

    Examples
    --------
    >>> round(points_gained(10, rows=660, noise=0.0, rarest=0.5), 1)
    9.9
    >>> round(points_gained(10, rows=660, noise=0.0, rarest=0.01), 1)
    47.0
    """
    sizes = np.unique(np.geomspace(1, rows, 40).astype(int))
    gains = (_advantage(answers, int(size), noise=noise, rarest=rarest) * int(size) / rows for size in sizes)
    return 100 * max(gains)


def answers_within(points: float, metric: Metric, policy: Policy, *, rows: int, rarest: float) -> int:
    r"""Return how many answers on the same rows keep all who see them within these points.

    The least of two numbers: of :func:`points_gained`, and of the designs that read labels for certain
    (:func:`tacit.scores.attacks.plan_attack`), which are stronger where an answer has many digits. Where neither is
    known, as for AUC and F1, the answers are counted by what they can hold (:func:`bits_of`): for independent labels
    whose classes all have at least the share p, Q answers of b bits give an advantage a with

    .. math:: Q b \ln 2 \ge 2 p (1 - p) n a^2

    by Pinsker's inequality. That is a proof and not a forecast, and allows far fewer answers.
    """
    noise = answer_noise(metric, policy, rows=rows)
    if noise is None:
        held = bits_of(metric, policy, rows=rows) * math.log(2)
        return math.floor(2 * rarest * (1 - rarest) * rows * (points / 100) ** 2 / held)
    low, high = 0, min(_MOST, _certain(points, metric, policy, rows=rows))
    while low < high:
        middle = (low + high + 1) // 2
        if points_gained(middle, rows=rows, noise=noise, rarest=rarest) <= points:
            low = middle
        else:
            high = middle - 1
    return low


def bits_of(metric: Metric, policy: Policy, *, rows: int) -> float:
    """Return how many bits of the labels one answer can hold: of its decimals, or of Laplace noise on its range."""
    low, high = metric.bounds
    middle = policy.interval((low + high) / 2, metric=metric, rows=rows)
    step = max(middle.high - middle.low, 2 * middle.scale)
    if policy.error == 0 or not step > 0:
        raise InvalidInput(
            f"must be rounded for {metric.title} with together: an exact score may hold any number of labels",
            field="policy",
        )
    first, last = sorted(map(metric.mean_of, (low, high)))
    return math.log2(1 + (last - first) / step)


def _certain(points: float, metric: Metric, policy: Policy, *, rows: int) -> int:
    """Return with how many answers no known design is certain of more labels than these points are."""
    allowed = math.floor(points / 100 * rows)
    if allowed >= rows or policy.error is None:
        return _MOST
    try:
        return plan_attack(metric, rows=allowed + 1, policy=policy).queries - 1
    except InvalidInput:  # answers hide single labels, or no design is known
        return _MOST


def _advantage(answers: int, rows: int, *, noise: float, rarest: float) -> float:
    """Return the balanced advantage on the rows that are asked for."""
    left = rarest * (1 - rarest)
    for _ in range(60):
        precision = answers / (max(noise, _LEAST_NOISE) + rows * left)
        new = _variance_left(precision, rarest)
        if abs(new - left) <= 1e-3 * left:
            break
        left = new
    return float(2 * ndtr(math.sqrt(precision) / 2) - 1)


def _variance_left(precision: float, rarest: float) -> float:
    """Return the mean variance of a 0/1 label that was seen through Gaussian noise of this precision."""
    prior, root = math.log(rarest / (1 - rarest)), math.sqrt(precision)
    rest = 0.0
    for sign, share in ((1, rarest), (-1, 1 - rarest)):
        belief = expit(prior + sign * precision / 2 + root * _NODES)
        rest += share * float((belief * (1 - belief)) @ _WEIGHTS) / float(_WEIGHTS.sum())
    return rest
