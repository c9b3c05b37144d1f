"""Predictions with a wanted codomain gap: the paper's constructions, corrected, and the digits that beat them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from papers.score_attacks.bounds import unit_of
from papers.score_attacks.losses import ItakuraSaito
from papers.score_attacks.theory.primes import first_primes
from tacit.privacy.errors import InvalidInput
from tacit.scores.losses import InvertibleLoss, LossReduction, NumberSystem
from tacit.scores.losses.precision import Number, Numbers

__all__ = ["Construction", "Digits", "PowersOfThree", "PrimeLogs", "TripledExponents"]


class Construction(ABC):
    """A way to choose predictions for the asked rows.

    Examples
    --------
    >>> isinstance(Digits(), Construction)
    True
    """

    __slots__ = ()
    noised: ClassVar[bool] = True
    """Whether a gap is promised; without one, sums are distinct but may be as close as they like."""

    def attempts(self) -> Iterator[Construction]:
        """Yield this construction, then ones a little wider, until rounding leaves the gap whole.

        Examples
        --------
        >>> [attempt == PowersOfThree() for attempt in PowersOfThree().attempts()]
        [True]
        """
        yield self

    @abstractmethod
    def predictions(
        self, loss: InvertibleLoss, rows: int, *, asked: int, tau: float, precision: NumberSystem
    ) -> Numbers:
        """Return predictions for ``asked`` of ``rows`` rows, the lightest first.

        Examples
        --------
        >>> from tacit.scores.losses import FLOAT64, SquaredError
        >>> Digits().predictions(SquaredError(), 2, asked=2, tau=1 / 16, precision=FLOAT64)
        array([0.375, 0.25 ])
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits(Construction):
    """Row i weighs u K^i: a score is a number in base K whose digits are the labels.

    The gap is exactly u, 2 tau after reduction, at the least weights any superincreasing design has. For two
    labels this is the corrected Theorem 4: a_i - sum_{j<i} a_j >= 2 N tau for every i, where the printed condition
    a_i > 2^i N tau admits (4, 4) at N tau = 0.9. On the Mahalanobis loss it is the corrected Theorem 8, on an
    additive Bregman divergence the corrected Theorem 7, with M rows asked and the rest neutral Theorem 5.

    Parameters
    ----------
    slack
        Relative excess of the weights over what the gap needs, against rounding.

    References
    ----------
    Aggarwal et al. (2021), Theorems 4, 5, 7 and 8.

    Examples
    --------
    >>> from tacit.scores.losses import FLOAT64, ClippedCrossEntropy
    >>> Digits().predictions(ClippedCrossEntropy(classes=3), 1, asked=1, tau=0.01, precision=FLOAT64).round(6)
    array([[0.340022, 0.333289, 0.326689]])
    """

    slack: float = 0.0

    def attempts(self) -> Iterator[Construction]:
        """Yield this construction, then ones with a slack of up to 2^-22.

        Examples
        --------
        >>> len(list(Digits().attempts()))
        9
        """
        yield self
        for bits in (50, 46, 42, 38, 34, 30, 26, 22):
            yield Digits(slack=max(self.slack, 2.0**-bits))

    def predictions(
        self, loss: InvertibleLoss, rows: int, *, asked: int, tau: float, precision: NumberSystem
    ) -> Numbers:
        """Return the rows that weigh u, u K, u K^2, ...

        Examples
        --------
        >>> from tacit.scores.losses import FLOAT64, SigmoidCrossEntropy
        >>> Digits().predictions(SigmoidCrossEntropy(), 3, asked=3, tau=0.5, precision=FLOAT64)
        array([ -3.,  -6., -12.])
        """
        with precision.active():
            unit = precision.array(unit_of(loss, rows, tau=tau)) * precision.array(1 + self.slack)
            weights = unit * precision.array([loss.classes**i for i in range(asked)])
            return loss.prediction_for(weights, precision=precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowersOfThree(Construction):
    """Theorem 3: probabilities in proportion to 3^(2^((n-1)K + k) N tau), k = 1..K.

    k = 0..K-1, as labels count, separates by tau ln 3 only. With two labels a row costs 2^(2n), against 2^n for
    :class:`TripledExponents` and :class:`Digits`.

    References
    ----------
    Aggarwal et al. (2021), Theorem 3.

    Examples
    --------
    >>> from tacit.scores.losses import FLOAT64, SoftmaxCrossEntropy
    >>> PowersOfThree().predictions(SoftmaxCrossEntropy(), 1, asked=1, tau=1.0, precision=FLOAT64).round(4)
    array([[0.    , 2.1972]])
    """

    def predictions(
        self, loss: InvertibleLoss, rows: int, *, asked: int, tau: float, precision: NumberSystem
    ) -> Numbers:
        """Return rows whose losses are minus powers of two.

        Examples
        --------
        >>> from tacit.scores.losses import FLOAT64, ClippedCrossEntropy
        >>> PowersOfThree().predictions(ClippedCrossEntropy(), 1, asked=1, tau=1.0, precision=FLOAT64).round(6)
        array([0.9])
        """
        with precision.active():
            unit = _unit(loss, rows, tau, precision) * _log(3, precision)
            powers = [[2 ** (n * loss.classes + k + 1) for k in range(loss.classes)] for n in range(asked)]
            return loss.prediction_for(-unit * precision.array(powers), precision=precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class TripledExponents(Construction):
    """Theorem 14 for the binary cross-entropy, Corollary 2 for the Itakura-Saito loss: a logit of 2^i N tau ln 3.

    Theorem 14: theta_i = x/(1 + x) with x = 3^(2^i N tau); read literally, 3^(2^i) N tau, it collides at
    N tau = 1/27. Corollary 2 is 1 - theta: differences 2 sinh s - s grow faster than s.

    References
    ----------
    Aggarwal et al. (2021), Theorem 14 and Corollary 2.

    Examples
    --------
    >>> from tacit.scores.losses import FLOAT64, ClippedCrossEntropy
    >>> TripledExponents().predictions(ClippedCrossEntropy(), 2, asked=2, tau=0.25, precision=FLOAT64)
    array([0.75, 0.9 ])
    """

    def predictions(
        self, loss: InvertibleLoss, rows: int, *, asked: int, tau: float, precision: NumberSystem
    ) -> Numbers:
        """Return theta of Theorem 14, or 1 - theta for Itakura-Saito.

        Examples
        --------
        >>> from papers.score_attacks.losses import ItakuraSaito
        >>> from tacit.scores.losses import FLOAT64
        >>> TripledExponents().predictions(ItakuraSaito(), 2, asked=2, tau=0.25, precision=FLOAT64).round(12)
        array([0.25, 0.1 ])
        """
        if loss.classes != 2:
            raise InvalidInput(f"classes must be 2 for TripledExponents(), got {loss.classes}; use PowersOfThree()")
        with precision.active():
            powers = precision.array([2 ** (i + 1) for i in range(asked)])
            logits = _unit(loss, rows, tau, precision) * _log(3, precision) * powers
            if not isinstance(loss, ItakuraSaito):
                return loss.prediction_for(-logits, precision=precision)
            one = precision.array(1)
            theta: Numbers = one / (one + precision.exp(logits))
            return theta


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimeLogs(Construction):
    """Loss differences ln(p)/N of distinct primes: sums are distinct by unique factorization, without a margin.

    Corollary 3 for two labels; with K labels, K - 1 primes a row against label 0. For scores without noise.

    References
    ----------
    Aggarwal et al. (2020); Aggarwal et al. (2021), Theorem 6, Corollary 3 and Appendix E.

    Examples
    --------
    >>> from tacit.scores.losses import FLOAT64, SquaredError
    >>> PrimeLogs().predictions(SquaredError(), 5, asked=5, tau=0.0, precision=FLOAT64).round(6)
    array([0.430685, 0.390139, 0.339056, 0.305409, 0.26021 ])
    """

    noised: ClassVar[bool] = False

    def predictions(
        self,
        loss: InvertibleLoss,
        rows: int,
        *,
        asked: int,
        tau: float,  # noqa: ARG002
        precision: NumberSystem,
    ) -> Numbers:
        """Return rows whose differences are ln(p)/N.

        Examples
        --------
        >>> from papers.score_attacks.losses import NormLike
        >>> from tacit.scores.losses import FLOAT64
        >>> PrimeLogs().predictions(NormLike(alpha=4.0), 2, asked=2, tau=0.0, precision=FLOAT64).round(6)
        array([0.442491, 0.409439])
        """
        more = loss.classes - 1
        with precision.active():
            logs = precision.log(precision.array(first_primes(asked * more))) / precision.array(rows)
            zeros = precision.array(np.zeros((asked, 1)))
            return loss.prediction_for(np.hstack([zeros, logs.reshape(asked, more)]), precision=precision)


def _unit(loss: InvertibleLoss, rows: int, tau: float, precision: NumberSystem) -> Number:
    if not 0 < tau < math.inf:
        raise InvalidInput(f"tau must be a finite number > 0, got {tau!r}")
    return precision.array(tau) * precision.array(rows if loss.reduction is LossReduction.MEAN else 1)


def _log(value: int, precision: NumberSystem) -> Number:
    return precision.log(precision.array([value]))[0]
