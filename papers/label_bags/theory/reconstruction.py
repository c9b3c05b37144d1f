"""How far a release moves the best guess of a label (additive) and its odds (multiplicative).

Randomized response and the label count of a bag are finite channels: a matrix of P(output | label). Both measures
are worked out from that matrix, so they put private and non-private releases on one footing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.leak.utility import check_distributions, check_prior
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count, check_epsilon

__all__ = [
    "OddsChange",
    "additive_advantage",
    "bag_count_channel",
    "bayes_accuracy",
    "multiplicative_advantage",
    "published_advantage_limits",
    "randomized_response_channel",
]


def bayes_accuracy(transition: ArrayLike, prior: ArrayLike) -> float:
    """Return how often the best guess of a label from a finite mechanism's output is correct.

    sum over outputs z of max over labels y of prior(y) P(z | y), where P(z | y) is ``transition[y, z]``: the expected
    utility of the Bayes attack. With a row of ``prior`` per unit, the mean over units.

    References
    ----------
    Wu et al. (2023), Section 4 (expected attack utility).
    """
    T, p = _check_transition(transition), check_prior(prior)
    if T.shape[0] != p.shape[1]:
        raise InvalidInput(f"must have one entry for each of the {T.shape[0]} labels, got {p.shape[1]}", field="prior")
    # output by output: rows x labels at a time, never rows x labels x outputs
    return float(sum((p * column).max(axis=1).mean() for column in T.T))


def randomized_response_channel(*, epsilon: float, classes: int) -> NDArray[np.float64]:
    """Return P(output | label) of K-ary randomized response.

    Parameters
    ----------
    epsilon
        Its privacy.
    classes
        K.

    Returns
    -------
    array
        e^epsilon/(e^epsilon + K - 1) on the diagonal, 1/(e^epsilon + K - 1) elsewhere.

    References
    ----------
    Warner (1965); Kairouz, Oh and Viswanath (2016).

    Examples
    --------
    >>> randomized_response_channel(epsilon=1.0, classes=2).round(6)
    array([[0.731059, 0.268941],
           [0.268941, 0.731059]])
    """
    K = check_count(classes, name="classes", least=2)
    small = math.exp(-check_epsilon(epsilon, zero=True))
    keep = 1 / (1 + (K - 1) * small)
    return np.where(np.eye(K, dtype=np.bool_), keep, small * keep)


def bag_count_channel(*, size: int, rate: float) -> NDArray[np.float64]:
    """Return P(z ones in the bag | the row's label) for a bag of independent 0/1 labels.

    Given label 1 the count is 1 + Bin(size - 1, rate), given label 0 it is Bin(size - 1, rate).

    Parameters
    ----------
    size
        Rows in the bag, this one included.
    rate
        Probability of label 1 of the other rows.

    Returns
    -------
    array
        Two rows (labels 0 and 1), size + 1 columns (counts 0 to size).

    References
    ----------
    Busa-Fekete et al. (2024) (learning from label proportions).

    Examples
    --------
    >>> bag_count_channel(size=2, rate=0.5)
    array([[0.5, 0.5, 0. ],
           [0. , 0.5, 0.5]])
    """
    k = check_count(size, name="size")
    if not 0 <= rate <= 1:
        raise InvalidInput(f"rate must be in [0, 1], got {rate!r}")
    from scipy.stats import binom  # half a second of import that nothing else here needs

    others = binom.pmf(np.arange(k), k - 1, rate)
    return np.array([[*others, 0.0], [0.0, *others]])


def additive_advantage(transition: ArrayLike, prior: ArrayLike) -> float:
    """Return how much more often the best guess is right with the release than without.

    E max_y P(y | x, z) - E max_y P(y | x): Wu's advantage of the Bayes attack, and Busa-Fekete's additive
    reconstruction advantage.

    Parameters
    ----------
    transition
        ``transition[y, z]`` = P(output z | label y).
    prior
        P(y | x): one row for all, or a row for each unit (then the mean is returned).

    Returns
    -------
    float
        At least 0.

    References
    ----------
    Wu et al. (2023); Busa-Fekete et al. (2024).

    Examples
    --------
    >>> round(additive_advantage(randomized_response_channel(epsilon=1.0, classes=2), [0.6, 0.4]), 6)
    0.131059
    >>> round(additive_advantage(bag_count_channel(size=4, rate=0.5), [0.5, 0.5]), 6)
    0.1875
    """
    best = float(check_prior(prior).max(axis=1).mean())
    return max(0.0, bayes_accuracy(transition, prior) - best)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OddsChange:
    """How far each output moves the odds of each label, and how often that happens.

    Parameters
    ----------
    values
        |log(posterior odds/prior odds)| of label y after output z, as ``values[y, z]``; infinite where the output
        rules the label out or in.
    probabilities
        P(label y and output z).

    Examples
    --------
    >>> change = multiplicative_advantage(bag_count_channel(size=2, rate=0.5), [0.5, 0.5])
    >>> change.largest, change.share_above(10.0)
    (inf, 0.5)
    """

    values: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    @property
    def largest(self) -> float:
        """The largest change of any label's odds that an output can bring."""
        return float(self.values.max())

    def share_above(self, limit: float) -> float:
        """Return the probability that the true label's odds move by more than ``limit``.

        Examples
        --------
        >>> channel = randomized_response_channel(epsilon=1.0, classes=2)
        >>> multiplicative_advantage(channel, [0.9, 0.1]).share_above(1.0 + 1e-9)
        0.0
        """
        return float(self.probabilities[self.values > limit].sum())


def multiplicative_advantage(transition: ArrayLike, prior: ArrayLike) -> OddsChange:
    """Return how far each output moves the odds of each label.

    For label y and output z: |log P(z | y) - log P(z | not y)|, at most epsilon for an epsilon-private mechanism.

    Parameters
    ----------
    transition
        ``transition[y, z]`` = P(output z | label y).
    prior
        One row: the attacker's probability of each label, each > 0.

    Returns
    -------
    OddsChange
        Values and how likely they are.

    References
    ----------
    Busa-Fekete et al. (2024).

    Examples
    --------
    >>> change = multiplicative_advantage(randomized_response_channel(epsilon=1.0, classes=2), [0.8, 0.2])
    >>> change.values.round(6)
    array([[1., 1.],
           [1., 1.]])
    """
    T, rows = _check_transition(transition), check_prior(prior)
    if rows.shape != (1, len(T)):
        raise InvalidInput(f"prior must be one row of {len(T)} probabilities, got shape {rows.shape}")
    p = rows[0]
    if p.min() == 0:
        raise InvalidInput("prior must be > 0 for each label, got 0: odds of the impossible do not change")
    joint = p[:, None] * T
    others = np.array([np.delete(joint, y, axis=0).sum(axis=0) for y in range(len(p))])
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.log(T) - np.log(others / (1 - p)[:, None])
    # an output that never happens has no odds: 0/0
    return OddsChange(values=np.where(joint.sum(axis=0) > 0, np.abs(change), 0.0), probabilities=joint)


def published_advantage_limits(*, epsilon: float) -> tuple[float, float]:
    """Return the two looser bounds on the advantage that are in print: 1 - 2/(1 + e^epsilon) and 1 - e^-epsilon.

    Parameters
    ----------
    epsilon
        The guarantee for one label, delta = 0.

    Returns
    -------
    tuple of float
        The tighter one first; both above :func:`tacit.leak.advantage_limit`.

    References
    ----------
    Wu et al. (2023).

    Examples
    --------
    >>> [round(limit, 6) for limit in published_advantage_limits(epsilon=1.0)]
    [0.462117, 0.632121]
    """
    epsilon = check_epsilon(epsilon, zero=True)
    return math.tanh(epsilon / 2), -math.expm1(-epsilon)


def _check_transition(transition: ArrayLike) -> NDArray[np.float64]:
    """Return a transition matrix, or raise unless each row is a distribution over outputs."""
    T = check_distributions(transition, "transition", two=None)
    if len(T) < 2:
        raise InvalidInput(f"must have a row for each of two labels or more, got {len(T)}", field="transition")
    return T
