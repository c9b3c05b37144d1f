"""Randomized response among the classes that a row's prior makes likely."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.labels.mechanisms.finite import check_codes, check_prior
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise.choice import keep_coin
from tacit.privacy.noise.coin import flip_each
from tacit.privacy.rounding import check_epsilon

__all__ = ["PriorRandomizedResponse", "best_top_k"]

_CELLS_AT_ONCE = 4_000_000  # entries of the prior worked on at a time: bounds the memory


def best_top_k(prior: NDArray[np.float64], *, epsilon: float) -> NDArray[np.int64]:
    """Return for each row's prior the k with the largest chance that RRTop-k tells the truth.

    w_k = e^epsilon / (e^epsilon + k - 1) times the mass of the k largest priors; the least such k on ties. The
    maximum is also the best over all epsilon-DP mechanisms.

    References
    ----------
    Ghazi et al. (2021), Algorithm 2 and Theorem 3. Formula sheet a5. (The published code has k off by one.)

    Examples
    --------
    >>> best_top_k(np.array([[0.7, 0.3], [0.9, 0.1]]), epsilon=1.0)
    array([2, 1])
    """
    return _best_k(-np.sort(-prior, axis=1), epsilon)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PriorRandomizedResponse:
    """RRWithPrior: RRTop-k with the optimal k for each row's prior.

    The k likeliest classes are kept apart: a label among them goes through randomized response inside them, any other
    becomes one of them, uniformly.

    Unit: one row's label; neighbours differ in that label alone. Assumes that the prior does not depend on this
    label (a public prior, or one learned from other rows' releases) and that it is known to whoever reads the
    release. Not protected: features, the prior, which rows exist.

    Parameters
    ----------
    epsilon
        In (0, 4096], read as the decimal it prints.
    prior
        One row a label, or one for all; rows >= 0 that sum to 1.

    References
    ----------
    Ghazi et al. (2021), Algorithms 1 and 2. Formula sheet a4, a5.

    Examples
    --------
    >>> mechanism = PriorRandomizedResponse(epsilon=1.0, prior=np.array([0.7, 0.2, 0.1]))
    >>> mechanism.top_k()
    array([1])
    >>> mechanism.randomize(np.array([2, 1]), rng=np.random.default_rng(0))
    array([0, 0])
    """

    name: ClassVar[str] = "prior_randomized_response"
    epsilon: float
    prior: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        rows = np.atleast_2d(np.asarray(self.prior))
        if rows.ndim != 2 or rows.shape[1] < 2:
            raise InvalidInput(f"must be rows of at least two classes, got shape {np.shape(self.prior)}", field="prior")
        kept = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
        for part in _parts(kept):
            check_prior(part, classes=rows.shape[1])
        object.__setattr__(self, "prior", kept)

    @property
    def classes(self) -> int:
        """K."""
        return int(self.prior.shape[1])

    def bind(self, classes: int) -> PriorRandomizedResponse:
        """Return the mechanism, if its prior is over ``classes`` classes."""
        if classes != self.classes:
            raise InvalidInput(f"must be {self.classes}, as the prior is over, got {classes}", field="classes")
        return self

    def top_k(self) -> NDArray[np.int64]:
        """Return the number of classes kept apart, for each row of the prior."""
        return np.concatenate([best_top_k(part, epsilon=self.epsilon) for part in _parts(self.prior)])

    def exact_transition(self, row: int = 0) -> tuple[tuple[Fraction, ...], ...]:
        """Row y: the exact probability of each output when the label is y, under one row's prior."""
        part = self.prior[row : row + 1]
        ks, members = _top_members(part, self.epsilon)
        k, top = int(ks[0]), np.flatnonzero(members[0])
        keep = keep_coin(self.epsilon, outcomes=k).probability
        other = (1 - keep) / (k - 1) if k > 1 else Fraction(0)

        def chance(label: int, output: int) -> Fraction:
            if output not in top:
                return Fraction(0)
            if label not in top:
                return Fraction(1, k)
            return keep if label == output else other

        return tuple(tuple(chance(y, o) for o in range(self.classes)) for y in range(self.classes))

    def transition(self, row: int = 0) -> NDArray[np.float64]:
        """The transition matrix under one row's prior, as floats."""
        return np.array(self.exact_transition(row), dtype=np.float64)

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one output a label."""
        labels = check_codes(codes, classes=self.classes)
        if len(self.prior) not in (1, len(labels)):
            raise InvalidInput(
                f"must have one row, or one for each of {len(labels)} labels, got {len(self.prior)}", field="prior"
            )
        rows = np.broadcast_to(self.prior, (len(labels), self.classes))
        result = np.empty_like(labels)
        start = 0
        for part in _parts(rows):
            stop = start + len(part)
            result[start:stop] = self._randomize_part(labels[start:stop], part, rng)
            start = stop
        return result

    def likelihood(self, observed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(observed | label = c) under each row's own prior, as column c."""
        codes = check_codes(observed, classes=self.classes)
        rows = np.broadcast_to(self.prior, (len(codes), self.classes))
        parts, start = [], 0
        for part in _parts(rows):
            parts.append(_likelihood_part(codes[start : start + len(part)], part, self.epsilon))
            start += len(part)
        return np.concatenate(parts) if parts else np.empty((0, self.classes))

    def guarantee(self) -> Guarantee:
        """Return the guarantee for one label."""
        return Guarantee(
            unit=Unit.LABEL,
            epsilon=self.epsilon,
            assumptions=(
                "features and the class list are public",
                "a row's prior does not depend on its own label",
            ),
        )

    def _randomize_part(
        self, labels: NDArray[np.int64], prior: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        k, members = _top_members(prior, self.epsilon)
        inside = members[np.arange(len(labels)), labels]
        coins = [keep_coin(self.epsilon, outcomes=outcomes) for outcomes in range(1, self.classes + 1)]
        kept = flip_each(coins, k - 1, rng=rng) & inside
        # who is not kept draws a place among the k members, skipping its own where it is one of them
        place = rng.integers(0, np.where(inside, np.maximum(k - 1, 1), k))
        rank = np.cumsum(members, axis=1, dtype=np.int32)
        own = rank[np.arange(len(labels)), labels] - 1
        place += inside & (k > 1) & (place >= own)
        drawn = np.argmax(rank == (place + 1)[:, None], axis=1)
        return np.where(kept, labels, drawn)


def _likelihood_part(codes: NDArray[np.int64], prior: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    k, members = _top_members(prior, epsilon)
    keep = 1 / (1 + (k - 1) * np.exp(-epsilon))  # e^epsilon itself overflows from 710 on
    other = np.exp(-epsilon) * keep
    result = np.where(members, other[:, None], (1 / k)[:, None])
    result[np.arange(len(codes)), codes] = keep
    possible = members[np.arange(len(codes)), codes]
    return np.where(possible[:, None], result, 0.0)


def _parts(prior: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    step = max(1, _CELLS_AT_ONCE // prior.shape[1])
    return (prior[start : start + step] for start in range(0, len(prior), step))


def _best_k(descending: NDArray[np.float64], epsilon: float) -> NDArray[np.int64]:
    chance = np.cumsum(descending, axis=1) / (1 + np.arange(descending.shape[1]) * np.exp(-epsilon))
    return np.asarray(np.argmax(chance, axis=1) + 1, dtype=np.int64)


def _top_members(prior: NDArray[np.float64], epsilon: float) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The best k of each row, and its k largest entries marked; of equal ones the first classes."""
    descending = -np.sort(-prior, axis=1)
    k = _best_k(descending, epsilon)
    least = descending[np.arange(len(prior)), k - 1][:, None]
    above, tied = prior > least, prior == least
    room = k[:, None] - above.sum(axis=1, keepdims=True)
    return k, above | (tied & (np.cumsum(tied, axis=1, dtype=np.int32) <= room))
