"""Flag the rows whose odds of a class a release raises the most, and count who is flagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.intervals import Interval, check_level, lower_limit, upper_limit
from tacit.leak.odds import OddsChange
from tacit.privacy.errors import InvalidInput

__all__ = ["odds_changes", "worst_first"]

Array = NDArray[np.float64]
Rows = NDArray[np.bool_]

_SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)  # of all rows that a threshold may flag
_FEW = 20  # rows below which classes are pooled
_MANY = 10  # numbers above which quartiles are compared
_ROUNDS = 100
_HEAVIEST = 20.0  # the largest weight of a row, in mean weights
_CERTAIN = 1e-12  # beliefs are kept this far from 0 and 1
_CLOSE = 1e-6  # to a sum of 1
_DECIMALS = 6  # of a change of log odds: equal changes that are rounded apart would split the rows by their features


def odds_changes(
    before: ArrayLike,
    after: ArrayLike,
    truth: ArrayLike,
    *,
    names: Sequence[object],
    level: float = 0.95,
) -> tuple[OddsChange, ...]:
    """Measure how much a release changes the odds of each class, worst class first.

    Rows are flagged where logit after - logit before reaches a threshold, which is chosen on the other half of the
    rows among those that flag 50% to 0.1% of them, by the best lower end of the change. The other rows are weighted by
    their odds before, at most 20 times the mean; rows of the class with larger odds count less instead. The error is
    shared equally by the classes, and within a class by the two rates.

    Parameters
    ----------
    before, after
        P(class) before and after the release, (rows, classes); ``before`` may be one row for all.
    truth
        The true class of each row, as its number.
    names
        The classes; of many numbers, quartiles are compared.
    level
        Confidence of all intervals at once, for rows whose flags are independent.

    References
    ----------
    docs/proofs/odds_change.md.
    """
    beliefs, codes = np.asarray(after, dtype=np.float64), np.asarray(truth, dtype=np.int64)
    if beliefs.shape != (len(codes), len(names)):
        raise InvalidInput(f"must have the shape {(len(codes), len(names))}, got {beliefs.shape}", field="after")
    prior = np.broadcast_to(np.asarray(before, dtype=np.float64), beliefs.shape)
    for name, chances in (("before", prior), ("after", beliefs)):
        if not np.isfinite(chances).all():
            raise InvalidInput("must be probabilities, got NaN or infinity", field=name)
        if chances.size and not -_CLOSE <= chances.min() <= chances.max() <= 1 + _CLOSE:
            raise InvalidInput(f"must be probabilities, got {chances.min():.4g} to {chances.max():.4g}", field=name)
        if (np.abs(chances.sum(axis=1) - 1) > _CLOSE).any():
            raise InvalidInput("must be probabilities of all classes, which sum to 1 in each row", field=name)
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(names):
        raise InvalidInput(f"must be from 0 to {len(names) - 1}, got {codes.min()} to {codes.max()}", field="truth")
    groups = _groups(np.bincount(codes, minlength=len(names)), names, prior.mean(axis=0))
    alpha = (1 - check_level(level)) / max(1, len(groups)) / 4  # two rates, two ends each
    found = [
        _change(
            name,
            _log_odds(beliefs[:, classes].sum(axis=1)),
            _log_odds(prior[:, classes].sum(axis=1)),
            np.isin(codes, classes),
            alpha=alpha,
            level=level,
        )
        for name, classes in groups.items()
    ]
    return worst_first(found)


def worst_first(changes: Sequence[OddsChange]) -> tuple[OddsChange, ...]:
    """Order by harm: the change with the largest lower end first, or a rarer class that the flags expose as much.

    A class counts as exposed as much if its own change reaches that lower end. Randomized response, for example,
    changes the odds of every class alike, and the rarest class is the one that people are harmed by.
    """
    low, odds, share = np.array([(one.odds_interval.low, one.odds, one.share) for one in changes]).reshape(-1, 3).T
    ordered: list[OddsChange] = []
    left = np.ones(len(changes), dtype=np.bool_)
    for clearest in np.lexsort((-odds, -low)).tolist():
        while left[clearest]:
            alike = np.where(left & (odds >= low[clearest]), share, np.inf)
            worst = int(alike.argmin()) if alike.min() < share[clearest] else clearest
            left[worst] = False
            ordered.append(changes[worst])
    return tuple(ordered)


def _groups(counts: NDArray[np.int64], names: Sequence[object], shares: Array) -> dict[str, list[int]]:
    """The classes with rows, those of few rows as one; many numbers by quartiles of the belief before."""
    if len(names) > _MANY and all(isinstance(name, int | float) for name in names):
        quartile = np.minimum(4 * (np.cumsum(shares) - shares / 2) / shares.sum(), 3).astype(np.int64)
        parts = [np.flatnonzero(quartile == part).tolist() for part in range(4)]
        return {
            f"{names[part[0]]:g} to {names[part[-1]]:g}": part
            for part in parts
            if 0 < counts[part].sum() < counts.sum()
        }
    often = {str(name): [code] for code, name in enumerate(names) if counts[code] >= _FEW}
    few = {str(name): [code] for code, name in enumerate(names) if 0 < counts[code] < _FEW}
    if often and few:  # without a class of many rows there would be nothing to compare the pool with
        few = {" or ".join(few): [code for codes in few.values() for code in codes]}
    return {name: codes for name, codes in (often | few).items() if counts[codes].sum() < counts.sum()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _CountedSide:
    """Weighted rows of one side, and how many of them are flagged."""

    flagged: float
    rows: float

    def ends(self, alpha: float) -> tuple[float, float]:
        low, high = (float(end(self.flagged, self.rows, alpha=alpha)) for end in (lower_limit, upper_limit))
        return low, high


def _change(name: str, after: Array, before: Array, inside: Rows, *, alpha: float, level: float) -> OddsChange:
    added, weights = np.round(after - before, _DECIMALS), _weights(before, inside)
    first = _half(inside)
    flags = np.empty(len(added), dtype=np.bool_)
    for half in (first, ~first):
        flags[half] = added[half] >= _threshold(added[~half], weights[~half], inside[~half], alpha=alpha)
    own, others = _count(flags, weights, inside)
    own_ends, other_ends = own.ends(alpha), others.ends(alpha)
    return OddsChange(
        name=name,
        rows=int(inside.sum()),
        others=others.rows,
        share=float(inside.mean()),
        flagged=own.flagged / own.rows,
        falsely_flagged=others.flagged / others.rows,
        flagged_interval=Interval(low=own_ends[0], high=own_ends[1], level=level),
        falsely_flagged_interval=Interval(low=other_ends[0], high=other_ends[1], level=level),
    )


def _log_odds(chance: Array) -> Array:
    kept = np.clip(chance, _CERTAIN, 1 - _CERTAIN)
    return np.log(kept) - np.log1p(-kept)


def _weights(before: Array, inside: Rows) -> Array:
    """The odds before of other rows, so that both sides look alike; beyond the cap, rows of the class count less."""
    odds = np.exp(before)
    most = np.inf if inside.all() else _cap(odds[~inside])
    return np.where(inside, np.minimum(1.0, most / odds), np.minimum(odds, most))


def _cap(odds: Array) -> float:
    """20 times the mean of the capped weights: one row that was all but certain before must not outweigh the rest."""
    most = float(odds.max())
    for _ in range(_ROUNDS):
        most = min(most, _HEAVIEST * float(np.minimum(odds, most).mean()))
    return most


def _half(inside: Rows) -> Rows:
    """A random half of the rows of the class, and of the others; always the same, so that a measurement repeats."""
    rng = np.random.default_rng(0)
    half = np.zeros(len(inside), dtype=np.bool_)
    for side in (np.flatnonzero(inside), np.flatnonzero(~inside)):
        half[rng.permutation(side)[: (len(side) + 1) // 2]] = True
    return half


def _threshold(added: Array, weights: Array, inside: Rows, *, alpha: float) -> float:
    """The threshold whose flags change the odds the most, by the lower end."""
    if not len(added):
        return np.inf
    candidates = np.unique(np.quantile(added, [1 - share for share in _SHARES], method="inverted_cdf"))
    some = candidates[candidates > added.min()]  # to flag everyone tells nothing, and would look safe
    return float(
        max(
            some if len(some) else candidates,
            key=lambda t: _lower_end(*_count(added >= t, weights, inside), alpha=alpha),
        )
    )


def _lower_end(own: _CountedSide, others: _CountedSide, *, alpha: float) -> float:
    return own.ends(alpha)[0] / max(others.ends(alpha)[1], 1e-300) if own.rows and others.rows else 0.0


def _count(flags: Rows, weights: Array, inside: Rows) -> tuple[_CountedSide, _CountedSide]:
    """The rows of the class, and the others, as so many equally weighted rows each."""
    own, others = (_counted(flags[side], weights[side]) for side in (inside, ~inside))
    return own, others


def _counted(flags: Rows, weights: Array) -> _CountedSide:
    if not len(flags):
        return _CountedSide(flagged=0.0, rows=0.0)
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    return _CountedSide(flagged=float((weights * flags).sum() / weights.sum()) * worth, rows=worth)
