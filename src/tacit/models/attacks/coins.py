"""The coins that chose the rows a model was trained on, and the bound on epsilon from guessing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import binom

from tacit.leak import EpsilonBound, epsilon_one_run
from tacit.models.points import Floats
from tacit.models.training.noise_bound import epsilon_by_noise
from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss import SampledGaussianLoss

__all__ = ["SHARES", "CoinDesign", "PairCoins", "RowCoins"]

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Shares of the coins that the attack guesses, the rest left out; the bound on epsilon pays for trying all."""

_NO_COIN = 1e-9  # a fair coin falls so unevenly less often than this


class CoinDesign(Protocol):
    """How coins chose the rows."""

    def bound(
        self, members: Floats, nonmembers: Floats, *, rng: np.random.Generator, level: float, delta: float
    ) -> EpsilonBound:
        """Return the best bound over :data:`SHARES` from one score per row, made without the coins."""


@dataclass(frozen=True, slots=True)
class RowCoins:
    """Each row was put into the training data by a fair coin of its own. Unit: the presence of one row.

    The attack guesses the top share of the rows, or half of it at either end.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Algorithm 1.
    """

    def bound(
        self, members: Floats, nonmembers: Floats, *, rng: np.random.Generator, level: float, delta: float
    ) -> EpsilonBound:
        """Return the best bound over :data:`SHARES`, at one end and at both."""
        rows = len(members) + len(nonmembers)
        _check_fair(len(members), rows)
        # shuffled first: otherwise the order of equal scores would reveal the array of each
        order = rng.permutation(rows)
        order = order[np.argsort(np.concatenate([members, nonmembers])[order])]
        from_top = np.concatenate([[0], np.cumsum(order[::-1] < len(members))])
        from_bottom = np.concatenate([[0], np.cumsum(order >= len(members))])
        guesses = _guesses(rows)
        right = np.concatenate([from_top[guesses], from_top[guesses - guesses // 2] + from_bottom[guesses // 2]])
        guesses = np.tile(guesses, 2)
        epsilon = epsilon_one_run(right, guesses, rows, delta=delta, level=1 - (1 - level) / len(guesses))
        return _bound(float(np.max(epsilon)), delta=delta, level=level, counts=len(guesses))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCoins:
    """Row k of the members and row k of the others were a pair, and a fair coin chose which was trained on.

    So the number of rows is the same however the coins fall. Unit: one record replaced. The attack guesses that the row
    with the higher score was trained on, in the share of the pairs that differ most.

    Parameters
    ----------
    steps
        The loss of DP-SGD, if the model was trained by it: then its whole curve is tested.
    """

    steps: SampledGaussianLoss | None = None

    def bound(
        self, members: Floats, nonmembers: Floats, *, rng: np.random.Generator, level: float, delta: float
    ) -> EpsilonBound:
        """Return the best bound over :data:`SHARES`."""
        pairs = len(members)
        if len(nonmembers) != pairs:
            raise InvalidInput(f"members and nonmembers must be pairs, got {pairs} and {len(nonmembers)}")
        with np.errstate(invalid="ignore"):  # two infinite scores tie
            apart = np.nan_to_num(members - nonmembers, nan=0.0)
        right = np.where(apart == 0, rng.random(pairs) < 0.5, apart > 0)[np.argsort(-np.abs(apart), kind="stable")]
        guesses = _guesses(pairs)
        found = np.cumsum(right)[guesses - 1]
        if self.steps is None:
            one_each = 1 - (1 - level) / len(guesses)
            epsilon = float(np.max(epsilon_one_run(found, guesses, pairs, delta=delta, level=one_each)))
            return _bound(epsilon, delta=delta, level=level, counts=len(guesses))
        epsilon = epsilon_by_noise(found, guesses, pairs, loss=self.steps, delta=delta, level=level)
        return _bound(epsilon, delta=delta, level=level, counts=len(guesses), by=" by the curve of DP-SGD")


def _guesses(coins: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.maximum(1, np.round(np.multiply(SHARES, coins)).astype(np.int64))


def _bound(epsilon: float, *, delta: float, level: float, counts: int, by: str = "") -> EpsilonBound:
    method = f"right guesses of one run{by}, corrected for {counts} numbers of guesses"
    return EpsilonBound(value=epsilon, delta=delta, level=level, method=method)


def _check_fair(members: int, rows: int) -> None:
    if 2 * binom.cdf(min(members, rows - members), rows, 0.5) < _NO_COIN:
        raise InvalidInput(
            f"coins must be given only if each row was included with probability 1/2, got {members} members of "
            f"{rows} rows: give all rows that had a coin, or leave coins out"
        )
