"""Divergences as losses: Itakura-Saito, generalized Kullback-Leibler, norm-like, any additive Bregman."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from papers.score_attacks.losses.functions import LEAST_LOGIT, Function, derivative, evaluate, solve_odd
from tacit.privacy.errors import InvalidInput
from tacit.scores.losses.base import InvertibleLoss
from tacit.scores.losses.clip import NoClip, ProbabilityClip, probability_table
from tacit.scores.losses.cross_entropy import ClippedCrossEntropy
from tacit.scores.losses.precision import FLOAT64, Numbers, NumberSystem

__all__ = ["Bregman", "GeneralizedKL", "ItakuraSaito", "LinearlyDecomposable", "NormLike", "linearly_decomposable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SolvedLoss(InvertibleLoss):
    """A binary loss whose predictions are found by solving l(1) - l(0) = a, a function of t that is monotone.

    Parameters
    ----------
    clip
        How the host clips t.
    """

    clip: ProbabilityClip = field(default_factory=NoClip)

    @abstractmethod
    def _difference(self, t: Numbers, precision: NumberSystem) -> Numbers:
        """Return l(1) - l(0) at t; opposite at 1 - t."""

    def _range(self, precision: NumberSystem) -> float:
        least = math.exp(max(self.clip.log_floor(precision=precision), LEAST_LOGIT))
        return abs(float(self._difference(np.array([least]), FLOAT64)[0]))

    def _invert(self, offsets: Numbers, precision: NumberSystem) -> Numbers:
        one = precision.array(1)
        sign = int(np.sign(self._difference(np.array([0.25]), FLOAT64)[0]))
        s = solve_odd(
            lambda t, m: sign * self._difference(t, m),
            sign * offsets[:, 1],
            log_floor=self.clip.log_floor(precision=precision),
            precision=precision,
        )
        t = one / (one + precision.exp(s))
        return np.stack([one - t, t], axis=1)

    def _slopes(self) -> NDArray[np.float64]:
        s = np.linspace(0.0, min(-self.clip.log_floor(), 30.0), 257)
        return np.diff(self._difference(1 / (1 + np.exp(s)), FLOAT64))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearlyDecomposable(_SolvedLoss):
    """A binary loss l(1) = g(t), l(0) = g(1 - t): a difference is g(t) - g(1 - t).

    Parameters
    ----------
    g
        A function on (0, 1) written in NumPy, with g(t) - g(1 - t) strictly monotone.
    clip
        How the host clips t.

    References
    ----------
    Aggarwal et al. (2021), equations (1) and (5), Theorem 4 (false as printed; see docs/proofs/scores.md).

    Examples
    --------
    >>> loss = LinearlyDecomposable(g=lambda t: -np.log(t))
    >>> loss.row_losses([0.25]).round(4)
    array([[0.2877, 1.3863]])
    """

    g: Function

    def __post_init__(self) -> None:
        self._check_binary(use="CrossEntropy")
        steps = self._slopes()
        if not (np.all(steps > 0) or np.all(steps < 0)):
            raise InvalidInput(
                "g must make g(t) - g(1 - t) strictly monotone on (0, 1/2], got a function that does not"
            )

    def _difference(self, t: Numbers, precision: NumberSystem) -> Numbers:
        ones = evaluate(self.g, t, precision=precision)
        zeros = evaluate(self.g, precision.array(1) - t, precision=precision)
        difference: Numbers = ones - zeros
        return difference

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        p = probability_table(predictions, classes=2, precision=precision)
        return evaluate(self.g, self.clip.clip(p, precision=precision), precision=precision)


def linearly_decomposable(g: Function, *, clip: ProbabilityClip | None = None) -> LinearlyDecomposable:
    """Make a binary loss from the function g: (1/N)(sum of g(t_i) over ones + sum of g(1 - t_i) over zeros).

    Examples
    --------
    >>> linearly_decomposable(lambda t: (1 - t) ** 2).prediction_for([0.6]).round(12)
    array([0.2])
    """
    return LinearlyDecomposable(g=g, clip=NoClip() if clip is None else clip)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bregman(_SolvedLoss):
    """The Bregman divergence of F(v) = h(v_1) + h(v_2) from (y, 1 - y) to (t, 1 - t).

    A difference l(1) - l(0) is h'(1 - t) - h'(t).

    Parameters
    ----------
    h
        A strictly convex function written in NumPy; it is differentiated exactly.
    ends
        h(0) + h(1), which no label moves; 0 drops that constant, where it is infinite.
    clip
        How the host clips t.

    References
    ----------
    Aggarwal et al. (2021), Theorem 7, whose A_i has the wrong sign in it.

    Examples
    --------
    >>> loss = Bregman(h=lambda v: v**2, ends=1.0)
    >>> losses = loss.row_losses([0.2])
    >>> losses.round(12)
    array([[0.08, 1.28]])
    """

    h: Function
    ends: float = 0.0

    def __post_init__(self) -> None:
        self._check_binary(use="CrossEntropy or SquaredError")
        if not np.all(self._slopes() > 0):
            raise InvalidInput("h must be strictly convex on (0, 1), got a function whose derivative does not increase")

    def _difference(self, t: Numbers, precision: NumberSystem) -> Numbers:
        at_zero = derivative(self.h, precision.array(1) - t, precision=precision)
        difference: Numbers = at_zero - derivative(self.h, t, precision=precision)
        return difference

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        table = probability_table(predictions, classes=2, precision=precision)
        q = self.clip.clip(table, precision=precision)
        slopes = derivative(self.h, q, precision=precision)
        common = (slopes * q - evaluate(self.h, q, precision=precision)).sum(axis=1, keepdims=True)
        losses: Numbers = precision.array(self.ends) + common - slopes
        return losses


@dataclass(frozen=True, slots=True, kw_only=True)
class NormLike(_SolvedLoss):
    """The norm-like divergence, Bregman's with h(v) = v^alpha.

    A difference is alpha ((1 - t)^(alpha - 1) - t^(alpha - 1)), and R = alpha without a clip.

    Parameters
    ----------
    alpha
        At least 2; 2 is twice the squared Euclidean loss.
    clip
        How the host clips t.

    References
    ----------
    Aggarwal et al. (2021), equation (11).

    Examples
    --------
    >>> NormLike(alpha=4.0).prediction_for([1.0]).round(6)
    array([0.338907])
    """

    alpha: float

    def __post_init__(self) -> None:
        self._check_binary(use="SquaredError")
        if not 2 <= self.alpha < math.inf:
            raise InvalidInput(f"alpha must be a finite number >= 2, got {self.alpha!r}")

    def _difference(self, t: Numbers, precision: NumberSystem) -> Numbers:
        power = precision.array(self.alpha - 1)
        difference: Numbers = precision.array(self.alpha) * ((precision.array(1) - t) ** power - t**power)
        return difference

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        table = probability_table(predictions, classes=2, precision=precision)
        q = self.clip.clip(table, precision=precision)
        alpha, one = precision.array([self.alpha, 1])
        common = ((alpha - one) * q**alpha).sum(axis=1, keepdims=True)
        losses: Numbers = one + common - alpha * q ** (alpha - one)
        return losses


@dataclass(frozen=True, slots=True, kw_only=True)
class ItakuraSaito(_SolvedLoss):
    """The paper's Itakura-Saito loss, l(y) = 1/q + ln q - 1 with q = t for label 1 and 1 - t for 0.

    The divergence has one more term, infinite for every label; the paper drops it and so do we. With
    s = ln((1 - t)/t) a difference is 2 sinh s - s, convex in s > 0.

    Parameters
    ----------
    clip
        How the host clips t.

    References
    ----------
    Aggarwal et al. (2021), equation (8) and Corollary 2.

    Examples
    --------
    >>> loss = ItakuraSaito()
    >>> loss.prediction_for([1.0]).round(6)
    array([0.307018])
    """

    def __post_init__(self) -> None:
        self._check_binary(use="CrossEntropy")

    def _difference(self, t: Numbers, precision: NumberSystem) -> Numbers:
        one = precision.array(1)
        difference: Numbers = one / t - one / (one - t) + precision.log(t) - precision.log1p(-t)
        return difference

    def _range(self, precision: NumberSystem) -> float:
        unbounded = math.isinf(self.clip.log_floor(precision=precision))
        return math.inf if unbounded else _SolvedLoss._range(self, precision)

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        table = probability_table(predictions, classes=2, precision=precision)
        q, one = self.clip.clip(table, precision=precision), precision.array(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            losses: Numbers = one / q + precision.log(q) - one
        return losses


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralizedKL(ClippedCrossEntropy):
    """The generalized Kullback-Leibler divergence from the one-hot label to a row q of K numbers in [0, 1].

    l(y) = -ln q_y + sum_k q_k - 1; on rows that sum to 1, and so on the rows of :meth:`prediction_for`, it is
    the cross-entropy.

    References
    ----------
    Aggarwal et al. (2021), Appendix F.1.

    Examples
    --------
    >>> GeneralizedKL().row_losses([[1.0, 0.5]]).round(4)
    array([[0.5   , 1.1931]])
    """

    def _losses(self, predictions: Numbers, precision: NumberSystem) -> Numbers:
        table = probability_table(predictions, classes=self.classes, precision=precision)
        q = self.clip.clip(table, precision=precision)
        excess = q.sum(axis=1, keepdims=True) - precision.array(1)
        losses: Numbers = excess - precision.log(q)
        return losses
