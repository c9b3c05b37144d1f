"""The loss of a group: every pair of inputs several rows apart is dominated, and not by much."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from tacit.privacy import Guarantee, Unit
from tacit.privacy.distribution import LossDistribution
from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss import (
    ApproximateLoss,
    ComposedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PureLoss,
    SampledGaussianLoss,
    loss_from_json,
    loss_to_json,
    sampled_step,
)

NOISES = [
    DiscreteLaplaceLoss(scale=Fraction(3), sensitivity=1),
    DiscreteGaussianLoss(scale=Fraction(5, 2), sensitivity=1),
]


def weights(loss, numbers):
    scale = float(loss.scale)
    power = np.abs(numbers) / scale if isinstance(loss, DiscreteLaplaceLoss) else numbers**2 / (2 * scale * scale)
    mass = np.exp(-power)
    return mass / mass.sum()


def true_delta(loss, shift, epsilon):
    """The least delta between noise on two totals and the same noise after its totals moved by ``shift``."""
    numbers = np.arange(-60, 61, dtype=float)
    before, after = np.ones(1), np.ones(1)
    for move in shift:
        before = np.outer(before, weights(loss, numbers)).ravel()
        after = np.outer(after, weights(loss, numbers - move)).ravel()
    return float(np.maximum(before - math.exp(epsilon) * after, 0).sum())


@pytest.mark.parametrize("loss", NOISES, ids=lambda loss: loss.kind)
@pytest.mark.parametrize("rows", [2, 3])
def test_wherever_the_rows_of_a_person_are_their_loss_is_dominated(loss, rows):
    grouped = loss.for_group(rows)
    gaps = []
    for epsilon in (0.0, 0.3, 0.8, 1.5):
        bound = grouped.distribution().delta_at(epsilon)
        moves = [move for move in product(range(-rows, rows + 1), repeat=2) if sum(map(abs, move)) <= rows]
        worst = max(true_delta(loss, move, epsilon) for move in moves)
        assert worst <= bound * (1 + 1e-6) + 1e-12
        gaps.append(bound - worst)
    assert min(gaps) < 1e-5  # reached where all rows move one total


@pytest.mark.parametrize("loss", NOISES, ids=lambda loss: loss.kind)
def test_the_sensitivity_of_one_row_less_does_not_dominate(loss):
    assert true_delta(loss, (3, 0), 0.5) > loss.for_group(2).distribution().delta_at(0.5) * 1.05


def test_the_classical_bound_is_never_below():
    for rows in (2, 5, 20):
        loss = DiscreteGaussianLoss(scale=Fraction(20), sensitivity=1)
        one = Guarantee(unit=Unit.LABEL, epsilon=loss.epsilon_at(1e-8), delta=1e-8)
        classical = one.for_group(rows=rows)
        assert loss.for_group(rows).epsilon_at(classical.delta) <= classical.epsilon


def pair_of_equal_gradients(rows, *, noise, rate, shift):
    """The laws of a step on a grid of outputs: all rows of the person move it by one, and then by ``shift``."""
    points = np.linspace(-20, 20, 40_001)
    chances = binom.pmf(np.arange(rows + 1), rows, rate)
    laws = (sum(p * norm.pdf(points, i * by, noise) for i, p in enumerate(chances)) for by in (1, shift))
    return [law * (points[1] - points[0]) for law in laws]


def delta_between(before, after, epsilon):
    return float(np.maximum(before - math.exp(epsilon) * after, 0).sum())


@pytest.mark.parametrize(("rows", "rate"), [(1, 0.1), (2, 0.1), (3, 0.5), (4, 1.0)])
def test_a_step_of_dp_sgd_costs_what_gradients_that_agree_reveal_and_no_more(rows, rate):
    noise = 0.9
    (replaced,) = sampled_step(noise, rate=rate, relation="REPLACE_ONE", rows=rows)
    removed, added = sampled_step(noise, rate=rate, relation="ADD_OR_REMOVE_ONE", rows=rows)
    up, down = pair_of_equal_gradients(rows, noise=noise, rate=rate, shift=-1)
    _, still = pair_of_equal_gradients(rows, noise=noise, rate=rate, shift=0)
    pairs = [(replaced, up, down), (removed, up, still), (added, still, up)]
    for bound, before, after in pairs:
        for epsilon in (0.0, 0.5, 1.0, 3.0):
            true = delta_between(before, after, epsilon)
            assert true * (1 - 1e-6) - 1e-9 <= bound.delta_at(epsilon) <= true * 1.01 + 1e-6


@pytest.mark.parametrize("rows", [2, 3])
def test_no_gradients_of_a_person_reveal_more_than_those_that_agree(rows):
    noise, rate = 0.9, 0.4
    rng = np.random.default_rng(rows)
    (replaced,) = sampled_step(noise, rate=rate, relation="REPLACE_ONE", rows=rows)
    removed, added = sampled_step(noise, rate=rate, relation="ADD_OR_REMOVE_ONE", rows=rows)
    (fewer,) = sampled_step(noise, rate=rate, relation="REPLACE_ONE", rows=rows - 1)
    axis = np.linspace(-7, 7, 281)
    x, y = np.meshgrid(axis, axis)

    def law(gradients):
        """The law of a step in the plane, where the rows of the person have these gradients."""
        total = np.zeros_like(x)
        for drawn in product((0, 1), repeat=rows):
            chance = math.prod(rate if one else 1 - rate for one in drawn)
            at = np.array(drawn) @ gradients
            total += chance * np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / (2 * noise**2))
        return total / total.sum()

    def gradients(share):
        """Random directions, or nearly one direction."""
        found = share * rng.normal(size=(rows, 2)) + (1 - share) * np.array([1.0, 0.0])
        return found / np.maximum(1, np.linalg.norm(found, axis=1, keepdims=True))

    nothing = law(np.zeros((rows, 2)))
    most = 0.0
    for share in (0, 0, 0.1, 0.3, 1, 1, 1, 1):
        before, after = law(gradients(share)), law(-gradients(share))
        for epsilon in (0.0, 0.4, 1.2):
            assert delta_between(before, after, epsilon) <= replaced.delta_at(epsilon) + 1e-4
            assert delta_between(before, nothing, epsilon) <= removed.delta_at(epsilon) + 1e-4
            assert delta_between(nothing, before, epsilon) <= added.delta_at(epsilon) + 1e-4
        most = max(most, delta_between(before, after, 1.2) / fewer.delta_at(1.2))
    assert most > 1.05, "control: a row less does not dominate"


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_steps_of_dp_sgd_for_a_person_cost_what_their_sums_say(rows):
    noise, rate, steps = 1.0, 0.01, 300
    up, down = pair_of_equal_gradients(rows, noise=noise, rate=rate, shift=-1)
    kept = up > 1e-26
    ratios = np.log(up[kept]) - np.log(np.maximum(down[kept], 1e-300))
    least = LossDistribution.from_atoms(ratios, up[kept]).power(steps).epsilon_at(1e-5)
    bound = SampledGaussianLoss(noise=noise, rate=rate, steps=steps).for_group(rows).epsilon_at(1e-5)
    assert bound == pytest.approx(least, rel=2e-3)


def test_rows_beyond_a_thousand_count_as_revealed():
    (step,) = sampled_step(30.0, rate=1e-4, relation="REPLACE_ONE", rows=1001)
    assert step.infinity == pytest.approx(-math.expm1(1001 * math.log1p(-1e-4)))
    assert sampled_step(30.0, rate=1.0, relation="REPLACE_ONE", rows=10**30)[0].infinity == 1.0


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_labels_randomized_one_by_one_compose_and_no_smaller_loss_dominates(rows):
    one = Guarantee(unit=Unit.LABEL, epsilon=0.7)
    keep = 1 / (1 + 2 * math.exp(-0.7))  # randomized response on three classes
    response = {y: [keep if out == y else (1 - keep) / 2 for out in range(3)] for y in range(3)}
    apart = one.for_group(rows=rows, apart=True)
    assert (apart.epsilon, apart.rows) == (one.for_group(rows=rows).epsilon, rows)
    fewer = one.for_group(rows=rows - 1, apart=True).privacy_loss.distribution()
    for epsilon in (0.0, 0.4, 1.0):
        before, after = np.ones(1), np.ones(1)
        for _ in range(rows):
            before, after = np.outer(before, response[0]).ravel(), np.outer(after, response[1]).ravel()
        true = float(np.maximum(before - math.exp(epsilon) * after, 0).sum())
        assert true <= apart.privacy_loss.distribution().delta_at(epsilon) + 1e-12
        coins = (
            sum(
                math.comb(rows, k) * max(math.exp((rows - k) * 0.7) - math.exp(epsilon + k * 0.7), 0.0)
                for k in range(rows + 1)
            )
            / (1 + math.exp(0.7)) ** rows
        )  # two classes: the pair itself
        assert apart.privacy_loss.distribution().delta_at(epsilon) == pytest.approx(coins, abs=1e-6)
        if epsilon:  # at 0 the majority of two coins is one coin
            assert fewer.delta_at(epsilon) < coins * 0.99  # control
    chained = one.for_group(rows=rows).privacy_loss
    assert apart.privacy_loss.epsilon_at(1e-3) <= chained.epsilon_at(1e-3) + 1e-6
    many = (ComposedLoss(parts=(loss,), times=30) for loss in (apart.privacy_loss, chained))
    assert next(many).epsilon_at(1e-6) < next(many).epsilon_at(1e-6) * 0.9


def test_parts_are_grouped_before_they_are_composed():
    parts = (*NOISES, PureLoss(epsilon=0.1), GaussianLoss(scale=4.0, sensitivity=1.0))
    grouped = ComposedLoss(parts=parts).for_group(3)
    assert grouped.parts == tuple(part.for_group(3) for part in parts)
    assert grouped.parts[3] == GaussianLoss(scale=4.0, sensitivity=3.0)


def test_losses_of_groups_are_stored():
    for loss in (*NOISES, PureLoss(epsilon=0.3), SampledGaussianLoss(noise=2.0, rate=0.1, steps=5)):
        assert loss_from_json(loss_to_json(loss.for_group(3))) == loss.for_group(3)
    assert SampledGaussianLoss(noise=2.0, rate=0.1, steps=5) == loss_from_json(
        {"kind": "sampled_gaussian", "noise": 2.0, "rate": 0.1, "steps": 5}
    )


def test_a_guarantee_keeps_its_delta_where_the_loss_is_known():
    totals = Guarantee.from_loss(NOISES[1], unit=Unit.LABEL, delta=1e-6)
    person = totals.for_group(rows=10)
    assert person.delta == 1e-6
    assert person.rows == 10
    assert person.epsilon == NOISES[1].for_group(10).epsilon_at(1e-6)
    stated = Guarantee(unit=Unit.LABEL, epsilon=1.0, delta=1e-6).for_group(rows=10)
    assert stated.loss == ApproximateLoss(epsilon=1.0, delta=1e-6).for_group(10)
    assert stated.delta > 1e-3


def test_a_group_that_noise_cannot_hide_is_refused():
    trained = Guarantee.from_loss(SampledGaussianLoss(noise=1.0, rate=0.01, steps=100), unit=Unit.RECORD, delta=1e-5)
    with pytest.raises(
        InvalidInput, match=r"must be fewer: for 200 rows of one person this noise has no epsilon"
    ) as refused:
        trained.for_group(rows=200)
    assert refused.value.field == "rows"


def test_a_group_whose_every_loss_counts_as_infinite_is_told_everything():
    loss = SampledGaussianLoss(noise=0.04, rate=0.9, steps=1, rows=50)
    assert loss.distribution().infinity == 1.0
    assert loss.epsilon_at(1e-6) == np.inf
