"""Canaries in bags: how well totals reveal the coins bounds epsilon from below."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tacit.bags.attacks.guess import noise_model
from tacit.bags.attacks.published_totals import read_totals
from tacit.bags.attacks.reconstruction import posterior
from tacit.bags.partition import BagTotals
from tacit.leak import Leak, PlantedCanaries
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee

__all__ = ["audit_canaries"]


def audit_canaries(
    canaries: PlantedCanaries,
    release: BagTotals,
    table: object,
    *,
    guesses: int | None = None,
    level: float = 0.95,
    rng: np.random.Generator,
) -> Leak:
    """Bound epsilon from below by how well the totals reveal which label each canary had.

    The attacker knows every other label, as differential privacy allows, takes it off the totals, and guesses the coins
    from what is left: the highest log odds "flipped", the lowest "not". For a release that meets its guarantee the
    bound is above epsilon in at most 1 - ``level`` of runs.

    Parameters
    ----------
    canaries
        What was planted; the release was made from ``canaries.labels``.
    release
        The totals.
    table
        The features of the same rows.
    guesses, level, rng
        As in :meth:`tacit.leak.PlantedCanaries.leak`.

    Returns
    -------
    Leak
        ``leak.exceeds(release.guarantee)`` is whether the guarantee is violated.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Algorithm 1. Formula sheet d2.
    """
    published, values = read_totals(release, table), release.loss.label_values()
    if published.membership.shape[0] != len(canaries.labels):
        raise InvalidInput(
            f"must have the {len(canaries.labels)} rows of the canaries, got {published.membership.shape[0]}",
            field="table",
        )
    known = values[canaries.labels]
    known[canaries.rows] = 0.0
    left = published.expected_totals() - published.membership.T @ known
    each, prior = np.arange(len(canaries.rows)), np.zeros((len(canaries.rows), len(values)))
    prior[each, canaries.own] = prior[each, canaries.other] = 0.5
    noise = noise_model(release, published, prior=prior, values=values)
    q = posterior(csr_array(published.membership[canaries.rows]), left, values=values, prior=prior, noise=noise)
    score = np.log(np.maximum(q[each, canaries.other], 1e-300)) - np.log(np.maximum(q[each, canaries.own], 1e-300))
    delta = release.guarantee.delta if isinstance(release.guarantee, Guarantee) else 0.0
    return canaries.leak(score, guesses=guesses, delta=delta, level=level, rng=rng)
