"""Losses that know how the labels were randomized."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["backward_loss", "forward_loss", "generalised_cross_entropy", "symmetric_cross_entropy"]


def forward_loss(
    probabilities: ArrayLike, noisy: NDArray[np.int64], *, transition: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return -log of the probability of each noisy label under the model and the mechanism: -log (T' p)_z.

    Its minimiser is the maximum-likelihood model of the true labels.

    References
    ----------
    Patrini et al. (2017), Theorem 2. Formula sheet a10.

    Examples
    --------
    >>> from tacit.labels import RandomizedResponse
    >>> T = RandomizedResponse(epsilon=1.0, classes=3).transition()
    >>> forward_loss([[0.6, 0.3, 0.1]], np.array([1]), transition=T).round(6)
    array([1.135709])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    return np.asarray(-np.log((p @ transition)[np.arange(len(noisy)), noisy]))


def backward_loss(
    losses: ArrayLike, noisy: NDArray[np.int64], *, transition: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return T^-1 l at each noisy label: its expectation over the mechanism is the loss at the true label.

    Parameters
    ----------
    losses
        One row an example, one column a class: the loss if that class were true.
    noisy
        The randomized labels.
    transition
        T, which must be invertible.

    References
    ----------
    Natarajan et al. (2013); Patrini et al. (2017), Theorem 1. Formula sheet a10.

    Examples
    --------
    >>> from tacit.labels import RandomizedResponse
    >>> T = RandomizedResponse(epsilon=1.0, classes=3).transition()
    >>> l = -np.log([[0.6, 0.3, 0.1]] * 3)
    >>> backward_loss(l, np.arange(3), transition=T).round(6)
    array([-0.935332,  0.968002,  3.984714])
    """
    if np.linalg.matrix_rank(transition) < len(transition):
        raise InvalidInput("transition must be invertible: this mechanism maps two labels to the same outputs")
    corrected = np.asarray(losses, dtype=np.float64) @ np.linalg.inv(transition).T
    return np.asarray(corrected[np.arange(len(noisy)), noisy])


def generalised_cross_entropy(
    probabilities: ArrayLike, noisy: NDArray[np.int64], *, q: float = 0.7
) -> NDArray[np.float64]:
    """Return (1 - p_z^q)/q: cross-entropy as q goes to 0, absolute error at 1. A baseline that needs no T.

    References
    ----------
    Zhang and Sabuncu (2018), Eq. 6.

    Examples
    --------
    >>> generalised_cross_entropy([[0.25, 0.75]], np.array([0]), q=0.5)
    array([1.])
    """
    if not 0 < q <= 1:
        raise InvalidInput(f"q must be in (0, 1], got {q!r}")
    p = np.asarray(probabilities, dtype=np.float64)[np.arange(len(noisy)), noisy]
    return np.asarray((1 - p**q) / q)


def symmetric_cross_entropy(
    probabilities: ArrayLike, noisy: NDArray[np.int64], *, alpha: float = 0.1, beta: float = 1.0, floor: float = 1e-4
) -> NDArray[np.float64]:
    """Return alpha CE + beta RCE, the reverse one with log 0 read as log floor. A baseline that needs no T.

    References
    ----------
    Wang et al. (2019), Eqs. 6 and 8.

    Examples
    --------
    >>> symmetric_cross_entropy([[0.5, 0.5]], np.array([0]), alpha=1.0, beta=0.0).round(6)
    array([0.693147])
    """
    p = np.asarray(probabilities, dtype=np.float64)[np.arange(len(noisy)), noisy]
    return np.asarray(-alpha * np.log(np.maximum(p, 1e-12)) - beta * np.log(floor) * (1 - p))
