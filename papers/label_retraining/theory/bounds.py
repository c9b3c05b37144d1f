"""How often the classifier trained on given labels is right: the corrected Theorems 4.1 and 4.2, Corollary 4.4."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from papers.label_retraining.theory.margin import Margin, expect
from papers.label_retraining.theory.mixture import MarginMixture
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["AccuracyBounds", "bound_accuracy", "bound_point_accuracy", "hoeffding_constant", "rows_needed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyBounds:
    """A probability of being right, from below and from above.

    Held as error probabilities, which can be far smaller than what 1 minus them resolves.

    Parameters
    ----------
    least_error
        The error is at least this.
    largest_error
        The error is at most this; above 1 it says nothing.

    Examples
    --------
    >>> print(AccuracyBounds(least_error=0.05, largest_error=0.75))
    0.2500 to 0.9500
    """

    least_error: float
    largest_error: float

    @property
    def low(self) -> float:
        """The accuracy is at least this."""
        return max(0.0, 1 - self.largest_error)

    @property
    def high(self) -> float:
        """The accuracy is at most this."""
        return 1 - self.least_error

    def __str__(self) -> str:
        return f"{self.low:.4f} to {self.high:.4f}"


def hoeffding_constant(margin: Margin) -> float:
    """Return a proved value of the constant c, for a bounded u: (1/2 + E u)^2/(2 (1 + sup u)^2).

    The paper's c is "an absolute constant" that is never given. It stands for P(sum xi_i (1 + u_i) < n(1-2p)/2) <=
    e exp(-c n (1-2p)^2); with this value that holds, even without the factor e.

    References
    ----------
    Hoeffding (1963), Theorem 2. docs/proofs/labels_theory.md, "The constant c".

    Examples
    --------
    >>> from papers.label_retraining.theory import DiscreteMargin, UniformMargin
    >>> hoeffding_constant(DiscreteMargin(values=(0.0,))), hoeffding_constant(UniformMargin(high=2.0))
    (0.125, 0.125)
    """
    if not math.isfinite(margin.largest):
        raise InvalidInput("margin must be bounded: without a largest u no constant is proved here")
    return (0.5 + expect(margin, lambda u: u)) ** 2 / (2 * (1 + margin.largest) ** 2)


def bound_point_accuracy(point: ArrayLike, *, mixture: MarginMixture, rows: int, constant: float) -> AccuracyBounds:
    """Bound P(sign(<x, theta_0>) = y) at one fresh point x.

    With r = |<x, mu>|/|Sigma^(1/2) x|: at most 1 - exp(-5 (1 + sqrt(n)(1-2p))^2 r^2)/(2 sqrt(2 pi)), and at least
    1 - exp(-n (1-2p)^2 r^2/8)/2 - e exp(-c n (1-2p)^2). The printed 4 in place of 8 is a slip.

    Parameters
    ----------
    point
        x, off the boundary.
    mixture
        E u <= 1 and E u^2 <= 2, which a sub-gaussian norm of 1 implies.
    rows
        n.
    constant
        c; :func:`hoeffding_constant` gives a proved one.

    References
    ----------
    Das et al. (2024), Theorem 4.1, corrected. docs/proofs/labels_theory.md.

    Examples
    --------
    >>> from papers.label_retraining.theory import DiscreteMargin
    >>> mixture = MarginMixture.isotropic(dimension=2, separation=1.0, flip=0.3, margin=DiscreteMargin(values=(0.0,)))
    >>> print(bound_point_accuracy([0.12, 1.0], mixture=mixture, rows=4000, constant=0.125))
    0.8420 to 1.0000
    """
    x = np.asarray(point, dtype=np.float64)
    r = abs(mixture.signal(x))
    n, keep = _check(mixture, rows, constant), 1 - 2 * mixture.flip
    wrong = math.exp(-5 * (1 + math.sqrt(n) * keep) ** 2 * r**2) / (2 * math.sqrt(2 * math.pi))
    missed = math.exp(-n * keep**2 * r**2 / 8) / 2 + math.e * math.exp(-constant * n * keep**2)
    return AccuracyBounds(least_error=wrong, largest_error=missed)


def bound_accuracy(mixture: MarginMixture, *, rows: int, constant: float) -> AccuracyBounds:
    """Bound how often theta_0 is right on a fresh sample.

    At most 1 - exp(-160 (1 + sqrt(n)(1-2p))^2 gamma^4/(lambda_min^2 d)) (1 - e^(-d/16))/(4 sqrt(2 pi)), and at least
    1 - exp(-n (1-2p)^2 gamma^4/(16 lambda_max^2 d))/2 - e^(-d/8) - e exp(-c n (1-2p)^2): 16 for the printed 8.

    Parameters
    ----------
    mixture
        E u <= 1 and E u^2 <= 2, which a sub-gaussian norm of 1 implies.
    rows
        n.
    constant
        c; :func:`hoeffding_constant` gives a proved one.

    References
    ----------
    Das et al. (2024), Theorem 4.2, corrected; Remark 4.3 (docs/proofs/labels_theory.md, "When the bounds match").

    Examples
    --------
    >>> from papers.label_retraining.theory import UniformMargin
    >>> mixture = MarginMixture.isotropic(dimension=100, separation=1.0, flip=0.3, margin=UniformMargin(high=2.0))
    >>> print(bound_accuracy(mixture, rows=40_000, constant=0.125))
    0.9908 to 1.0000
    """
    n, keep = _check(mixture, rows, constant), 1 - 2 * mixture.flip
    d, gamma, (least, largest) = mixture.dimension, mixture.separation, mixture.eigenvalues
    reach = 160 * (1 + math.sqrt(n) * keep) ** 2 * gamma**4 / (least**2 * d)
    wrong = math.exp(-reach) * (1 - math.exp(-d / 16)) / (4 * math.sqrt(2 * math.pi))
    missed = math.exp(-n * keep**2 * gamma**4 / (16 * largest**2 * d)) / 2
    missed += math.exp(-d / 8) + math.e * math.exp(-constant * n * keep**2)
    return AccuracyBounds(least_error=wrong, largest_error=missed)


def rows_needed(mixture: MarginMixture, *, error: float, constant: float) -> int:
    """Return a number of rows from which on theta_0 is right more often than 1 - ``error``.

    n >= 16 lambda_max^2 log(1/error) d/((1-2p)^2 gamma^4), and large enough that error > 2 e^(-d/8) + 2 e exp(-c n
    (1-2p)^2). The printed 8 lambda_max is too small by any factor, as lambda_max grows.

    Parameters
    ----------
    mixture
        E u <= 1 and E u^2 <= 2, which a sub-gaussian norm of 1 implies.
    error
        delta, in (2 e^(-d/8), 1).
    constant
        c; :func:`hoeffding_constant` gives a proved one.

    References
    ----------
    Das et al. (2024), Corollary 4.4, corrected.

    Examples
    --------
    >>> from papers.label_retraining.theory import UniformMargin
    >>> mixture = MarginMixture.isotropic(dimension=100, separation=1.0, flip=0.3, margin=UniformMargin(high=2.0))
    >>> rows = rows_needed(mixture, error=0.01, constant=0.125)
    >>> rows, bound_accuracy(mixture, rows=rows, constant=0.125).low > 0.99
    (46052, True)
    """
    _check(mixture, 1, constant)
    d, keep, gamma = mixture.dimension, 1 - 2 * mixture.flip, mixture.separation
    floor = 2 * math.exp(-d / 8)
    if not floor < error < 1:
        raise InvalidInput(f"error must be in ({floor:.3g}, 1) for dimension {d}, got {error!r}")
    signal = 16 * mixture.eigenvalues[1] ** 2 * math.log(1 / error) * d / (keep**2 * gamma**4)
    labels = math.log(2 * math.e / (error - floor)) / (constant * keep**2)
    return max(math.ceil(signal), math.floor(labels) + 1)


def _check(mixture: MarginMixture, rows: int, constant: float) -> int:
    if not 0 < constant < math.inf:
        raise InvalidInput(f"constant must be a finite number > 0, got {constant!r}; see hoeffding_constant")
    first, second = expect(mixture.margin, lambda u: u), expect(mixture.margin, lambda u: u**2)
    if first > 1 + 1e-9 or second > 2 + 1e-9:
        raise InvalidInput(
            f"margin must have E u <= 1 and E u^2 <= 2 for these bounds, got {first:.6g} and {second:.6g}: use a "
            "smaller u, of sub-gaussian norm 1"
        )
    return check_count(rows, name="rows")
