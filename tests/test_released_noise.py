"""On every surface, through the function that users call: the noise in a release has the law that its plan states.

Inputs are frozen, and what is released is compared with what was read. Each law must reject a release without its
noise, with half of it, and with the noise of 1.1 times the epsilon.
"""

import math
from fractions import Fraction
from functools import cache, partial
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, chi2, norm

from tacit import bags, features, labels, scores
from tacit.bags.losses import LogisticLoss
from tacit.bags.mechanisms.selection import choose_sets
from tacit.features.mechanisms.moments import ClassMoments
from tacit.features.mechanisms.noisy_totals import NoisyTotals
from tacit.features.mechanisms.selection import NoisyClassRows
from tacit.features.releases.bound_plan import BoundPlan
from tacit.labels.mechanisms.estimate import estimate_prior
from tacit.labels.mechanisms.top_k import exact_top_k
from tacit.privacy.noise import DiscreteGaussian, DiscreteLaplace
from tacit.privacy.noise.response import response_matrix
from tacit.scores.metrics import F1, Accuracy, Auc
from tacit.scores.metrics.custom import CustomMetric
from tacit.scores.policies import Laplace
from tacit.scores.policies.holdout import ReusableHoldout
from tacit.scores.policies.several import difference_tail

LEVEL = 1e-6
ONE = 1024  # the number 1 on the grid of features and of one-hot labels


def p_value(noise, law):
    """Twice the smaller of two tests: of the mean size, which sees a wrong scale best, and of the whole law."""
    reach = math.ceil(40 * float(law.scale)) + 1
    k = np.arange(-reach, reach + 1)
    mass = law.pmf(k) / law.pmf(k).sum()
    mean = (np.abs(k) * mass).sum()
    deviation = math.sqrt((k**2 * mass).sum() - mean**2)
    size = 2 * norm.sf(abs(np.abs(noise).mean() - mean) * math.sqrt(len(noise)) / deviation)
    cells = np.minimum((np.cumsum(mass) * 16).astype(int), 15)
    inside = np.clip(np.asarray(noise, dtype=np.int64) + reach, 0, 2 * reach)
    return 2 * min(size, fit(np.bincount(cells[inside], minlength=16), np.bincount(cells, weights=mass, minlength=16)))


def fit(observed, shares):
    """Pearson's test of counts against the shares that they should have; each row of a matrix is a law of its own."""
    expected, seen = shares * observed.sum(axis=-1, keepdims=True), shares > 0
    if observed[~seen].any():
        return 0.0
    laws = len(observed) if observed.ndim == 2 else 1
    return chi2.sf(((observed - expected)[seen] ** 2 / expected[seen]).sum(), seen.sum() - laws)


# What is added: from a factor on epsilon and a generator to the noise and its law


def one_hot(factor, rng):
    codes = np.arange(4_000) % 4
    plan = labels.Plan(label="y", epsilon=factor, mechanism="laplace", classes="0,1,2,3")
    drawn = labels.protect(pa.table({"y": codes}), plan, rng=rng).labels.combine_chunks().flatten()
    noise = (np.asarray(drawn).reshape(-1, 4) - np.eye(4)[codes]) * ONE
    return noise.ravel(), DiscreteLaplace(scale=2 * ONE)


def estimated_prior(factor, rng):
    """A tenth of epsilon 10 for 200 counts of 40: none is near 0, and what makes their sum 1 is below a half."""
    table = pa.table({"y": np.arange(8000) % 200})
    plan = labels.Plan(label="y", epsilon=10 * factor, mechanism="prior", classes=np.arange(200).astype(str))
    made = [labels.protect(table, plan, rng=rng).settled["prior"] for _ in range(2)]
    return np.rint(np.concatenate(made) * 8000 - 40), DiscreteLaplace(scale=2)


def every_estimated_prior(factor, rng):
    """What such a plan calls, with more classes."""
    made = estimate_prior(np.full(10_000, 40), epsilon=factor, rng=rng)
    return np.rint(made * 400_000 - 40), DiscreteLaplace(scale=2)


KEYS = pa.table({"key": np.arange(10_000).astype(str), "y": np.arange(10_000) % 2})
DECLARED = {"unit": "record", "classes": "0,1", "categories": {"key": tuple(map(str, range(10_000)))}}


def bag_totals(factor, rng, *, of="totals", scale=None, **fields):
    plan = bags.Plan(label="y", by=[["key"]], min_size=1, epsilon=factor, **fields)
    made = bags.protect(KEYS, plan, rng=rng).totals
    part = made.partitions[0]
    key = [-1 if word is None or not word.isdigit() else int(word) for word in part.keys["key"].to_pylist()]
    exact = np.where(np.array(key) < 0, 0, np.array(key) % 2 if of == "totals" else 1)
    law = DiscreteLaplace(scale=scale) if scale else DiscreteGaussian(scale=Fraction(made.mechanism["scales"][0]))
    noise = np.rint(part.counts if of == "counts" else part.totals[:, 0]) - exact
    return noise[np.array(key) >= 0], law


def random_bags(factor, rng):
    plan = bags.Plan(label="y", epsilon=factor, mechanism="random:size=2,bags=5000,joins=1")
    made = [bags.protect(KEYS, plan, rng=rng).totals.random for _ in range(2)]
    return np.concatenate([2 * one.labels[:, 0] - (one.rows % 2).sum(axis=1) for one in made]), DiscreteLaplace(scale=1)


def noisy_rows(factor, rng):
    table = pa.table({"x": np.zeros(8000), "y": ["a", "b"] * 4000})
    plan = features.Plan(label="y", epsilon=2 * factor, delta=1e-6, ranges={"*": (-1, 1)}, label_epsilon=factor)
    made = features.protect(table, plan, rng=rng)
    return np.asarray(made.rows["x"]) * ONE, DiscreteGaussian(scale=made.settled["noise"][0] * ONE)


def class_totals(factor, rng, *, of):
    """2,000 classes for counts and sums, 100 columns for squares."""
    columns, classes = (100, 2) if of == "squares" else (1, 2000)
    names = list(map(str, range(classes)))
    table = pa.table({**{f"x{j}": np.zeros(classes) for j in range(columns)}, "y": names})
    plan = features.Plan(
        label="y", epsilon=factor, delta=1e-6, ranges={"*": (-1, 1)}, mechanism="totals", classes=names
    )
    made = [features.protect(table, plan, rng=rng) for _ in range(3)]
    exact = 1 if of == "counts" else 0
    noise = np.concatenate([np.ravel(getattr(one.totals, of)) for one in made]) - exact
    return noise * ONE, DiscreteGaussian(scale=made[0].settled["noise"][of] * ONE)


def every_square(factor, rng):
    """What such a plan calls, many times."""
    totals = NoisyTotals(epsilon=factor, delta=1e-6)
    none = ClassMoments.none(classes=2, features=100)
    law = DiscreteGaussian(scale=NoisyTotals(epsilon=1.0, delta=1e-6).noises(features=100)[2].scale)
    return np.concatenate([totals.add_noise(none, rng=rng).squares for _ in range(100)]) * ONE, law


ADDED = {  # and the factor on epsilon that must be noticed: larger where a release with many draws takes long
    "labels laplace": (one_hot, 1.1),
    "labels estimated prior": (estimated_prior, 2.0),
    "estimated prior": (every_estimated_prior, 1.1),
    "bags Laplace": (partial(bag_totals, scale=1), 1.1),
    "bags Gaussian": (partial(bag_totals, delta=1e-6), 1.1),
    "bags counts of records": (partial(bag_totals, of="counts", scale=4, **DECLARED), 1.1),
    "bags totals of records": (partial(bag_totals, scale=4, **DECLARED), 1.1),
    "bags random": (random_bags, 1.1),
    "features rows": (noisy_rows, 1.1),
    "features counts": (partial(class_totals, of="counts"), 1.1),
    "features sums": (partial(class_totals, of="sums"), 1.1),
    "features squares": (partial(class_totals, of="squares"), 2.0),
    "squares": (every_square, 1.1),
}


@pytest.mark.parametrize(("path", "near"), ADDED.values(), ids=ADDED)
def test_added_noise_has_its_law_and_no_law_near_it(path, near):
    rng = np.random.default_rng(1)
    noise, law = path(1.0, rng)
    assert p_value(noise, law) > LEVEL
    assert p_value(0 * noise, law) < LEVEL
    assert p_value(noise // 2, law) < LEVEL
    assert p_value(path(near, rng)[0], law) < LEVEL


# Labels that are drawn: from a factor on epsilon and a generator to counts of (label, output) and their shares


def table_of(inputs, outputs, transition):
    observed = np.zeros(transition.shape)
    np.add.at(observed, (inputs, outputs), 1)
    return observed, transition


def released(plan, codes, rng, **columns):
    return labels.protect(pa.table({"y": codes, **columns}), plan, rng=rng)


CODES = np.arange(60_000) % 3
PRIOR = (0.6, 0.3, 0.1)


def response(factor, rng):
    made = released(labels.Plan(label="y", epsilon=factor, classes="0,1,2"), CODES, rng)
    return table_of(CODES, np.asarray(made.labels), response_matrix(epsilon=1.0, classes=3))


def with_prior(factor, rng):
    made = released(labels.Plan(label="y", epsilon=factor, classes="0,1,2", mechanism="prior", prior=PRIOR), CODES, rng)
    return table_of(CODES, np.asarray(made.labels), exactly(np.array(PRIOR)))


def exactly(prior):
    return np.array(exact_top_k(prior, epsilon=1.0), dtype=float)


def numbers(factor, rng, *, mechanism):
    """The outputs are chosen for epsilon, and are public: the law is that of the outputs at epsilon 1."""
    plan = labels.Plan(label="y", epsilon=factor, values="0,1,2", mechanism=mechanism, prior=PRIOR)
    made = released(plan, CODES, rng)
    places = np.searchsorted(np.sort(made.mechanism.outputs), np.asarray(made.labels))
    order = np.argsort(made.mechanism.outputs)
    own = released(labels.Plan(label="y", epsilon=1, values="0,1,2", mechanism=mechanism, prior=PRIOR), CODES[:3], rng)
    return table_of(CODES, order[places], own.mechanism.transition())


@cache  # both stages are of one release, which takes seconds
def staged(factor):
    plan = labels.Plan(label="y", epsilon=factor, classes="0,1,2", mechanism="staged", features="x")
    return released(plan, CODES, np.random.default_rng(6), x=np.zeros(60_000)).table


def staged_first(factor, _):
    made = staged(factor)
    first = np.asarray(made["stage"]) == 0
    return table_of(CODES[first], np.asarray(made["label"])[first], response_matrix(epsilon=1.0, classes=3))


def label_of_row(factor, rng):
    table = pa.table({"x": np.zeros(60_000), "y": np.array(["a", "b", "c"])[CODES]})
    plan = features.Plan(label="y", epsilon=2 * factor, delta=1e-6, ranges={"*": (-1, 1)}, label_epsilon=factor)
    drawn = np.asarray(features.protect(table, plan, rng=rng).rows["y"])
    return table_of(CODES, np.searchsorted(["a", "b", "c"], drawn), response_matrix(epsilon=1.0, classes=3))


def staged_second(factor, _):
    """All rows look alike, so that one prior was learned for all of them; it is released."""
    made = staged(factor)
    second = np.asarray(made["stage"]) == 1
    prior = np.array(made["prior"].filter(pa.array(second))[0].as_py())
    return table_of(CODES[second], np.asarray(made["label"])[second], exactly(prior / prior.sum()))


DRAWN = {
    "labels rr": response,
    "labels prior": with_prior,
    "labels bins": lambda factor, rng: numbers(factor, rng, mechanism="bins"),
    "labels unbiased": lambda factor, rng: numbers(factor, rng, mechanism="unbiased"),
    "labels staged, first stage": staged_first,
    "labels staged, second stage": staged_second,
    "features labels": label_of_row,
}


@pytest.mark.parametrize("path", DRAWN.values(), ids=DRAWN)
def test_drawn_labels_have_their_law_and_no_law_near_it(path):
    rng = np.random.default_rng(2)
    observed, shares = path(1.0, rng)
    assert fit(observed, shares) > LEVEL
    assert (
        fit(np.rint(observed.sum(axis=1, keepdims=True) * (shares == shares.max(axis=1, keepdims=True))), shares)
        < LEVEL
    )
    assert fit(path(1.1, rng)[0], shares) < LEVEL


# Scores: means over rows, and metrics with noise of their own


def agreement(labels, predictions):
    return float(np.mean(labels == (predictions > 0.5)))


TRUTH, FOUR = np.tile([0, 1], 500), np.tile([0, 0, 1, 1], 250)
METRICS = {  # the metric, the predictions, and by how much one of 1,000 labels can move the score
    "accuracy": (Accuracy(), FOUR, 1 / 1000),
    "auc": (Auc(class_floor=400), FOUR, 599 / (400 * 600)),
    "f1": (F1(class_floor=400), FOUR, 2 / 401),
    "custom": (CustomMetric(metric="agreement", function=agreement, one_label=lambda rows: 1 / rows), FOUR, 1 / 1000),
}


@pytest.mark.parametrize("name", METRICS)
def test_noise_on_scores_has_its_law_and_no_law_near_it(name):
    metric, predictions, moved = METRICS[name]
    measured, law, rng = metric.measure(TRUTH, predictions), DiscreteLaplace(scale=1000), np.random.default_rng(3)

    def noise(factor):
        policy = Laplace(epsilon=0.5 * factor)
        drawn = [policy.release(measured, state={}, rng=rng).mean for _ in range(1500)]
        return (np.array(drawn) - measured.exact) * 1000 * 0.5 / moved

    assert Laplace(epsilon=0.5).scale(metric, rows=1000) == pytest.approx(moved / 0.5, rel=1e-4)
    drawn = noise(1.0)
    assert p_value(drawn, law) > LEVEL
    assert p_value(drawn // 2, law) < LEVEL
    assert p_value(noise(1.2), law) < LEVEL


@pytest.mark.parametrize("name", ["accuracy", "auc", "f1"])
def test_released_scores_carry_this_noise(name):
    metric, predictions, moved = METRICS[name]
    submission = pa.table({"p": predictions})
    plan = scores.Plan(label="y", metric=metric, submissions=200, epsilon=200 * 0.5)
    made = scores.protect(pa.table({"y": TRUTH}), plan, data=[submission] * 200, rng=np.random.default_rng(4))
    exact = metric.measure(TRUTH, predictions).exact
    noise = (np.array([answer["mean"] for answer in made.answers]) - exact) * 1000 * 0.5 / moved
    law = DiscreteLaplace(scale=1000)
    assert p_value(noise, law) > LEVEL
    assert p_value(0 * noise, law) < LEVEL
    assert p_value(noise // 2, law) < LEVEL


def test_refreshed_answers_of_a_holdout_have_their_noise():
    law = DiscreteLaplace(scale=1024)

    def noise(factor):
        holdout = ReusableHoldout(
            rows=100, threshold=0.0, scale=0.01 * factor, refreshes=600, rng=np.random.default_rng(5)
        )
        answers = [holdout.answer([0.0], np.ones(100)) for _ in range(600)]  # far from the training rows
        return np.rint((np.array(answers) - 1) * 100 * 1024)

    assert p_value(noise(1.0), law) > LEVEL
    assert p_value(noise(1.0) // 2, law) < LEVEL
    assert p_value(noise(1 / 1.4), law) < LEVEL


# Choices: what noise on their inputs changes


@pytest.mark.parametrize("factor", [1, 0, 0.5], ids=["as it is", "control: no noise", "control: half"])
def test_class_sizes_are_noisy_where_columns_are_chosen(factor, monkeypatch):
    """The first column is 1 in one class and the second nearly so in the other: only noisy sizes exchange them."""
    draw = NoisyClassRows.draw
    exact = np.array([20, 20])

    def weaker(self, counts, *, rng):
        return np.rint(exact + factor * (draw(self, counts, rng=rng) - exact)).astype(np.int64)

    monkeypatch.setattr(NoisyClassRows, "draw", weaker)
    high = np.array([1.0] * 16 + [0.0] * 4)
    table = pa.table({"a": [*[1.0] * 20, *[0.0] * 20], "b": [*[0.0] * 20, *high], "y": ["u"] * 20 + ["v"] * 20})
    plan = features.Plan(
        label="y",
        epsilon=20,
        delta=1e-6,
        ranges={"*": (-1, 1)},
        select=1,
        selection_epsilon=15,
        mechanism="totals",
        classes="u,v",
    )
    bound = BoundPlan.of(plan, features=2, classes=2, rows=40)
    steps = np.array([table["a"], table["b"]]).T * ONE
    moments = ClassMoments.of(steps.astype(np.int64), np.repeat([0, 1], 20), classes=2)
    rng, times = np.random.default_rng(5), 1000
    second = sum(bound.select(moments, rng=rng)[0] for _ in range(times))  # what features.protect calls
    assert (binomtest(int(second), times, chance_of_second()).pvalue > LEVEL) == (factor == 1)
    assert features.protect(table, plan, rng=rng).features in {("a",), ("b",)}


def chance_of_second():
    """Sizes of 20 under noise of scale 2; scores in 1,024ths of 2/min size, under noise of scale 2 * 1,025/15."""
    size, chance = DiscreteLaplace(scale=2), 0.0
    for one, other in product(range(-60, 61), repeat=2):
        n, m = max(20 + one, 1), max(20 + other, 1)
        gap = math.floor(1024 * min(n, m) / 2 * 20 / n + 0.5) - math.floor(1024 * min(n, m) / 2 * 16 / m + 0.5)
        # the second is chosen if its noise exceeds the first's by more than the gap
        beyond = (
            difference_tail(gap + 1, scale=2 * 1025 / 15)
            if gap >= 0
            else 1 - difference_tail(-gap, scale=2 * 1025 / 15)
        )
        chance += float(size.pmf(one) * size.pmf(other)) * beyond
    return chance


BAG_OF_ROW = np.repeat(np.arange(32), 40)
ODD = np.isin(np.arange(32 * 40), [40, 120, 200, 280])  # one row of four of the bags of ones
ONES = np.where(ODD, 0, BAG_OF_ROW % 2)


@pytest.mark.parametrize("factor", [1, 0, 0.5], ids=["as it is", "control: no noise", "control: half"])
def test_sums_are_noisy_where_bags_are_chosen(factor, monkeypatch):
    """After a set is chosen and measured, its twin has nothing left but noise: more than the third set has, or less."""
    draw = DiscreteLaplace.draw
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda *a, **k: np.rint(factor * draw(*a, **k)).astype(np.int64))
    words = BAG_OF_ROW.astype(str)
    table = pa.table({"a": words, "b": words, "c": np.where(ODD, "u", "v"), "y": ONES})
    rng, times = np.random.default_rng(6), 40

    def third_is_chosen():
        made = choose_sets(
            table, candidates=["a", "b", "c"], sets=2, label="y", loss=LogisticLoss(), epsilon=6.0, rng=rng
        )
        return any(one[0].name == "c" for one in made.sets)

    third = sum(third_is_chosen() for _ in range(times))  # what bags.protect calls
    assert (binomtest(third, times, chance_of_third()).pvalue > LEVEL) == (factor == 1)


@cache
def chance_of_third():
    """Simulated in rows: a label moves a sum by 1, and each of three steps has epsilon 2."""
    rng, rest = np.random.default_rng(7), ONES - 0.5
    sums = rest.reshape(32, 40).sum(axis=1)
    noisy = sums + rng.laplace(scale=0.5, size=(20_000, 32))
    update = np.maximum(1 - 2 * 0.5**2 / noisy**2, 0) * noisy / 40
    twin = np.abs(sums - 40 * update).sum(axis=1)
    apart = ODD.reshape(32, 40).sum(axis=1)
    inside = (rest * ODD).sum() - update @ apart
    third = np.abs(inside) + np.abs(sums.sum() - 40 * update.sum(axis=1) - inside)
    worse = np.exp(-2 / 2 * np.abs(third - twin)) / 2
    return float(np.where(third > twin, 1 - worse, worse).mean())
