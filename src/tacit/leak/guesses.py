"""From label guesses to a leak: K classes, and the attack may abstain."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.epsilon import ONE_RUN, EpsilonBound
from tacit.leak.intervals import Interval, check_level, clopper_pearson, difference_interval
from tacit.leak.measure import Leak
from tacit.leak.one_run import epsilon_one_run
from tacit.privacy.errors import InvalidInput

__all__ = ["ABSTAIN", "leak_from_guesses"]

ABSTAIN = -1
"""The guess of an attack that abstains."""


def leak_from_guesses(
    guesses: ArrayLike,
    truth: ArrayLike,
    *,
    baseline: float | ArrayLike,
    level: float = 0.95,
    delta: float = 0.0,
) -> Leak:
    """Measure an attack that guesses labels from a release.

    The rate is the share of correct guesses among those made. With a number as baseline, the bound on epsilon uses
    that the odds of a guess can grow by at most e^epsilon over the baseline's; it holds for guesses about one run, and
    is that of :func:`tacit.leak.epsilon_one_run` with the baseline as prior. With a baseline attacker's guesses the
    advantage is paired, row by row, and there is no bound on epsilon: a baseline that guesses badly would make any
    release look bad.

    Parameters
    ----------
    guesses
        A class 0, 1, ... per row, or ``ABSTAIN`` (-1).
    baseline
        The best rate without the release on the rows guessed (for the bound: the largest probability that any of
        those rows' labels had beforehand), or the guesses of a baseline attacker.
    delta
        The delta of the guarantee under test; if it is > 0 the number of guesses is fixed beforehand.

    Examples
    --------
    >>> truth = [0, 1, 2, 1] * 50
    >>> leak = leak_from_guesses(truth, truth, baseline=[0] * 200)
    >>> leak.advantage, leak.method
    (0.75, 'Clopper-Pearson; the advantage from rows that only one of the two got right, half of the error each')
    >>> leak_from_guesses([2, ABSTAIN, 0], [2, 1, 1], baseline=0.4).trials
    2
    """
    labels = _labels(truth, "truth", least=0)
    guessed = _same_rows(_labels(guesses, "guesses", least=ABSTAIN), labels, "guesses")
    made = guessed != ABSTAIN
    if not made.any():
        raise InvalidInput("must have at least one guess, got only abstentions", field="guesses")
    right = guessed[made] == labels[made]
    level = check_level(level)
    if np.ndim(baseline) == 0:
        return _against_number(right, len(labels), _rate(baseline), level=level, delta=delta)
    others = _same_rows(_labels(baseline, "baseline", least=ABSTAIN), labels, "baseline")[made]
    if np.any(others == ABSTAIN):
        raise InvalidInput("must guess every row that the attack guesses: fill its abstentions", field="baseline")
    return _against_attacker(right, others == labels[made], level=level)


def _against_number(right: NDArray[np.bool_], examples: int, baseline: float, *, level: float, delta: float) -> Leak:
    hits, made = int(right.sum()), len(right)
    interval = clopper_pearson(hits, made, level=level)
    value = epsilon_one_run(hits, made, examples, delta=delta, level=level, prior=baseline)
    return Leak(
        right=hits,
        trials=made,
        baseline=baseline,
        examples=examples,
        interval=interval,
        advantage_interval=Interval(low=interval.low - baseline, high=interval.high - baseline, level=level),
        method="Clopper-Pearson",
        rate_of="guesses are correct",
        baseline_of="without the release",
        bound=EpsilonBound(value=value, delta=delta, level=level, method=ONE_RUN),
    )


def _against_attacker(right: NDArray[np.bool_], others: NDArray[np.bool_], *, level: float) -> Leak:
    hits, made, baseline_hits = int(right.sum()), len(right), int(others.sum())
    # the difference of the rates is P(only the attack right) - P(only the baseline right)
    won, lost = int((right & ~others).sum()), int((others & ~right).sum())
    return Leak(
        right=hits,
        trials=made,
        baseline=baseline_hits / made,
        baseline_right=baseline_hits,
        baseline_trials=made,
        interval=clopper_pearson(hits, made, level=level),
        advantage_interval=difference_interval((won, made), (lost, made), level=level),
        method="Clopper-Pearson; the advantage from rows that only one of the two got right, half of the error each",
        rate_of="guesses are correct",
        baseline_of="for an attacker without the release",
    )


def _rate(baseline: float | ArrayLike) -> float:
    try:
        rate = float(baseline)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        rate = np.nan
    if not 0 < rate < 1:
        raise InvalidInput(f"must be a rate in (0, 1) or one guess per row, got {baseline!r}", field="baseline")
    return rate


def _labels(values: ArrayLike, name: str, *, least: int) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise InvalidInput(f"{name} must be one class per row, got shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int((~np.isfinite(array)).sum())
        raise InvalidInput(f"{name} must not contain NaN or infinity, got {bad} among {len(array)} rows")
    if array.dtype.kind not in "biuf" or np.any(array != np.floor(array)) or array.min() < least:
        also = " or -1 to abstain" if least == ABSTAIN else ""
        raise InvalidInput(f"{name} must be classes 0, 1, 2, ...{also}, got {array[:5].tolist()}")
    return array.astype(np.int64)


def _same_rows(array: NDArray[np.int64], truth: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    if len(array) != len(truth):
        raise InvalidInput(f"{name} must have one entry for each of the {len(truth)} labels, got {len(array)}")
    return array
