"""Temperature-scale a model by the likelihood of the released labels, which costs no privacy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

__all__ = ["find_temperature", "scale_temperature"]

LEAST = 1e-12  # so that no probability is 0; added to all, so that the order of small ones stays
HOTTEST = 1000.0


def scale_temperature(probabilities: NDArray[np.float64], *, temperature: float) -> NDArray[np.float64]:
    """Return p^(1/temperature), scaled to sum to 1 in each row: the order of classes stays, and of rows where K = 2."""
    if temperature == 1.0:
        return probabilities
    powers = (probabilities + LEAST) ** (1.0 / temperature)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def find_temperature(
    probabilities: NDArray[np.float64],
    likelihood: NDArray[np.float64],
    *,
    sample_weight: NDArray[np.float64] | None = None,
    least: float = 1.0,
) -> float:
    """Return the temperature, not below ``least``, under which the released labels are likeliest.

    Maximizes sum_i w_i log sum_y p_i(y)^(1/t) / Z_i * P(released label of i | y). Labels that a model was fitted to
    would have it surer than it should be: for those ``least`` is 1.

    References
    ----------
    Guo et al., "On Calibration of Modern Neural Networks" (2017), with the likelihood of released labels for that of
    true ones.

    Examples
    --------
    >>> sure = np.tile([0.999, 0.001], (100, 1))
    >>> given = np.eye(2)[np.repeat([0, 1], [90, 10])]
    >>> t = find_temperature(sure, given)
    >>> scale_temperature(sure, temperature=t)[0].round(2)
    array([0.9, 0.1])
    """

    def loss(log_temperature: float) -> float:
        soft = scale_temperature(probabilities, temperature=float(np.exp(log_temperature)))
        seen = np.log(np.maximum((soft * likelihood).sum(axis=1), np.finfo(float).tiny))
        return -float(np.average(seen, weights=sample_weight))

    found = minimize_scalar(loss, bounds=(float(np.log(least)), float(np.log(HOTTEST))), method="bounded")
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0
