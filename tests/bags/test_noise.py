"""Whole releases, enumerated: no output is more than e^epsilon likelier under one neighbor than under the other."""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from papers.label_bags.bags import curate, draw
from tacit.bags.losses import CategoricalLoss, LogisticLoss, PoissonLoss, SquaredLoss
from tacit.bags.mechanisms.assignment import assign_rows
from tacit.bags.mechanisms.drawing import draw_labels, joined_queries, noisy_means
from tacit.bags.mechanisms.engine import GroupedRows, group_rows
from tacit.bags.mechanisms.measure import GridStatistic, public_grid
from tacit.bags.mechanisms.noise import (
    CalibratedNoise,
    GaussianTotalsNoise,
    LaplaceTotalsNoise,
    TotalsQuery,
)
from tacit.bags.mechanisms.sizes import SizeRule
from tacit.bags.mechanisms.totals_rule import TotalsRule
from tacit.bags.partition import KeyColumn
from tacit.data import open_table
from tacit.privacy import InvalidInput, Unit
from tacit.privacy.noise import NoiseGrid, gaussian_scale

EXACT = 1e-12
A, B = KeyColumn("a"), KeyColumn("b", edges=(0.5,))
FEATURES = {"a": [0, 0, 1, 1], "b": [None, 1.0, 1.0, 1.0]}
SETS = {"one": [(A,)], "two": [(A,), (B,)], "nested": [(A,), (A, B), (B,)]}
LOSSES = {
    "log": (LogisticLoss(), [0, 1]),
    "cross_entropy": (CategoricalLoss(classes=3), [0, 1, 2]),
    "squared": (SquaredLoss(lower=-1.0, upper=2.0), [-1.0, 0.3, 2.0]),
    "poisson": (PoissonLoss(most=2), [0, 1, 5]),
}


@dataclass(frozen=True)
class Given:
    """A sampler that draws what it is told to, so that a release shows what the noise is added to."""

    noise: object = 0
    variance: float = 0.0

    def draw(self, size, *, rng):
        return np.broadcast_to(np.asarray(self.noise, dtype=np.int64), size)


def plan(loss, sets, *, noise, sizes=None, unit=Unit.LABEL):
    measure = GridStatistic(loss=loss, grid=public_grid(loss))
    return TotalsRule(measure=measure, noise=noise, unit=unit, sizes=sizes or SizeRule(), partitions=len(sets))


@cache
def grouped_rows(measure, features, labels):
    rows = {name: values[: len(labels)] for name, values in FEATURES.items()}
    return group_rows(open_table(pa.table({**rows, "y": labels})), features=features, label="y", measure=measure)


def centers(rule, sets, labels):
    """Keys, counts and totals in steps of a release whose noise is 0."""
    silent = CalibratedNoise(samplers=(Given(),) * 2 * len(sets), guarantee=None, cover=None)
    made = []
    for at, features in enumerate(sets):
        grouped = rule.prepare(grouped_rows(rule.measure, features, tuple(labels)))
        part = rule.hide(grouped, silent, at=at, rng=None)
        made.append((part.keys, part.counts, np.rint(part.totals / rule.measure.step).astype(int)))
    return made


def log_ratio(one, two, samplers):
    """The largest log ratio of an output's probabilities: coordinates are independent, so the largest ones add up."""
    worst = 0.0
    for (keys, counts, steps), (other_keys, other_counts, other), sampler in zip(one, two, samplers, strict=True):
        if not keys.equals(other_keys) or not np.array_equal(counts, other_counts):
            return math.inf
        outputs = np.arange(min(steps.min(), other.min()) - 5, max(steps.max(), other.max()) + 6)
        for p, q in zip(steps.ravel(), other.ravel(), strict=True):
            rates = np.log(sampler.pmf(outputs - p)) - np.log(sampler.pmf(outputs - q))
            worst += rates.max()
    return float(worst)


def neighbors(values, rows):
    for labels in itertools.product(values, repeat=rows):
        for row in range(rows):
            for value in values:
                if value != labels[row]:
                    yield labels, (*labels[:row], value, *labels[row + 1 :])


def worst_ratio(loss, values, sets, *, samplers, sizes=None, noise, rows=4):
    rule = plan(loss, sets, noise=noise, sizes=sizes)
    seen = {labels: centers(rule, sets, labels) for labels in itertools.product(values, repeat=rows)}
    return max(log_ratio(seen[one], seen[two], samplers) for one, two in neighbors(values, rows))


@pytest.mark.parametrize(
    "sizes", [None, SizeRule(least=2, small="merge"), SizeRule(least=2)], ids=["keep", "merge", "drop"]
)
@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("loss", ["log", "squared"])
def test_no_release_is_likelier_than_epsilon_allows(loss, sets, sizes):
    """All labels of four rows, every change of one: at most epsilon, and epsilon is reached."""
    given, values = LOSSES[loss]
    noise = LaplaceTotalsNoise(epsilon=0.7)
    calibrated = plan(given, SETS[sets], noise=noise).calibrate()
    worst = worst_ratio(
        given,
        values[:2] if loss == "log" else [-1.0, 2.0],
        SETS[sets],
        samplers=calibrated.samplers,
        sizes=sizes,
        noise=noise,
    )
    assert worst <= 0.7 + EXACT
    if sizes is None or sets == "one":
        assert worst == pytest.approx(0.7, abs=1e-9)


@pytest.mark.parametrize("loss", ["cross_entropy", "poisson"])
def test_other_losses_reach_epsilon_too(loss):
    given, values = LOSSES[loss]
    noise = LaplaceTotalsNoise(epsilon=0.7)
    calibrated = plan(given, SETS["two"], noise=noise).calibrate()
    worst = worst_ratio(given, values, SETS["two"], samplers=calibrated.samplers, noise=noise, rows=3)
    assert worst <= 0.7 + EXACT
    assert worst == pytest.approx(0.7, abs=1e-9)


def test_an_unsplit_epsilon_is_found_out():
    """The control: every partition noised as if it were alone."""
    alone = plan(LogisticLoss(), SETS["one"], noise=LaplaceTotalsNoise(epsilon=0.7)).calibrate().samplers
    worst = worst_ratio(
        LogisticLoss(), [0, 1], SETS["nested"], samplers=alone * 3, noise=LaplaceTotalsNoise(epsilon=0.7)
    )
    assert worst == pytest.approx(2.1, abs=1e-9)


def test_a_size_decided_on_labels_is_found_out():
    """The control: bags without a positive label are left out, so the list of bags tells labels."""
    rule = plan(LogisticLoss(), SETS["one"], noise=LaplaceTotalsNoise(epsilon=0.7))
    made = [centers(rule, SETS["one"], labels) for labels in [(0, 0, 0, 0), (0, 0, 0, 1)]]
    told = [[(keys.filter(pa.array(steps[:, 0] > 0)), counts, steps) for keys, counts, steps in one] for one in made]
    assert log_ratio(*told, rule.calibrate().samplers) == math.inf


def test_gaussian_noise_keeps_and_nearly_uses_its_delta():
    """One label moves one total in each of two partitions: delta at epsilon, summed over all outputs of the two."""
    noise = GaussianTotalsNoise(epsilon=1.0, delta=1e-3)
    samplers = plan(LogisticLoss(), SETS["two"], noise=noise).calibrate().samplers

    def delta(first, second):
        outputs = np.arange(-60, 62)
        p = np.multiply.outer(first.pmf(outputs), second.pmf(outputs))
        q = np.multiply.outer(first.pmf(outputs - 1), second.pmf(outputs - 1))
        return np.maximum(p - math.exp(1.0) * q, 0).sum()

    assert 0.97e-3 < delta(*samplers) <= 1e-3
    alone = plan(LogisticLoss(), SETS["one"], noise=noise).calibrate().samplers[0]
    assert delta(alone, alone) > 5e-3, "control: an unsplit budget"


def record_tables():
    """All tables of two rows: the key 7 is not declared."""
    return list(itertools.product(itertools.product([0, 1, 7], [0, 1]), repeat=2))


def record_law(table, rule, features, counts):
    """For each noised vector of counts: its log probability, and the partition that follows with noise 0."""
    rows = open_table(pa.table({"a": [a for a, _ in table], "y": [y for _, y in table]}))
    grouped = rule.prepare(group_rows(rows, features=features, label="y", measure=rule.measure))
    sampler = rule.calibrate().samplers[0]
    law = {}
    for noised in counts:
        noise = np.array(noised) - grouped.counts
        silent = CalibratedNoise(samplers=(Given(noise), Given(0)), guarantee=None, cover=None)
        part = rule.hide(grouped, silent, at=0, rng=None)
        law[noised] = (float(np.log(sampler.pmf(noise)).sum()), part)
    return law


@pytest.mark.parametrize("sizes", [SizeRule(least=2, small="merge"), SizeRule(least=2)], ids=["merge", "drop"])
def test_records_are_protected_with_counts_sizes_and_totals(sizes):
    """A whole row changes: noised counts, what they decide, and totals together stay within epsilon."""
    features = (KeyColumn("a", values=(0, 1)),)
    rule = plan(LogisticLoss(), [features], noise=LaplaceTotalsNoise(epsilon=0.8), sizes=sizes, unit=Unit.RECORD)
    counts = list(itertools.product([0, 2], repeat=4))
    laws = {table: record_law(table, rule, features, counts) for table in record_tables()}
    totals = rule.calibrate().samplers[1]
    worst = 0.0
    for one, two in itertools.permutations(laws, 2):
        if sum(a != b for a, b in zip(one, two, strict=True)) != 1:
            continue
        for noised in counts:
            (p, part), (q, other) = laws[one][noised], laws[two][noised]
            assert part.keys.equals(other.keys)
            assert np.array_equal(part.counts, other.counts)
            moved = np.abs(part.totals - other.totals).sum()
            worst = max(worst, p - q + float(moved / totals.scale))
    assert worst <= 0.8 + EXACT
    assert worst == pytest.approx(0.8, abs=1e-9)


def test_records_without_declared_values_are_refused():
    rule = plan(LogisticLoss(), SETS["one"], noise=LaplaceTotalsNoise(epsilon=0.8), unit=Unit.RECORD)
    made = GroupedRows(features=(A,), keys=pa.table({"a": [1]}), counts=np.array([1]), sums=np.zeros((1, 1)))
    with pytest.raises(InvalidInput, match="must declare the categories or the edges of 'a' for the unit record"):
        rule.prepare(made)


def random_worst(joins, stated):
    """The largest log ratio over all ways to draw 2 bags of 2 out of 3 rows with at most ``joins`` for a row."""
    measure = GridStatistic(loss=LogisticLoss(), grid=public_grid(LogisticLoss()))
    sampler = LaplaceTotalsNoise(epsilon=0.9).calibrate(joined_queries(measure, stated), unit=Unit.LABEL).samplers[0]
    pairs = list(itertools.combinations(range(3), 2))
    worst = 0.0
    for drawn in itertools.product(pairs, repeat=2):
        if np.bincount(np.ravel(drawn)).max() > joins:
            continue
        for one, two in neighbors([0, 1], 3):
            sums = [measure.values(labels)[np.array(drawn)].sum(axis=1) for labels in (one, two)]
            worst = max(worst, float(np.abs(sums[0] - sums[1]).sum() / sampler.scale))
    return worst


def test_random_bags_are_protected_with_their_joins():
    assert random_worst(2, 2) == pytest.approx(0.9, abs=1e-9)
    assert random_worst(2, 1) == pytest.approx(1.8, abs=1e-9), "control: noise for one bag, rows in two"


def test_random_bags_draw_the_noise_that_they_state():
    measure = GridStatistic(loss=LogisticLoss(), grid=public_grid(LogisticLoss()))
    calibrated = LaplaceTotalsNoise(epsilon=1.0).calibrate(joined_queries(measure, 3), unit=Unit.LABEL)
    sums = np.full((50_000, 1), 7.0)
    means, variance = noisy_means(sums, measure, calibrated, size=10, rng=np.random.default_rng(5))
    noise = np.rint(means[:, 0] * 10).astype(int) - 7
    assert variance == pytest.approx(calibrated.samplers[0].variance / 100)
    assert fit(noise, calibrated.samplers[0]) > 1e-6
    assert (
        fit(noise, LaplaceTotalsNoise(epsilon=1.1).calibrate(joined_queries(measure, 3), unit=Unit.LABEL).samplers[0])
        < 1e-6
    )


def fit(noise, sampler):
    """The p-value of drawn noise under a sampler's law."""
    k = np.arange(-12, 13)
    expected = sampler.pmf(k)
    tail = (1 - expected.sum()) / 2
    observed = [(noise < -12).sum(), *[(noise == i).sum() for i in k], (noise > 12).sum()]
    return chisquare(observed, np.array([tail, *expected, tail]) * len(noise)).pvalue


@pytest.mark.parametrize(
    "noise", [LaplaceTotalsNoise(epsilon=1.0), GaussianTotalsNoise(epsilon=1.0, delta=1e-5)], ids=lambda n: n.name
)
def test_a_release_draws_the_noise_that_it_states(noise):
    rule = plan(LogisticLoss(), SETS["two"], noise=noise)
    grouped = GroupedRows(
        features=(A,), keys=pa.table({"a": range(40_000)}), counts=np.full(40_000, 9), sums=np.full((40_000, 1), 4.0)
    )
    calibrated = rule.calibrate()
    part = rule.hide(grouped, calibrated, at=1, rng=np.random.default_rng(3))
    drawn = np.rint(part.totals[:, 0]).astype(int) - 4
    sampler = calibrated.samplers[1]
    assert part.variance == sampler.variance
    assert fit(drawn, sampler) > 1e-6
    assert fit(drawn, type(sampler)(scale=sampler.scale * Fraction(9, 10))) < 1e-6, "control: mis-scaled"


def test_pinned_scales():
    """P = 3, epsilon = 1, delta = 1e-5, one-hot: Laplace 6, Gaussian 9.138144 for real noise."""
    one_hot = GridStatistic(loss=CategoricalLoss(classes=4), grid=public_grid(CategoricalLoss(classes=4)))
    queries = [TotalsQuery(moves=one_hot.label_moves, share=Fraction(1, 3))] * 3
    assert [s.scale for s in LaplaceTotalsNoise(epsilon=1.0).calibrate(queries, unit=Unit.LABEL).samplers] == [6, 6, 6]
    assert gaussian_scale(1.0, delta=1e-5) * math.sqrt(3) * math.sqrt(2) == pytest.approx(9.138144, abs=5e-7)
    found = GaussianTotalsNoise(epsilon=1.0, delta=1e-5).calibrate(queries, unit=Unit.LABEL)
    assert 9.138144 < float(found.samplers[0].scale) < 9.138144 * 1.005
    assert found.guarantee.loss.epsilon_at(1e-5) <= 1.0


def test_records_take_more_gaussian_noise():
    measure = GridStatistic(
        loss=SquaredLoss(lower=-1.0, upper=1.0), grid=public_grid(SquaredLoss(lower=-1.0, upper=1.0))
    )
    assert measure.label_moves == ((1024,),)
    assert measure.record_moves == ((1024,), (512, 512)), "within a bag the sum moves by the range"
    queries = [TotalsQuery(moves=measure.record_moves)]
    found = GaussianTotalsNoise(epsilon=1.0, delta=1e-5).calibrate(queries, unit=Unit.RECORD)
    assert found.guarantee.epsilon == pytest.approx(1.0, rel=1e-9)
    assert float(found.samplers[0].scale) / 1024 > gaussian_scale(1.0, delta=1e-5)


def test_the_guarantee_of_a_release_composes_no_worse_than_it_says():
    halves = plan(LogisticLoss(), SETS["two"], noise=LaplaceTotalsNoise(epsilon=1.0)).calibrate()
    assert halves.guarantee.loss.pure_epsilon == 1.0
    thirds = plan(LogisticLoss(), SETS["nested"], noise=LaplaceTotalsNoise(epsilon=1.0)).calibrate()
    assert thirds.guarantee.epsilon == 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LaplaceTotalsNoise(epsilon=-1.0), "epsilon must be a finite number > 0, got -1.0"),
        (lambda: LaplaceTotalsNoise(epsilon=float("nan")), "epsilon must be a finite number > 0, got nan"),
        (lambda: GaussianTotalsNoise(epsilon=1.0, delta=0.0), "delta must be in"),
        (lambda: public_grid(SquaredLoss()), "needs declared labels"),
        (
            lambda: GridStatistic(loss=LogisticLoss(), grid=replace(public_grid(LogisticLoss()), step=Fraction(1, 10))),
            "power of two",
        ),
    ],
    ids=["negative", "nan", "delta", "range", "step"],
)
def test_bad_budgets_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


@pytest.mark.parametrize(
    ("rows", "size", "bags", "joins"), [(3, 2, 3, 2), (5, 2, 5, 2), (7, 3, 7, 3), (20, 3, 13, 2), (4, 4, 3, 3)]
)
def test_capped_bags_are_always_full(rows, size, bags, joins):
    for seed in range(50):
        made = assign_rows(rows, size=size, bags=bags, joins=joins, rng=np.random.default_rng(seed))
        assert made.shape == (bags, size)
        assert all(len(set(bag)) == size for bag in made.tolist())
        assert np.bincount(made.ravel()).max() <= joins


def test_bernoulli_labels_have_the_means_as_chances():
    drawn = draw_labels(np.full((100_000, 1), 0.3), rng=np.random.default_rng(0))
    assert chisquare([drawn.sum(), (1 - drawn).sum()], [30_000, 70_000]).pvalue > 1e-6
    assert chisquare([drawn.sum(), (1 - drawn).sum()], [32_000, 68_000]).pvalue < 1e-6


def test_sums_that_floats_cannot_hold_are_refused():
    """The sum of 9 labels near 2^51 is a multiple of 4, so a label that may move it by 1 would move it by 4."""
    loss, grid, rng = (
        SquaredLoss(lower=2.0**51, upper=2.0**51 + 1),
        NoiseGrid(step=Fraction(1)),
        np.random.default_rng(0),
    )
    rows = pa.table({"a": [0] * 9, "y": 2.0**51 + np.array([0, 1, 0, 1, 1, 0, 1, 1, 0])})
    noise = LaplaceTotalsNoise(epsilon=1.0)
    with pytest.raises(InvalidInput, match=r"sums of 9 labels stay below 2\^53 steps"):
        curate(rows, by=["a"], label="y", loss=loss, grid=grid, noise=noise, rng=rng)
    with pytest.raises(InvalidInput, match=r"sums of 4 labels stay below 2\^53 steps"):
        draw(rows, size=4, bags=2, joins=1, label="y", loss=loss, grid=grid, noise=noise, rng=rng)
    assert curate(rows.slice(0, 3), by=["a"], label="y", loss=loss, grid=grid, noise=noise, rng=rng).rows == 3


@pytest.mark.parametrize("y", [0.5 - 2**-54, 0.5, -0.5, -0.5 - 2**-53, 1.5 - 2**-52, 2.0**51 + 0.5])
def test_an_engine_rounds_as_the_sensitivity_does(y, engine):
    """0.5 - 2^-54 plus 1/2 is 1 in floats: an engine that added it would move a sum by more than the noise is for."""
    measure = GridStatistic(loss=SquaredLoss(lower=-1.0, upper=2.0**52), grid=NoiseGrid(step=Fraction(1)))
    (found,) = engine([y], measure.in_sql)[0].to_pylist()
    assert found == measure.values([y])[0, 0] == math.floor(Fraction(y) + Fraction(1, 2))
