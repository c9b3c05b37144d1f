"""Predictions whose scores tell every labeling apart under noise below tau, or the bound that forbids them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from papers.score_attacks.bounds import labels_per_query, unit_of
from papers.score_attacks.separation.construct import Construction, Digits
from papers.score_attacks.separation.gap import gap_of_losses
from papers.score_attacks.separation.search import TooManyOverlaps
from papers.score_attacks.theory.limits import discrete_limit
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.losses import FLOAT64, InvertibleLoss, LossReduction, NumberSystem
from tacit.scores.losses.precision import Numbers

__all__ = ["Separation", "separate"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Separation:
    """A submission whose score tells the labels of its first ``asked`` rows.

    Parameters
    ----------
    predictions
        Of all rows; rows beyond ``asked`` are neutral.
    asked
        How many labels the score tells.
    gap
        The codomain gap over the labels of the asked rows, exactly; None where too many rows overlap to tell,
        which only a construction without a margin can cause.
    tau
        The noise it withstands: less than half the gap.

    Examples
    --------
    >>> from tacit.scores.losses import SquaredError
    >>> separate(SquaredError(), 2, 1 / 16)
    Separation(predictions=array([0.375, 0.25 ]), asked=2, gap=Fraction(1, 8), tau=0.0625)
    """

    predictions: Numbers
    asked: int
    gap: Fraction | None
    tau: float


def separate(
    loss: InvertibleLoss,
    rows: int,
    tau: float,
    *,
    asked: int | None = None,
    construction: Construction | None = None,
    precision: NumberSystem = FLOAT64,
) -> Separation:
    """Return predictions for which the scores of any two labelings differ by at least 2 tau.

    Parameters
    ----------
    loss
        The host's loss.
    rows
        N, the rows the host scores.
    tau
        The noise stays below this; 0 with ``construction=PrimeLogs()``, for exact scores.
    asked
        M, the labels to tell, all by default; the other rows are neutral.
    construction
        :class:`Digits` by default, which needs the least range; the paper's constructions are here too.
    precision
        The number system of the predictions and of the host's row losses.

    Raises
    ------
    InvalidInput
        If no prediction can separate, or this construction cannot; the bound is named.

    References
    ----------
    Aggarwal et al. (2021), Proposition 1, Theorems 3 to 8 and 11 to 14, Corollaries 2 and 3.

    Examples
    --------
    >>> from tacit.scores.losses import ClippedCrossEntropy, MachineEpsilon, SquaredError
    >>> found = separate(ClippedCrossEntropy(clip=MachineEpsilon()), 100, 1e-4, asked=11)
    >>> found.gap >= 2 * Fraction(found.tau)
    True
    >>> separate(SquaredError(), 100, 1e-4, asked=9)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: asked must be at most 7: no prediction tells 9 labels apart at tau = 0.0001,
    by the isoperimetric bound C(m, floor(m/2)) < R/u + 1/2 with R = 1, u = 0.02
    """
    n = check_count(rows, name="rows")
    m = n if asked is None else check_count(asked, name="asked")
    if m > n:
        raise InvalidInput(f"asked must be at most rows = {n}, got {m}")
    if not loss.graded:
        return _hard_label(loss, n, tau, precision)
    how = Digits() if construction is None else construction
    if how.noised:
        _check_bounds(loss, n, m, tau, how, precision)
    elif tau != 0:
        raise InvalidInput(f"tau must be 0 for {how}, which promises no margin, got {tau!r}; use Digits()")
    return _separation(loss, n, m, tau, how, precision)


def _hard_label(loss: InvertibleLoss, rows: int, tau: float, precision: NumberSystem) -> Separation:
    if discrete_limit(rows) < unit_of(loss, rows, tau=tau):
        raise InvalidInput(
            f"rows must be 1 and 2 tau at most 1 for {loss}: two labelings that each differ from a predicted one in "
            f"one row cost the same (Theorem 11), got {rows} rows and tau = {tau:.6g}"
        )
    predictions = loss.prediction_for([1.0], precision=precision)
    return Separation(predictions=predictions, asked=1, gap=_gap(loss, predictions, rows, precision), tau=tau)


def _check_bounds(
    loss: InvertibleLoss, rows: int, asked: int, tau: float, how: Construction, precision: NumberSystem
) -> None:
    limits = labels_per_query(loss, rows, tau=tau, precision=precision)
    if asked > limits.upper_bound:
        raise InvalidInput(
            f"asked must be at most {limits.upper_bound}: no prediction tells {asked} labels apart at tau = {tau:.6g}, "
            f"by the {limits.binding} bound {limits.formulas[limits.binding]} with "
            f"R = {loss.difference_range(precision=precision):.6g}, u = {unit_of(loss, rows, tau=tau):.6g}"
        )
    if isinstance(how, Digits) and asked > limits.digits:
        raise InvalidInput(
            f"asked must be at most {limits.digits}, which digits tell apart at tau = {tau:.6g} (u K^(m-1) <= "
            f"{loss.step_range(precision=precision):.6g}), got {asked}; no design beats {limits.upper_bound}"
        )


def _separation(
    loss: InvertibleLoss, rows: int, asked: int, tau: float, how: Construction, precision: NumberSystem
) -> Separation:
    gap: Fraction | None = None
    for attempt in how.attempts():
        predictions = attempt.predictions(loss, rows, asked=asked, tau=tau, precision=precision)
        gap = _gap(loss, predictions, rows, precision)
        if _enough(gap, tau):
            neutral = loss.neutral(rows - asked, precision=precision)
            filled = np.concatenate([predictions, neutral.reshape(-1, *predictions.shape[1:])])
            return Separation(predictions=filled, asked=asked, gap=gap, tau=tau)
    raise InvalidInput(
        f"tau must be larger, or asked below {asked}: {precision} rounds these losses so that the gap is "
        f"{float(gap or 0):.6g} and not 2 tau = {2 * tau:.6g}"
    )


def _enough(gap: Fraction | None, tau: float) -> bool:
    if tau == 0:
        return gap is None or gap > 0
    return gap is not None and gap >= 2 * Fraction(tau)


def _gap(loss: InvertibleLoss, predictions: Numbers, rows: int, precision: NumberSystem) -> Fraction | None:
    try:
        sums = gap_of_losses(loss.row_losses(predictions, precision=precision))
    except TooManyOverlaps:
        return None
    return sums / rows if loss.reduction is LossReduction.MEAN else sums
