"""Canaries: rows whose label a coin decided. How well totals tell the coins proves an epsilon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from tacit.bags.attacks.guess import class_values, noise_model
from tacit.bags.attacks.membership import read_totals
from tacit.bags.attacks.reconstruction import posterior
from tacit.bags.partition import BagTotals
from tacit.leak import Leak, leak_from_one_run
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.rounding import check_count

__all__ = ["Canaries", "audit_canaries", "plant_canaries"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Canaries:
    """Rows that carry their own label or another one, as a fair coin fell. Secret until the totals are out.

    Parameters
    ----------
    labels
        The whole column with the canaries in it: what the release is made from.
    rows
        Where the canaries are.
    own, other
        The two labels that each canary could carry.
    flipped
        Whether it carries ``other``.
    """

    labels: Ints
    rows: Ints
    own: Ints
    other: Ints
    flipped: NDArray[np.bool_]


def plant_canaries(labels: ArrayLike, *, classes: int, count: int, rng: np.random.Generator) -> Canaries:
    """Choose ``count`` rows, and flip a fair coin for each: keep its label, or give it another one, drawn uniformly.

    Parameters
    ----------
    labels
        The private labels: 0, ..., ``classes`` - 1.
    classes
        How many classes there are.
    count
        How many canaries. They prove most where each is alone in its bags: then only noise hides it.
    rng
        Chooses rows, labels and coins. It must not be the one that draws the noise.

    Examples
    --------
    >>> plant_canaries([0, 1, 2, 2], classes=3, count=4, rng=np.random.default_rng(0)).rows
    array([0, 1, 2, 3])
    """
    codes = np.asarray(labels, dtype=np.int64)
    K = check_count(classes, name="classes", least=2)
    if check_count(count, name="count") > len(codes):
        raise InvalidInput(f"must be at most the {len(codes)} rows, got {count}", field="count")
    rows = np.sort(rng.choice(len(codes), count, replace=False))
    own = codes[rows]
    other = (own + rng.integers(1, K, size=count)) % K
    flipped = rng.random(count) < 0.5
    planted = codes.copy()
    planted[rows] = np.where(flipped, other, own)
    return Canaries(labels=planted, rows=rows, own=own, other=other, flipped=flipped)


def audit_canaries(
    canaries: Canaries,
    release: BagTotals,
    table: object,
    *,
    guesses: int | None = None,
    level: float = 0.95,
    rng: np.random.Generator,
) -> Leak:
    """Bound epsilon from below by how well the totals tell which label each canary carried.

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
    guesses
        How many guesses, half of either kind; the rest is left out. Fixed beforehand. Default: all.
    level
        Confidence of the bound.
    rng
        Orders equal scores.

    Returns
    -------
    Leak
        ``leak.exceeds(release.guarantee)`` says whether the guarantee is violated.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Algorithm 1. Formula sheet d2.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.bags.losses import LogLoss
    >>> from tacit.bags.partition import Feature, Partition
    >>> from tacit.privacy import NoGuarantee
    >>> rng = np.random.default_rng(0)
    >>> canaries = plant_canaries([0] * 200, classes=2, count=100, rng=rng)
    >>> pairs = pa.table({"pair": np.arange(200) // 2})
    >>> totals = canaries.labels.reshape(-1, 2).sum(axis=1, keepdims=True).astype(float)
    >>> by_pair = Partition(features=(Feature("pair"),), keys=pa.table({"pair": np.arange(100)}),
    ...                     counts=np.full(100, 2), totals=totals)
    >>> release = BagTotals(partitions=(by_pair,), loss=LogLoss(), guarantee=NoGuarantee(reason="exact"),
    ...                      seeded=False, label="y", mechanism={"name": "exact"})
    >>> audit_canaries(canaries, release, pairs, guesses=40, rng=rng).epsilon_lower_bound > 2
    True
    """
    published, values = read_totals(release, table), class_values(release.loss)
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
    count = check_count(len(score) if guesses is None else guesses, name="guesses")
    return leak_from_one_run(
        score[canaries.flipped],
        score[~canaries.flipped],
        guess_members=count // 2,
        guess_nonmembers=count - count // 2,
        level=level,
        delta=release.guarantee.delta if isinstance(release.guarantee, Guarantee) else 0.0,
        rng=rng,
    )
