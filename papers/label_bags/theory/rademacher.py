"""How well a class of 0/1 functions can follow random signs: counted, measured, or bounded."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from tacit.privacy.errors import InvalidInput

__all__ = ["class_rademacher", "linear_patterns", "linear_rademacher", "threshold_rademacher"]


def linear_patterns(points: int, *, dimension: int) -> float:
    """Return the logarithm of how many 0/1 patterns thresholded linear functions make on points, at most.

    2 sum_{i <= d} C(n-1, i) for functions 1[w'x + b > 0] on R^d, reached by points in general position.

    References
    ----------
    Cover (1965).

    Examples
    --------
    >>> round(np.exp(linear_patterns(4, dimension=2)))
    14
    """
    if points < 1 or dimension < 1:
        raise InvalidInput(f"points and dimension must be >= 1, got {points!r} and {dimension!r}")
    i = np.arange(min(dimension, points - 1) + 1)
    terms = gammaln(points) - gammaln(i + 1) - gammaln(points - i)
    return min(float(math.log(2) + logsumexp(terms)), points * math.log(2))


def linear_rademacher(samples: int, *, dimension: int, distinct: int | None = None) -> float:
    """Return an upper bound of the Rademacher complexity of thresholded linear functions, whatever the points.

    sqrt(log(patterns)/(2n)) by Massart's lemma: a pattern less one half has length sqrt(n)/2, and the half adds
    nothing, since signs have mean 0. At most 1/2, the value for all patterns.

    Parameters
    ----------
    samples
        n.
    dimension
        The number of features, the intercept not counted.
    distinct
        How many different points the sample can have at most; None for n.

    References
    ----------
    Mohri et al. (2018), Theorem 3.7; Chen et al. (2023), Definition 3.

    Examples
    --------
    >>> round(linear_rademacher(10_000, dimension=5), 4)
    0.0458
    """
    patterns = linear_patterns(min(samples, distinct or samples), dimension=dimension)
    return min(0.5, math.sqrt(patterns / (2 * samples)))


def threshold_rademacher(x: NDArray[np.float64], *, draws: int, rng: np.random.Generator) -> float:
    """Measure the Rademacher complexity of one-dimensional thresholds 1[+-(x - t) > 0] on given points.

    The best threshold for given signs is found exactly, by running sums over the sorted points.

    Parameters
    ----------
    x
        The points, repeated ones allowed.
    draws
        Draws of signs that are averaged.
    rng
        Draws the signs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> value = threshold_rademacher(rng.normal(size=500), draws=200, rng=rng)
    >>> 0.02 < value < linear_rademacher(500, dimension=1)
    True
    """
    order = np.argsort(x, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(x[order]) > 0, True))  # thresholds fall between different points
    total = 0.0
    for _ in range(draws):
        running = np.cumsum(rng.choice([-1.0, 1.0], size=len(x)))[ends]
        below = max(0.0, float(running.max()))
        above = max(0.0, float((running[-1] - running).max()), float(running[-1]))
        total += max(below, above)
    return total / draws / len(x)


def class_rademacher(outputs: NDArray[np.float64], *, draws: int, rng: np.random.Generator) -> float:
    """Measure the (flattened) Rademacher complexity of a finite class on given points.

    Parameters
    ----------
    outputs
        (hypotheses, points) or (hypotheses, points, targets): h(x)[k]; with targets the flattened form.
    draws
        Draws of signs that are averaged.
    rng
        Draws the signs.

    References
    ----------
    Chen et al. (2023), Definitions 3 and 4.

    Examples
    --------
    >>> every = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> round(class_rademacher(every, draws=4000, rng=np.random.default_rng(0)), 1)
    0.5
    """
    flat = outputs.reshape(len(outputs), -1)
    signs = rng.choice([-1.0, 1.0], size=(draws, flat.shape[1]))
    return float((signs @ flat.T).max(axis=1).mean() / outputs.shape[1])
