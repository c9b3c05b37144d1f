"""The codomain gap: the least difference between the scores of two labelings, exactly."""

from __future__ import annotations

from fractions import Fraction

from numpy.typing import ArrayLike

from papers.score_attacks.losses.precision import exact_fraction
from papers.score_attacks.separation.search import smallest_difference
from tacit.scores.losses import FLOAT64, InvertibleLoss, LossReduction, NumberSystem
from tacit.scores.losses.precision import Numbers

__all__ = ["codomain_gap", "gap_of_losses"]


def codomain_gap(loss: InvertibleLoss, predictions: ArrayLike, *, precision: NumberSystem = FLOAT64) -> Fraction:
    """Return the least difference between the scores of two different labelings, exactly.

    Row losses are computed in ``precision`` and from there on nothing is rounded. A row that outweighs all smaller
    ones together is settled by one subtraction; what remains is searched from both ends.

    Parameters
    ----------
    loss
        The host's loss.
    predictions
        One submission.
    precision
        The number system of the row losses.

    Returns
    -------
    Fraction
        The gap of the reduced score; 0 if two labelings collide.

    Raises
    ------
    TooManyOverlaps
        If more than 26 rows of similar size overlap: beyond, an exact answer takes too long.

    References
    ----------
    Aggarwal et al. (2021), Definition 1 and Proposition 1: labels are recovered from every score with noise below
    tau if and only if the gap is at least 2 tau.

    Examples
    --------
    >>> from tacit.scores.losses import SquaredError
    >>> codomain_gap(SquaredError(), [0.375, 0.25])
    Fraction(1, 8)
    >>> codomain_gap(SquaredError(), [0.2, 0.2])
    Fraction(0, 1)
    """
    table = loss.row_losses(predictions, precision=precision)
    return gap_of_losses(table) / (len(table) if loss.reduction is LossReduction.MEAN else 1)


def gap_of_losses(table: Numbers) -> Fraction:
    """Return the least difference between sums of row losses over two different labelings.

    Parameters
    ----------
    table
        (rows, classes): floats, gmpy2.mpfr or mpmath.mpf, each taken as the rational it is.

    Examples
    --------
    >>> import numpy as np
    >>> gap_of_losses(np.array([[0.0, 3.0], [0.0, 5.0], [0.0, 6.0], [0.0, 7.0]]))
    Fraction(1, 1)
    """
    exact = [[exact_fraction(value) for value in row] for row in table]
    scale = max(value.denominator for row in exact for value in row)  # powers of two: the largest serves all
    integers = [[value.numerator * (scale // value.denominator) for value in row] for row in exact]
    return Fraction(smallest_difference(integers), scale)
