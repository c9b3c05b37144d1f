"""The attack beside the exact Bayes attacker, by enumeration of all labels; and what its intervals claim."""

import itertools
from functools import cache
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from tacit.bags import Plan, attack, protect
from tacit.bags.attacks import guess_labels
from tacit.bags.losses import LogisticLoss
from tacit.bags.partition import BagTotals, KeyColumn, Partition
from tacit.leak import flags, odds_changes
from tacit.privacy import NoGuarantee
from tacit.privacy.noise import DiscreteGaussian, DiscreteLaplace

# the bag of each row of a block in each partition; blocks share no bag
DESIGNS = {
    "one bag of 3": [[0] * 3],
    "one bag of 13": [[0] * 13],
    "rows and columns": [[0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3],
    "cells of 3 rows": [[0] * 6 + [1] * 6, [0, 0, 0, 1, 1, 1] * 2],
    "nested": [[0] * 8, [0, 0, 0, 0, 1, 1, 1, 1]],
}
NOISES = {"none": None, "laplace": DiscreteLaplace(scale=1), "gaussian": DiscreteGaussian(scale=1)}


def released(design, chance, noise, rng):
    """Labels of blocks of rows, their totals, and P(label = 1 | totals): exact, and the attack's."""
    blocks, rows = chance.shape
    labels = (rng.random(chance.shape) < chance).astype(int)
    states = np.array(list(itertools.product([0, 1], repeat=rows)))
    weight = np.log(chance) @ states.T + np.log1p(-chance) @ (1 - states).T
    parts, columns = [], {}
    for name, bag in zip("ab", map(np.array, design), strict=False):
        held = np.eye(bag.max() + 1)[bag]
        totals = labels @ held + (0 if noise is None else noise.draw((blocks, held.shape[1]), rng=rng))
        off = np.rint(totals[:, None, :] - states @ held).astype(int)
        law = (off == 0) if noise is None else noise.pmf(np.arange(off.min(), off.max() + 1))[off - off.min()]
        with np.errstate(divide="ignore"):
            weight = weight + np.log(law).sum(axis=2)
        columns[name] = (np.arange(blocks)[:, None] * held.shape[1] + bag).ravel()
        parts.append(
            Partition(
                features=(KeyColumn(name),),
                keys=pa.table({name: np.arange(totals.size)}),
                counts=np.bincount(columns[name]),
                totals=totals.reshape(-1, 1).astype(float),
                variance=0.0 if noise is None else noise.variance,
            )
        )
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    release = BagTotals(
        partitions=tuple(parts),
        loss=LogisticLoss(),
        guarantee=NoGuarantee(reason="made in a test"),
        seeded=True,
        label="y",
        mechanism={"name": "discrete_laplace" if isinstance(noise, DiscreteLaplace) else "discrete_gaussian"},
    )
    before = chance.ravel()
    return SimpleNamespace(
        labels=labels.ravel(),
        before=before,
        exact=(weight @ states / weight.sum(axis=1, keepdims=True)).ravel(),
        ours=guess_labels(release, pa.table(columns), prior=np.column_stack([1 - before, before])).beliefs[:, 1],
    )


def chances(blocks, design, rng):
    return rng.beta(1, 3, (blocks, len(design[0]))).clip(0.02, 0.98)


def log_odds(chance):
    return np.log(chance.clip(1e-12, 1 - 1e-12)) - np.log1p(-chance.clip(1e-12, 1 - 1e-12))


def balanced_advantage(made, beliefs):
    """Of flagging the rows whose odds were raised; the expectation over labels, given the totals."""
    flagged = log_odds(beliefs) - log_odds(made.before) > 1e-6
    own, others = made.exact, (1 - made.exact) * np.exp(log_odds(made.before))
    return (own * flagged).sum() / own.sum() - (others * flagged).sum() / others.sum()


def calibration_error(made, beliefs, bins=15):
    """The mean distance of beliefs and the exact chances of labels, in bins of equal rows."""
    parts = np.array_split(np.argsort(beliefs), bins)
    return sum(abs(beliefs[part].sum() - made.exact[part].sum()) for part in parts) / len(beliefs)


def check_bayes(design, noise, blocks):
    rng = np.random.default_rng(0)
    made = released(DESIGNS[design], chances(blocks, DESIGNS[design], rng), NOISES[noise], rng)
    assert abs(balanced_advantage(made, made.exact) - balanced_advantage(made, made.ours)) < 0.01
    assert calibration_error(made, made.ours) < 0.02
    careless = 1 / (1 + np.exp(-log_odds(made.before) - 2 * (log_odds(made.ours) - log_odds(made.before))))
    assert calibration_error(made, careless) > 0.02 or noise == "none", "control: twice as sure"


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("design", DESIGNS)
def test_the_attack_is_bayes_in_small_bags(design, noise):
    check_bayes(design, noise, 20)


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("design", DESIGNS)
def test_the_attack_is_bayes_in_many_small_bags(design, noise):
    check_bayes(design, noise, 400)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rows", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_the_attack_is_nearly_bayes_in_large_bags(rows, noise):
    """Too large to enumerate: the law of the sum of the other labels of a bag, by convolution."""
    rng, sampler, blocks = np.random.default_rng(1), NOISES[noise], 12
    chance = chances(blocks, [[0] * rows], rng)
    labels = (rng.random(chance.shape) < chance).astype(int)
    totals = labels.sum(axis=1) + (0 if sampler is None else sampler.draw(blocks, rng=rng))
    exact = np.empty_like(chance)
    for block, i in np.ndindex(chance.shape):
        others = np.delete(chance[block], i)
        law = np.ones(1)
        for one in others:
            law = np.convolve(law, [1 - one, one])
        off = np.rint(totals[block] - np.arange(rows + 1)).astype(int)
        seen = (off == 0).astype(float) if sampler is None else sampler.pmf(off)
        ones, zeros = chance[block, i] * (law @ seen[1:]), (1 - chance[block, i]) * (law @ seen[:-1])
        exact[block, i] = ones / (ones + zeros)
    release = BagTotals(
        partitions=(
            Partition(
                features=(KeyColumn("a"),),
                keys=pa.table({"a": np.arange(blocks)}),
                counts=np.full(blocks, rows),
                totals=totals[:, None].astype(float),
                variance=0.0 if sampler is None else sampler.variance,
            ),
        ),
        loss=LogisticLoss(),
        guarantee=NoGuarantee(reason="made in a test"),
        seeded=True,
        label="y",
        mechanism={"name": f"discrete_{noise}"},
    )
    before = chance.ravel()
    table = pa.table({"a": np.repeat(np.arange(blocks), rows)})
    ours = guess_labels(release, table, prior=np.column_stack([1 - before, before])).beliefs[:, 1]
    made = SimpleNamespace(before=before, exact=exact.ravel())
    assert abs(balanced_advantage(made, made.exact) - balanced_advantage(made, ours)) < 0.01
    assert calibration_error(made, ours) < 0.02


def noisy_columns(rows):
    """A table of weak columns and noise, on which models of many trees are far too sure."""
    rng = np.random.default_rng(1)
    age, city = rng.integers(0, 8, rows), rng.integers(0, 12, rows)
    chance = 1 / (1 + np.exp(1.5 - age / 4 - (city % 3 - 1) * 0.8))
    ill = rng.random(rows) < chance
    table = pa.table(
        {"age": age.astype(str), "city": city.astype(str), "w": rng.normal(size=rows), "ill": np.where(ill, "y", "n")}
    )
    return table, np.column_stack([1 - chance, chance])


def too_sure(leak, ill):
    """By how much more an attacker expects to be right than it is, before and after the release."""
    return [float(one.max(axis=1).mean() - (one.argmax(axis=1) == ill).mean()) for one in (leak.before, leak.after)]


def test_the_attacker_is_as_sure_as_it_is_right_on_bags_of_several_partitions():
    table, true = noisy_columns(1500)
    ill = (np.asarray(table["ill"]) == "y").astype(int)
    release = protect(table, Plan(label="ill", epsilon=None, by=["age", "city", ("age", "city")], min_size=2))
    learned, known = (attack(release, data=table, truth=table, before=before) for before in (None, true))
    assert abs(too_sure(known, ill)[1]) < 0.02, "with the true P(label | features)"
    assert abs(too_sure(learned, ill)[0]) < 0.001
    X = np.column_stack([np.asarray(table[name]).astype(float) for name in ("age", "city", "w")])
    trees = cross_val_predict(HistGradientBoostingClassifier(), X, ill, cv=5, method="predict_proba")
    careless = attack(release, data=table, truth=table, before=trees)
    assert too_sure(careless, ill)[1] > too_sure(learned, ill)[1] + 0.03, "control: boosted trees as they are"


def flagged_rate(made):
    """The rate at which rows of class 1 are flagged given the totals, by the attack's own flags; and its interval."""
    before, inside = flags._log_odds(made.before), made.labels == 1
    added = np.round(flags._log_odds(made.ours) - before, 6)
    weights, first = flags._weights(before, inside), flags._half(inside)
    chosen = np.empty(len(added), dtype=bool)
    for half in (first, ~first):
        chosen[half] = added[half] >= flags._threshold(added[~half], weights[~half], inside[~half], alpha=0.05 / 8)
    held = made.exact * np.minimum(1, flags._cap(np.exp(before[~inside])) / np.exp(before))
    beliefs = [np.column_stack([1 - one, one]) for one in (made.before, made.ours)]
    change = next(one for one in odds_changes(*beliefs, made.labels, names=["0", "1"]) if one.name == "1")
    return (held * chosen).sum() / held.sum(), change


@cache
def covered(design, noise, runs):
    """In how many runs the interval has the rate given this release's totals; and the mean rate of such releases."""
    chance = chances(60, DESIGNS[design], np.random.default_rng(0))
    found = [
        flagged_rate(released(DESIGNS[design], chance, NOISES[noise], np.random.default_rng(seed)))
        for seed in range(runs)
    ]
    limits = [change.flagged_interval for _, change in found]
    mean = np.mean([change.flagged for _, change in found])
    of_this = sum(limit.low <= rate <= limit.high for limit, (rate, _) in zip(limits, found, strict=True))
    return of_this, sum(limit.low <= mean <= limit.high for limit in limits)


def check_coverage(design, noise, runs):
    of_this, _ = covered(design, noise, runs)
    assert binom.cdf(of_this, runs, 0.95) > 1e-6


def test_intervals_cover_the_rate_of_this_release():
    check_coverage("cells of 3 rows", "none", 40)


def test_intervals_do_not_cover_releases_like_this_one():
    """Control: rows of a bag are flagged together, so the rate varies more than that of so many single rows."""
    _, of_such = covered("cells of 3 rows", "none", 40)
    assert binom.cdf(of_such, 40, 0.95) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_cover_the_rate_of_this_release_in_many_runs(design, noise):
    check_coverage(design, noise, 400)
