"""Distributions whose samples are nearly orthogonal in high dimension, with tails that have explicit constants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betaincc
from scipy.stats import ncx2

from tacit.models.margin.labels import check_points
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_count

__all__ = ["GaussianMixture", "PointSource", "Sphere", "condition_failure"]

Vector = NDArray[np.float64]


class PointSource(Protocol):
    """A distribution of labeled points with tails for Assumption 4.1.

    Examples
    --------
    >>> source: PointSource = Sphere(dimension=3)
    """

    @property
    def dimension(self) -> int:
        """Return d, the number of features."""
        ...

    def draw(self, rows: int, *, rng: np.random.Generator) -> tuple[Vector, Vector]:
        """Return points and labels -1 or +1."""
        ...

    def overlap_tail(self, limit: float) -> float:
        """Return what P(|x . y| > limit) is at most, for independent x and y."""
        ...

    def square_tail(self, limit: float) -> float:
        """Return what P(|x|^2 < limit) is at most."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere:
    """Uniform on the sphere of radius sqrt(d), labels by fair coins: nothing can be learned, all is memorized.

    References
    ----------
    Paper 004, Section 4, example 1, Lemma D.1 and Section 5.

    Examples
    --------
    >>> X, y = Sphere(dimension=9).draw(5, rng=np.random.default_rng(0))
    >>> (X**2).sum(axis=1).round(6)
    array([9., 9., 9., 9., 9.])
    """

    dimension: int

    def __post_init__(self) -> None:
        check_count(self.dimension, name="dimension", least=2)

    def draw(self, rows: int, *, rng: np.random.Generator) -> tuple[Vector, Vector]:
        """Return points and labels.

        Examples
        --------
        >>> Sphere(dimension=2).draw(3, rng=np.random.default_rng(0))[1]
        array([1., 1., 1.])
        """
        X = rng.normal(size=(rows, self.dimension))
        X *= math.sqrt(self.dimension) / np.linalg.norm(X, axis=1, keepdims=True)
        return X, _coins(rows, rng)

    def overlap_tail(self, limit: float) -> float:
        """Return P(|x . y| > limit), exactly: (x . y/d)^2 is Beta(1/2, (d - 1)/2).

        Examples
        --------
        >>> round(Sphere(dimension=3).overlap_tail(1.5), 6)  # in three dimensions x . y is uniform on [-3, 3]
        0.5
        """
        cosine = min(max(limit, 0.0) / self.dimension, 1.0)
        return float(betaincc(0.5, (self.dimension - 1) / 2, cosine**2))

    def square_tail(self, limit: float) -> float:
        """Return P(|x|^2 < limit), which is 0 or 1.

        Examples
        --------
        >>> Sphere(dimension=3).square_tail(3.0)
        0.0
        """
        return float(limit > self.dimension)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianMixture:
    """Gaussians of covariance I around means, equally likely; N(mu, I) is the mixture of one.

    Parameters
    ----------
    means
        A row a component.
    labels
        -1 or +1 of each component, which makes the labels learnable; None for fair coins.

    References
    ----------
    Paper 004, Section 4, examples 2 and 3, Appendix C, Lemmas D.3 to D.6.

    Examples
    --------
    >>> mixture = GaussianMixture.crossed(dimension=50, norm=20.0)
    >>> X, y = mixture.draw(4, rng=np.random.default_rng(0))
    >>> X.shape, np.abs(X[:, :2]).max(axis=1).round(), mixture.labels
    ((4, 50), array([20., 21., 19., 21.]), array([ 1.,  1., -1., -1.]))
    """

    means: Vector
    labels: Vector | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", check_points(self.means))
        if self.labels is not None:
            labels = np.asarray(self.labels, dtype=np.float64)
            if labels.shape != (len(self.means),) or not np.isin(labels, (-1, 1)).all():
                raise InvalidInput(f"labels must be -1 or +1 for each of {len(self.means)} means, got {self.labels!r}")
            object.__setattr__(self, "labels", labels)

    @classmethod
    def opposed(cls, *, dimension: int, norm: float) -> GaussianMixture:
        """Return N(mu, I) with label +1 and N(-mu, I) with label -1, |mu| = ``norm``.

        Appendix C: learnable by two-layer networks for ``norm`` = d^beta, beta between 1/4 and 1/2.

        Examples
        --------
        >>> GaussianMixture.opposed(dimension=3, norm=2.0).means
        array([[ 2.,  0.,  0.],
               [-2., -0., -0.]])
        """
        first = norm * np.eye(1, check_count(dimension, name="dimension"))
        return cls(means=np.concatenate([first, -first]), labels=np.array([1.0, -1.0]))

    @classmethod
    def crossed(cls, *, dimension: int, norm: float) -> GaussianMixture:
        """Return four Gaussians, +-mu with label +1 and +-nu with label -1, mu and nu orthogonal, no line between them.

        Appendix C (Xu et al. 2023): learnable for |mu|^2 >= C n^0.51 sqrt(d) and d >= C n^2 |mu|^2. Both with C = 1
        need d >= n^5.02, which is 3.4 million for n = 20: where both hold is far above where the attack works.

        Examples
        --------
        >>> GaussianMixture.crossed(dimension=2, norm=1.0).means @ [1.0, 2.0]
        array([ 1., -1.,  2., -2.])
        """
        first, second = norm * np.eye(2, check_count(dimension, name="dimension", least=2))
        return cls(means=np.stack([first, -first, second, -second]), labels=np.array([1.0, 1.0, -1.0, -1.0]))

    @property
    def dimension(self) -> int:
        """The number of features."""
        return int(self.means.shape[1])

    def draw(self, rows: int, *, rng: np.random.Generator) -> tuple[Vector, Vector]:
        """Return points and labels.

        Examples
        --------
        >>> GaussianMixture(means=np.zeros((1, 3))).draw(2, rng=np.random.default_rng(0))[0].shape
        (2, 3)
        """
        component = rng.integers(len(self.means), size=rows)
        X = self.means[component] + rng.normal(size=(rows, self.dimension))
        return X, _coins(rows, rng) if self.labels is None else self.labels[component]

    def overlap_tail(self, limit: float) -> float:
        """Return what P(|x . y| > limit) is at most: Chernoff's bound for every pair of components, averaged.

        For x around mu and y around nu, E e^(s (x.y - mu.nu)) =
        (1 - s^2)^(-d/2) exp(s^2 (|mu|^2 + |nu|^2 + 2 s mu.nu)/(2 (1 - s^2))), |s| < 1.

        Examples
        --------
        >>> 0.01 < GaussianMixture(means=np.zeros((1, 100))).overlap_tail(25.0) < 0.1  # 2.5 standard deviations
        True
        """
        products = self.means @ self.means.T
        squares = np.diag(products)
        tails = [
            _chernoff(limit, sign * products[k, m], squares[k] + squares[m], self.dimension)
            for k in range(len(products))
            for m in range(len(products))
            for sign in (1, -1)
        ]
        return min(1.0, float(np.sum(tails)) / len(products) ** 2)

    def square_tail(self, limit: float) -> float:
        """Return P(|x|^2 < limit), exactly: a mixture of noncentral chi-square distributions.

        Examples
        --------
        >>> round(GaussianMixture(means=np.zeros((1, 2))).square_tail(2.0), 6)  # 1 - 1/e
        0.632121
        """
        return float(np.mean(ncx2.cdf(limit, self.dimension, (self.means**2).sum(axis=1))))


def condition_failure(source: PointSource, *, rows: int) -> float:
    """Return what the probability is at most that 3 (delta + 1)(n - 1) < Delta + 1 fails for n points drawn.

    A union bound over pairs and points, n(n-1)/2 P(|x.y| > t) + n P(|x|^2 < 3 (t + 1)(n - 1) - 1), least over t: an
    explicit tau for Assumption 4.1 and the corrected Theorem 4.2.

    Parameters
    ----------
    source
        Where points come from.
    rows
        n, at least 2.

    Examples
    --------
    >>> condition_failure(Sphere(dimension=1000), rows=20)
    1.0
    >>> round(condition_failure(Sphere(dimension=60_000), rows=20), 4)
    0.0041
    """
    n = check_count(rows, name="rows", least=2)
    limits = np.geomspace(0.01, 1.0, 200) * source.dimension / (n - 1)
    failure = min(
        n * (n - 1) / 2 * source.overlap_tail(t) + n * source.square_tail(3 * (t + 1) * (n - 1) - 1) for t in limits
    )
    return min(1.0, failure)


def _chernoff(limit: float, product: float, squares: float, dimension: int) -> float:
    def exponent(s: float) -> float:
        quadratic = s**2 * (squares + 2 * s * product) / (2 * (1 - s**2))
        return float(-s * (limit - product) - dimension / 2 * math.log1p(-(s**2)) + quadratic)

    # every s gives a bound, so a coarse minimum is a bound too
    return math.exp(min(0.0, minimize_scalar(exponent, bounds=(0.0, 1 - 1e-9), method="bounded").fun))


def _coins(rows: int, rng: np.random.Generator) -> Vector:
    return np.asarray(2.0 * rng.integers(2, size=rows) - 1.0, dtype=np.float64)
