"""The m largest of many scores under noise: once for all, or one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise import DiscreteLaplace, ExpCoin
from tacit.privacy.noise.coin import flip_exp
from tacit.privacy.rounding import exact

__all__ = ["ChooseTop", "OneShot", "Peeling"]

Steps = NDArray[np.int64]

_ONE_IN_E = ExpCoin(rate=Fraction(1))
_FINE = 1 << 60


class ChooseTop(Protocol):
    """A way to choose the m highest of integer scores, each of which one record moves by at most ``sensitivity``.

    Examples
    --------
    >>> way: ChooseTop = OneShot()
    >>> way.name
    'one_shot'
    """

    name: ClassVar[str]

    def choose(self, scores: Steps, *, keep: int, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Steps:
        """Return the places of the chosen, best first; epsilon-differentially private."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneShot:
    """Add discrete Laplace noise to all scores once and take the m highest; ties go to the earlier feature.

    At scale 2 min(m, d - m) D/epsilon the *set* is epsilon-differentially private: shift the noise of the chosen (or of
    the others) by 2D. The order in which they are returned is that of the features, so it tells nothing more.

    References
    ----------
    Qiao, Su and Zhang (2021); formula sheet j3. Proof: docs/proofs/features.md.

    Examples
    --------
    >>> OneShot().choose(np.array([0, 900, 5, 800]), keep=2, sensitivity=1, epsilon=1.0, rng=np.random.default_rng(0))
    array([1, 3])
    """

    name: ClassVar[str] = "one_shot"

    def scale(self, *, features: int, keep: int, sensitivity: int, epsilon: float) -> Fraction:
        """Return the noise's scale.

        Examples
        --------
        >>> OneShot().scale(features=4, keep=2, sensitivity=1, epsilon=1.0)
        Fraction(4, 1)
        """
        return 2 * max(1, min(keep, features - keep)) * sensitivity / exact(epsilon)

    def choose(self, scores: Steps, *, keep: int, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Steps:
        """Return the places of the chosen, in the order of the features.

        Examples
        --------
        >>> OneShot().choose(np.array([5, 5]), keep=2, sensitivity=1, epsilon=1.0, rng=np.random.default_rng(0))
        array([0, 1])
        """
        scale = self.scale(features=len(scores), keep=keep, sensitivity=sensitivity, epsilon=epsilon)
        noised = scores + DiscreteLaplace(scale=scale).draw(len(scores), rng=rng)
        return np.sort(np.argsort(-noised, kind="stable")[:keep])


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeling:
    """Choose the best, leave it out, choose the next: m times, each at epsilon/m, by permute-and-flip.

    A round looks at the features in random order and takes the first whose coin of chance
    e^(-epsilon (best - score)/(2 D m)) shows heads. Each round is (epsilon/m)-differentially private and errs no more,
    in the mean, than the exponential mechanism; the order of the list is released with it.

    References
    ----------
    McKenna and Sheldon (2020), Theorem 1; McSherry and Talwar (2007).

    Examples
    --------
    >>> Peeling().choose(np.array([0, 900, 5, 800]), keep=2, sensitivity=1, epsilon=1.0, rng=np.random.default_rng(0))
    array([1, 3])
    """

    name: ClassVar[str] = "peeling"

    def choose(self, scores: Steps, *, keep: int, sensitivity: int, epsilon: float, rng: np.random.Generator) -> Steps:
        """Return the places of the chosen, in the order of choice.

        Examples
        --------
        >>> Peeling().choose(np.array([0, 900]), keep=1, sensitivity=1, epsilon=1.0, rng=np.random.default_rng(0))
        array([1])
        """
        rate = Fraction(math.floor(exact(epsilon) / (2 * sensitivity * keep) * _FINE), _FINE)  # down: less is told
        left = np.arange(len(scores))
        chosen = []
        for _ in range(keep):
            place = _permute_and_flip(scores[left], rate=rate, rng=rng)
            chosen.append(left[place])
            left = np.delete(left, place)
        return np.array(chosen, dtype=np.int64)


def _permute_and_flip(scores: Steps, *, rate: Fraction, rng: np.random.Generator) -> int:
    """The first in random order whose coin of chance e^(-rate (best - score)) shows heads; the best's always does."""
    order = rng.permutation(len(scores))
    behind = scores.max() - scores[order]
    wholes, parts = np.empty_like(behind), np.empty_like(behind)
    for place, gap in enumerate(behind):  # exact: a product of rationals may leave 64 bits
        wholes[place], rest = divmod(int(gap) * rate.numerator, rate.denominator)
        parts[place] = rest
    heads = flip_exp(parts, denominator=rate.denominator, rng=rng)
    heads &= _ONE_IN_E.count_heads(len(wholes), rng=rng) >= wholes
    return int(order[np.argmax(heads)])
