"""Corrections for noise of known variance in the labels of random bags: a mean in range, and a penalty."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import truncnorm

from tacit.bags.learners.random_bags.objectives import RandomBagObjective
from tacit.bags.learners.random_bags.risk import BagMoments
from tacit.bags.losses import SemilinearLoss
from tacit.bags.partition import RandomBags

__all__ = ["L2", "center_labels", "choose_penalty", "is_drowned", "membership"]

Floats = NDArray[np.float64]
L2 = 1e-3
"""The penalty without noise."""
_SPREAD, _FAR = 1 / 3, 2.0  # logits; chosen on Adult and generated rows, see docs/bags_learn.md


def center_labels(bags: RandomBags, loss: SemilinearLoss) -> RandomBags:
    """Move noisy labels so that their mean is the expected one, given the range in which labels lie.

    The mean of n labels has noise of variance s^2/n. With a flat prior inside the loss's bounds its posterior is a
    normal distribution cut at them. One of K classes has the density (1-p)^(K-2), nearly e^(-(K-2)p), where all
    rates are equally likely: that moves the normal distribution by (K-2)s^2/n, and the means are scaled to sum to 1.
    The intercept has no penalty: to a mean that labels cannot have it would run off without end.
    """
    if not bags.variance or bags.bernoulli or not len(bags):
        return bags
    mean, variance = bags.labels.mean(axis=0), bags.variance / len(bags)
    among = loss.exclusive
    peak, deviation = mean - (bags.targets - 2) * variance if among else mean, math.sqrt(variance)
    lower, upper = loss.bounds
    with np.errstate(invalid="ignore"):  # of moments that are not asked for
        expected = truncnorm.mean((lower - peak) / deviation, (upper - peak) / deviation, loc=peak, scale=deviation)
    expected = np.clip(expected, lower, upper)  # far outside, SciPy's own leaves them
    return replace(bags, labels=bags.labels - mean + (expected / expected.sum() if among else expected))


def is_drowned(X: sparse.csr_matrix, bags: RandomBags, moments: BagMoments, loss: SemilinearLoss) -> bool:
    """Return whether noise is larger than the bags' information about the weights.

    To second order around the constant model noise alone gives the logit of a row a variance of d k s^2/(n b''^2)
    where no penalty holds it, d the sum of the columns' variances. The variance that the columns explain is estimated
    from the square of the gradient, less what noise and labels add to it. Noise drowns them where it has more than
    they, or more than 4: two logits; and more than the labels of rows themselves, k s^2 > b''. The unbiased risk is not
    convex in logits, and its fit to so much noise runs to predictions of 0 and 1; the loss of soft labels is convex.
    """
    curvature = _curvature(bags, loss)
    if moments.k * bags.variance <= curvature or bags.bernoulli:
        return False
    means = membership(bags.rows, X.shape[0]) @ X
    gradient = means.T @ (bags.labels - bags.labels.mean(axis=0)) / math.sqrt(len(bags) * bags.targets)
    varied = float(np.sum(gradient**2)) / max(float(_variances(means).sum()), np.finfo(float).tiny)
    scale = float(_variances(X).sum()) * moments.k / (len(bags) * curvature**2)
    signal = scale * (varied - curvature / moments.k - bags.variance)
    return scale * bags.variance > min(signal, _FAR**2)


def choose_penalty(bags: RandomBags, objective: RandomBagObjective, moments: BagMoments, loss: SemilinearLoss) -> float:
    """Return the penalty for bags whose noise is known: 0.001, and what the noise adds to the best ridge.

    To second order around the constant model a weight w of a column of variance 1 is estimated as (H w + e)/(H + l2),
    H the objective's curvature and e the noise of its gradient, of variance G. If w has mean 0 and deviation
    ``spread``, the squared error is least at l2 = G/(H spread^2). G is linear in the variance s^2 of the noise of a
    label; its part of it over H is, for n bags of m of N rows, k = m(N-1)/(N-m), and b'' the loss's second derivative:

    - k s^2/(n b'') for soft labels, s^2/(n b'') for the loss of proportions, where the spread is 1/3;
    - 2 k s^2/n for the unbiased and the printed risk, 2 s^2/n for bag means without correction, where the spread is 1:
      the curvature of squared distances is lost as weights grow, and they bear less penalty.

    Weights are in logits, for the squared loss in standard deviations of the label.

    Without noise nothing is added, nor where the argument does not hold: squared distances of several classes'
    probabilities are not convex in logits, and a fit to much noise runs to their corners at any penalty.
    Proof: docs/proofs/bags_learn.md.
    """
    if not bags.variance or bags.bernoulli or (loss.exclusive and not objective.of_logits):
        return L2
    noise = bags.variance / len(bags)
    if objective.of_rows:
        noise *= moments.k
    best = noise / _curvature(bags, loss) / _SPREAD**2 if objective.of_logits else 2 * noise
    return L2 + (best / _label_variance(bags, moments) if loss.identity_link else best)


def membership(bags: NDArray[np.int64], rows: int) -> sparse.csr_matrix:
    """Return the matrix that takes rows to the means of bags, given the row numbers of each."""
    n, m = bags.shape
    return sparse.csr_matrix((np.full(n * m, 1 / m), (np.repeat(np.arange(n), m), bags.ravel())), (n, rows))


def _variances(X: sparse.csr_matrix) -> Floats:
    return np.asarray(X.multiply(X).mean(axis=0)) - np.asarray(X.mean(axis=0)) ** 2


def _curvature(bags: RandomBags, loss: SemilinearLoss) -> float:
    """The loss's second derivative at the mean label, averaged over targets."""
    return float(loss.curvature(loss.link(bags.labels.mean(axis=0)[None, :])).mean())


def _label_variance(bags: RandomBags, moments: BagMoments) -> float:
    """The variance of T(y) over rows: labels of bags vary by its k-th part, and by noise."""
    hidden = bags.variance * math.sqrt(2 / len(bags))  # what noise can hide
    return moments.k * max(float(np.var(bags.labels)) - bags.variance, hidden)
