"""Canaries: rows whose label a coin decided. How well a release reveals the coins bounds epsilon from below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.measure import Leak
from tacit.leak.scores import leak_from_one_run
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["PlantedCanaries", "plant_canaries"]

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlantedCanaries:
    """Rows that have their own label or another one, by a fair coin; secret until the release is published.

    Parameters
    ----------
    labels
        The whole column with the canaries, from which the release is made.
    own, other
        The two labels, as class codes, that each canary could have.
    """

    labels: Any
    rows: Codes
    own: Codes
    other: Codes
    flipped: NDArray[np.bool_]
    classes: tuple[Any, ...]

    def leak(
        self,
        log_odds: NDArray[np.float64],
        *,
        guesses: int | None = None,
        delta: float = 0.0,
        level: float = 0.95,
        rng: np.random.Generator,
    ) -> Leak:
        """Guess the highest log odds of ``other`` flipped and the lowest not, and bound epsilon as in one run.

        Parameters
        ----------
        guesses
            How many guesses, half of either kind; the rest is left out. Fixed before the scores are seen. Default: all.
        rng
            Orders equal scores.
        """
        count = check_count(len(log_odds) if guesses is None else guesses, name="guesses")
        return leak_from_one_run(
            log_odds[self.flipped],
            log_odds[~self.flipped],
            guess_members=count // 2,
            guess_nonmembers=count - count // 2,
            level=level,
            delta=delta,
            rng=rng,
        )


def plant_canaries(labels: ArrayLike, *, classes: int, count: int, rng: np.random.Generator) -> PlantedCanaries:
    """Choose ``count`` rows, and flip a fair coin for each: keep its label, or give it another one, drawn uniformly.

    The coins are independent of everything else, so that each is a secret bit in one label, what label privacy
    protects.

    Parameters
    ----------
    labels
        The private labels: 0, ..., ``classes`` - 1; rows with a negative one have none and are left alone.
    count
        How many canaries. The bound is largest if only noise hides each of them.
    rng
        Chooses rows, labels and coins. It must not be the generator that randomizes the release.
    """
    codes = np.asarray(labels, dtype=np.int64)
    K, labeled = check_count(classes, name="classes", least=2), np.flatnonzero(codes >= 0)
    if check_count(count, name="count") > len(labeled):
        raise InvalidInput(f"must be at most the {len(labeled)} rows with a label, got {count}", field="count")
    rows = np.sort(rng.choice(labeled, count, replace=False))
    own = codes[rows]
    other = (own + rng.integers(1, K, size=count)) % K
    flipped = rng.random(count) < 0.5
    planted = codes.copy()
    planted[rows] = np.where(flipped, other, own)
    return PlantedCanaries(labels=planted, rows=rows, own=own, other=other, flipped=flipped, classes=tuple(range(K)))
