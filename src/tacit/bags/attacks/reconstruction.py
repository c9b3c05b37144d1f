"""The likeliest labels given totals, noisy or exact: a convex problem with one multiplier for each total."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_array
from scipy.special import logsumexp

from tacit.privacy.errors import InvalidInput

__all__ = ["NoiseModel", "posterior"]

_MOST = 40.0  # a multiplier beyond this changes no probability that a float can hold
_FLOOR = 1e-12

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoiseModel:
    """What is known of the noise in each bag's totals.

    Parameters
    ----------
    variance
        Of Gaussian noise; 0 for a bag without it.
    scale
        Of Laplace noise; 0 for a bag without it.
    """

    variance: Floats
    scale: Floats

    @classmethod
    def gaussian(cls, variance: ArrayLike) -> NoiseModel:
        """Return Gaussian noise of these variances; 0 means no noise."""
        given = np.asarray(variance, dtype=np.float64)
        return cls(variance=given, scale=np.zeros_like(given))

    @classmethod
    def laplace(cls, variance: ArrayLike) -> NoiseModel:
        """Return the discrete Laplace noise that has these variances; 0 means no noise.

        2a/(1 - a)^2 = variance with a = e^(-1/scale).
        """
        v = np.asarray(variance, dtype=np.float64)
        safe = np.where(v > 0, v, 1.0)
        a = safe / (safe + 1 + np.sqrt(2 * safe + 1))
        return cls(variance=np.zeros_like(v), scale=np.where(v > 0, -1 / np.log(a), 0.0))

    def likelihood(self, bags: NDArray[np.int64], distances: Floats) -> Floats:
        """Return the log likelihood, but for a constant, of noise by these distances in some bags, the last axis."""
        variance, scale = self.variance[bags], self.scale[bags]
        none = (variance == 0) & (scale == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            gaussian = np.where(variance > 0, -(distances**2) / (2 * variance), 0.0)
            laplace = np.where(scale > 0, -np.abs(distances) / scale, 0.0)
        return np.asarray(np.where(none & (np.abs(distances) > 0.5), -np.inf, gaussian + laplace).sum(axis=-1))

    @property
    def limit(self) -> Floats:
        """The largest multiplier of each bag: 1/scale under Laplace noise."""
        safe = np.where(self.scale > 0, self.scale, 1.0)
        return np.where(self.scale > 0, np.minimum(1 / safe, _MOST), _MOST)


def posterior(
    membership: csr_array, totals: ArrayLike, *, values: ArrayLike, prior: ArrayLike, noise: NoiseModel
) -> Floats:
    """Return the probability of each label of each row that fits the totals best.

    Over distributions q_i of the rows' labels, minimizes

    sum_i KL(q_i || prior_i) + sum over bags b of -log P(noise = z_b - sum of E T(y_i) over rows i in b),

    which is convex. Its solution is q_i(y) ~ prior_i(y) exp(T(y)'(sum of multipliers of the bags of i)), and the dual
    problem has one multiplier for each total: with a ridge under Gaussian noise, in a box of half-width 1/scale under
    Laplace noise. With epsilon split over the partitions these widths add up to epsilon: the log odds of a label
    never move by more than the guarantee.

    Rows of a bag are treated as independent given the multipliers: exact for one label per bag and close for large
    bags; for small bags without noise a true posterior would be a little sharper.

    Parameters
    ----------
    membership
        Rows x bags.
    totals
        Bags x targets.
    values
        T(y) of each possible label: labels x targets.
    prior
        P(label): one row for all, or one for each row.
    noise
        Of each bag.
    """
    rows = membership.astype(np.float64)
    z, T = np.asarray(totals, dtype=np.float64), np.asarray(values, dtype=np.float64)
    logs = np.log(np.maximum(np.atleast_2d(np.asarray(prior, dtype=np.float64)), _FLOOR))
    if logs.shape not in {(1, len(T)), (rows.shape[0], len(T))}:
        raise InvalidInput(
            f"must be one row of {len(T)} probabilities, or one for each row, got {logs.shape}", field="prior"
        )
    back, shape = csr_array(rows.T), z.shape

    def tilted(flat: Floats) -> Floats:
        return np.asarray(logs + (rows @ flat.reshape(shape)) @ T.T)

    def dual(flat: Floats) -> tuple[float, Floats]:
        logits = tilted(flat)
        total = logsumexp(logits, axis=1)
        mean = np.exp(logits - total[:, None]) @ T
        ridge = np.repeat(noise.variance, shape[1]) * flat
        return float(total.sum() - flat @ z.ravel() + flat @ ridge / 2), (back @ mean - z).ravel() + ridge

    limit = np.repeat(noise.limit, shape[1])
    found = minimize(
        dual,
        np.zeros(z.size),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(-limit, limit),
        options={"maxiter": 500, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-6},
    )
    logits = tilted(found.x)
    return np.asarray(np.exp(logits - logsumexp(logits, axis=1)[:, None]))
