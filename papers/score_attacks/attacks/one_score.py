"""All labels from a single score, at whatever precision that takes."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np

from papers.score_attacks.losses import ArbitraryPrecision
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count
from tacit.scores.attacks.design import Labels
from tacit.scores.attacks.errors import InconsistentAnswer
from tacit.scores.losses import InvertibleLoss, LossReduction
from tacit.scores.losses.precision import Number, Numbers

__all__ = ["labels_from_one_score", "precision_for"]

_SPARE_BITS = 64
_REACH = 30.0  # largest difference of a row where the loss itself allows any


def precision_for(loss: InvertibleLoss, *, rows: int) -> ArbitraryPrecision:
    """Return a precision at which one score tells all labels: log2 K bits a row, and some to spare.

    Examples
    --------
    >>> from tacit.scores.metrics import SKLEARN_FLOOR, LogLoss
    >>> precision_for(LogLoss(floor=SKLEARN_FLOOR).loss, rows=1000).bits
    1074
    """
    bits = check_count(rows, name="rows") * float(np.log2(loss.classes)) + rows.bit_length() + _SPARE_BITS
    return ArbitraryPrecision(bits=int(np.ceil(bits)))


def labels_from_one_score(oracle: Callable[[Numbers], Number], loss: InvertibleLoss, *, rows: int) -> Labels:
    """Recover all labels with one query to a host that computes at :func:`precision_for`.

    Row i has the step R K^(i - rows + 1): the score is one number written in base K.

    Parameters
    ----------
    oracle
        Takes predictions of mpmath numbers, returns the score as one.
    loss
        What the host shows; its clip may not be finer than the predictions need.
    rows
        Number of rows.

    References
    ----------
    Aggarwal et al. (2021), Theorems 2 and 3, in the model of arbitrary precision.

    Examples
    --------
    >>> from tacit.scores.losses import ClippedCrossEntropy
    >>> loss, truth = ClippedCrossEntropy(classes=3), np.arange(40) % 3
    >>> precision = precision_for(loss, rows=40)
    >>> found = labels_from_one_score(lambda p: loss.score(truth, p, precision=precision), loss, rows=40)
    >>> bool((found == truth).all())
    True
    """
    precision = precision_for(loss, rows=rows)
    reach = min(loss.step_range(precision=precision), _REACH)
    if not (reach > 0 and loss.graded):
        raise InvalidInput(f"loss must let differences be chosen, got {loss}")
    k = loss.classes
    with precision.active():
        unit = mpmath.mpf(reach) / mpmath.mpf(k) ** (rows - 1)
        steps = np.array([unit * mpmath.mpf(k) ** i for i in range(rows)], dtype=object)
        predictions = loss.prediction_for(steps, precision=precision)
        table = loss.row_losses(predictions, precision=precision)
        terms = rows if loss.reduction is LossReduction.MEAN else 1
        excess = mpmath.mpf(oracle(predictions)) * terms - mpmath.fsum(table[:, 0])
        number = int(mpmath.nint(excess / unit))
    if not 0 <= number < k**rows:
        raise InconsistentAnswer
    return _digits(number, k, rows)


def _digits(number: int, radix: int, count: int) -> Labels:
    """Return base-``radix`` digits, least first; halving the number keeps long numbers fast."""
    if count <= 64:
        digits = []
        for _ in range(count):
            number, digit = divmod(number, radix)
            digits.append(digit)
        return np.array(digits, dtype=np.int64)
    half = count // 2
    high, low = divmod(number, radix**half)
    return np.concatenate([_digits(low, radix, half), _digits(high, radix, count - half)])
