"""The Gaussian mixture with a margin: separable data whose given labels are flipped at random."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from papers.label_retraining.theory.margin import Margin, expect
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["MarginMixture", "MixtureSample"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixtureSample:
    """Features, their true labels and the given ones, both +1 or -1.

    Examples
    --------
    >>> MixtureSample(features=np.zeros((2, 3)), labels=np.ones(2), noisy=np.ones(2)).features.shape
    (2, 3)
    """

    features: Array
    labels: Array
    noisy: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginMixture:
    """x = y (1 + u) mu + Sigma^(1/2) z with z standard normal and Sigma mu = 0; the given label is y, flipped with p.

    Parameters
    ----------
    mean
        mu; its length is the degree of separation gamma.
    flip
        p < 1/2. Randomized response over two classes at epsilon has p = 1/(e^epsilon + 1).
    margin
        The law of u >= 0.
    covariance
        Sigma, of rank d - 1. None: the identity off mu.
    positive
        P(y = 1).

    References
    ----------
    Das et al. (2024), Eqs. (4.1) and (4.2).

    Examples
    --------
    >>> from papers.label_retraining.theory import UniformMargin
    >>> mixture = MarginMixture.isotropic(dimension=50, separation=0.5, flip=0.4, margin=UniformMargin(high=4.0))
    >>> sample = mixture.sample(300, rng=np.random.default_rng(0))
    >>> sample.features.shape, bool(np.all(sample.labels * (sample.features @ mixture.mean) >= 0.25))
    ((300, 50), True)
    """

    mean: Array
    flip: float
    margin: Margin
    covariance: Array | None = None
    positive: float = 0.5
    eigenvalues: tuple[float, float] = field(init=False)
    _root: Array | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mean = np.asarray(self.mean, dtype=np.float64)
        if mean.ndim != 1 or len(mean) < 2 or not np.isfinite(mean).all() or not mean.any():
            raise InvalidInput(f"mean must be a vector of at least two finite numbers, not all 0, got {self.mean!r}")
        if not 0 <= self.flip < 0.5:
            raise InvalidInput(f"flip must be in [0, 0.5), got {self.flip!r}; at 0.5 the labels say nothing")
        if not 0 <= self.positive <= 1:
            raise InvalidInput(f"positive must be in [0, 1], got {self.positive!r}")
        object.__setattr__(self, "mean", mean)
        covariance, root, eigenvalues = self.covariance, None, (1.0, 1.0)
        if covariance is not None:
            covariance = np.asarray(covariance, dtype=np.float64)
            root, eigenvalues = _root_off(mean, covariance)
        for name, value in (("covariance", covariance), ("_root", root), ("eigenvalues", eigenvalues)):
            object.__setattr__(self, name, value)

    @classmethod
    def isotropic(cls, *, dimension: int, separation: float, flip: float, margin: Margin) -> MarginMixture:
        """Return the mixture with mu = gamma e_1, Sigma = I off mu, and balanced classes.

        Examples
        --------
        >>> from papers.label_retraining.theory import DiscreteMargin
        >>> mixture = MarginMixture.isotropic(
        ...     dimension=3, separation=2.0, flip=0.4, margin=DiscreteMargin(values=(0.0,))
        ... )
        >>> mixture.mean
        array([2., 0., 0.])
        """
        mean = np.zeros(check_count(dimension, name="dimension", least=2))
        if not 0 < separation < np.inf:
            raise InvalidInput(f"separation must be a finite number > 0, got {separation!r}")
        mean[0] = separation
        return cls(mean=mean, flip=flip, margin=margin)

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return len(self.mean)

    @property
    def separation(self) -> float:
        """gamma, the length of mu."""
        return float(np.linalg.norm(self.mean))

    def sample(self, rows: int, *, rng: np.random.Generator) -> MixtureSample:
        """Draw ``rows`` independent samples.

        Examples
        --------
        >>> from papers.label_retraining.theory import DiscreteMargin
        >>> mixture = MarginMixture.isotropic(
        ...     dimension=3, separation=2.0, flip=0.0, margin=DiscreteMargin(values=(0.0,))
        ... )
        >>> sample = mixture.sample(4, rng=np.random.default_rng(0))
        >>> bool(np.all(sample.noisy == sample.labels)), np.abs(sample.features[:, 0])
        (True, array([2., 2., 2., 2.]))
        """
        n = check_count(rows, name="rows")
        labels = np.where(rng.random(n) < self.positive, 1.0, -1.0)
        noisy = np.where(rng.random(n) < self.flip, -labels, labels)
        features = self._noise(rng.standard_normal((n, self.dimension)))
        features += (labels * (1 + self.margin.draw(n, rng=rng)))[:, None] * self.mean
        return MixtureSample(features=features, labels=labels, noisy=noisy)

    def signal(self, theta: Array) -> float:
        """Return <theta, mu>/|Sigma^(1/2) theta|: how far the linear classifier theta can tell a sample at u = 0.

        Examples
        --------
        >>> from papers.label_retraining.theory import DiscreteMargin
        >>> mixture = MarginMixture.isotropic(
        ...     dimension=2, separation=2.0, flip=0.4, margin=DiscreteMargin(values=(0.0,))
        ... )
        >>> mixture.signal(np.array([1.0, 4.0]))
        0.5
        """
        vector = np.asarray(theta, dtype=np.float64)
        spread = self._noise(vector[None, :].copy())
        with np.errstate(divide="ignore"):
            return float(vector @ self.mean / np.linalg.norm(spread))

    def accuracy_at(self, signal: float) -> float:
        """Return E Phi((1 + u) signal), how often a classifier of that signal is right on a fresh sample.

        Examples
        --------
        >>> from papers.label_retraining.theory import UniformMargin
        >>> mixture = MarginMixture.isotropic(dimension=2, separation=1.0, flip=0.4, margin=UniformMargin(high=4.0))
        >>> round(mixture.accuracy_at(1.0), 3)
        0.979
        """
        return expect(self.margin, lambda u: np.asarray(ndtr((1 + u) * signal)))

    def accuracy(self, theta: Array) -> float:
        """Return how often sign(<x, theta>) is the true label of a fresh sample: exact, no test set is drawn.

        References
        ----------
        Das et al. (2024), Eq. (4.4).

        Examples
        --------
        >>> from papers.label_retraining.theory import DiscreteMargin
        >>> mixture = MarginMixture.isotropic(
        ...     dimension=2, separation=2.0, flip=0.4, margin=DiscreteMargin(values=(0.0,))
        ... )
        >>> mixture.accuracy(mixture.mean), round(mixture.accuracy(np.array([1.0, 4.0])), 6)
        (1.0, 0.691462)
        """
        return self.accuracy_at(self.signal(theta))

    def _noise(self, z: Array) -> Array:
        """Sigma^(1/2) z, row by row; overwrites z."""
        if self._root is not None:
            return np.asarray(z @ self._root)
        unit = self.mean / self.separation
        z -= (z @ unit)[:, None] * unit
        return z


def _root_off(mean: Array, covariance: Array) -> tuple[Array, tuple[float, float]]:
    """The square root of Sigma, and its least and largest eigenvalue off mu."""
    d = len(mean)
    if covariance.shape != (d, d) or not np.allclose(covariance, covariance.T):
        raise InvalidInput(f"covariance must be a symmetric {d} x {d} matrix, got shape {covariance.shape}")
    values, vectors = np.linalg.eigh(covariance)
    size = max(float(values[-1]), 0.0)
    if np.linalg.norm(covariance @ mean) > 1e-8 * size * np.linalg.norm(mean):
        raise InvalidInput("covariance must map the mean to 0: the spread along the mean is the margin's")
    if values[0] < -1e-9 * size or values[1] <= 1e-9 * size:
        raise InvalidInput(f"covariance must be positive off the mean, of rank {d - 1}")
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root, (float(values[1]), float(values[-1]))
