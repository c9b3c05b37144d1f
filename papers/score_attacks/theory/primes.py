"""Primes: sums of their logarithms are distinct by unique factorization."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["first_primes", "labels_of_product", "prime_matrix"]


def first_primes(count: int) -> list[int]:
    """Return the first ``count`` primes.

    Examples
    --------
    >>> first_primes(6)
    [2, 3, 5, 7, 11, 13]
    """
    n = check_count(count, name="count", least=0)
    # Rosser: the n-th prime is below n (ln n + ln ln n) for n >= 6.
    limit = 15 if n < 6 else math.ceil(n * (math.log(n) + math.log(math.log(n))))
    sieve: NDArray[np.bool_] = np.ones(limit + 1, dtype=np.bool_)
    sieve[:2] = False
    for candidate in range(2, math.isqrt(limit) + 1):
        if sieve[candidate]:
            sieve[candidate * candidate :: candidate] = False
    return [int(prime) for prime in np.flatnonzero(sieve)[:n]]


def prime_matrix(rows: int, classes: int) -> list[list[Fraction]]:
    """Return rows of probabilities proportional to distinct primes, K a row: unnoised log losses are all distinct.

    References
    ----------
    Aggarwal et al. (2021), Appendix E.

    Examples
    --------
    >>> [[str(p) for p in row] for row in prime_matrix(2, 3)]
    [['1/5', '3/10', '1/2'], ['7/31', '11/31', '13/31']]
    """
    k = check_count(classes, name="classes", least=2)
    primes = first_primes(check_count(rows, name="rows") * k)
    groups = [primes[start : start + k] for start in range(0, len(primes), k)]
    return [[Fraction(prime, sum(group)) for prime in group] for group in groups]


def labels_of_product(product: int, rows: int, classes: int) -> list[int]:
    """Return the labels whose primes multiply to ``product``: the score of :func:`prime_matrix` decoded.

    The product is e^(-N score) times the row sums of the primes.

    Examples
    --------
    >>> labels_of_product(2 * 13, 2, 3)
    [0, 2]
    """
    primes = first_primes(rows * classes)
    labels: list[int] = []
    for start in range(0, len(primes), classes):
        dividing = [k for k, prime in enumerate(primes[start : start + classes]) if product % prime == 0]
        if len(dividing) != 1:
            raise InvalidInput(f"product must have one prime of each row, got {len(dividing)} for row {len(labels)}")
        labels.extend(dividing)
    return labels
