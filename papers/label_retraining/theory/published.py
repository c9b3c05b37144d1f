"""Claims about retraining as they are printed. They are false; kept so that their failure can be shown."""

from __future__ import annotations

import math

from papers.label_retraining.theory.mixture import MarginMixture
from tacit.privacy.rounding import check_count

__all__ = ["in_published_window", "published_disagreement", "published_retraining_bound"]


def published_disagreement(mixture: MarginMixture, *, rows: int) -> float:
    """Return the printed bound on P(a row's predicted label differs from its dummy label). It is false.

    The proof takes the expectation of a product over pairs (i, j) as if the pairs were independent. A check that
    satisfies every assumption: n = 40,000, d = 40, p = 0.48, gamma = 1, u = 6.128 with probability 0.001 and
    else 0: 0.0445 is claimed, 0.100 is true.

    References
    ----------
    Das et al. (2024), Lemma E.1 (false). Formula sheet (k).

    Examples
    --------
    >>> from papers.label_retraining.theory import DiscreteMargin
    >>> margin = DiscreteMargin(values=(0.0, 6.128), probabilities=(0.999, 0.001))
    >>> mixture = MarginMixture.isotropic(dimension=40, separation=1.0, flip=0.48, margin=margin)
    >>> round(published_disagreement(mixture, rows=40_000), 4)
    0.0445
    """
    n, d = check_count(rows, name="rows"), mixture.dimension
    reach = mixture.separation**4 / (8 * mixture.eigenvalues[1] ** 2)
    flip = (1 + 3 * reach / (n * d)) * mixture.flip
    return (math.exp(-reach * (1 - 2 * flip) * n / d) + math.exp(-d / 16)) * math.exp(d / n) / 2


def published_retraining_bound(mixture: MarginMixture, *, rows: int, constant: float) -> float:
    """Return the printed lower bound on the accuracy of theta_1, its dropped factor e restored. It is false.

    References
    ----------
    Das et al. (2024), Theorem 4.9 and Eq. (4.8) (false). docs/proofs/labels_theory.md, "Retraining can hurt".

    Examples
    --------
    94.5% are claimed, with c = 1/8; the recursion gives 78.5%, and so does the exact simulation:

    >>> from papers.label_retraining.theory import DiscreteMargin, predict_accuracies
    >>> margin = DiscreteMargin(values=(0.0,))
    >>> mixture = MarginMixture.isotropic(dimension=400, separation=1.0, flip=0.4985, margin=margin)
    >>> round(published_retraining_bound(mixture, rows=20_300_000, constant=0.125), 3)
    0.945
    >>> round(predict_accuracies(mixture, rows=20_300_000, rounds=1)[1], 3)
    0.785
    """
    n, d, keep = check_count(rows, name="rows"), mixture.dimension, 1 - 2 * mixture.flip
    gamma, largest = mixture.separation, mixture.eigenvalues[1]
    wrong = math.exp(-n * keep * gamma**2 / (40 * largest))
    reach = constant * n * (1 - 2 * wrong) ** 2 * gamma**4 / (gamma**4 + 2 * largest**2 * d)
    missed = math.e * math.exp(-reach) + math.exp(-d / 8) + math.e * math.exp(-constant * n * keep**2)
    return max(0.0, 1 - missed - n * published_disagreement(mixture, rows=n))


def in_published_window(mixture: MarginMixture, *, rows: int) -> bool:
    """Say whether n lies in the printed window in which retraining is claimed to help. It can hurt there.

    d/(gamma^2 (1-2p)) max(1, log(n)/gamma^2) <= n <= d^2/(gamma^4 (1-2p)^2).

    References
    ----------
    Das et al. (2024), Eq. (4.9), Remark 4.10 (false). Formula sheet (k).

    Examples
    --------
    >>> from papers.label_retraining.theory import DiscreteMargin, predict_accuracies
    >>> margin = DiscreteMargin(values=(0.0,))
    >>> mixture = MarginMixture.isotropic(dimension=100, separation=0.8, flip=0.475, margin=margin)
    >>> in_published_window(mixture, rows=60_000)
    True
    >>> [round(accuracy, 3) for accuracy in predict_accuracies(mixture, rows=60_000, rounds=1)]
    [0.785, 0.733]
    """
    n, d, keep = check_count(rows, name="rows"), mixture.dimension, 1 - 2 * mixture.flip
    square = mixture.separation**2
    return d / (square * keep) * max(1.0, math.log(n) / square) <= n <= d**2 / (square * keep) ** 2
