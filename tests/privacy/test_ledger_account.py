"""Accounts: sums are exact, in any order, and say what still fits."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from tacit.privacy import Guarantee, Unit, compose
from tacit.privacy.ledger.account import PrivacyAccount, least_budget
from tacit.privacy.ledger.filter import DeltaUse
from tacit.privacy.loss import DiscreteGaussianLoss, GaussianLoss, SampledGaussianLoss


def label(epsilon, delta=0.0):
    return Guarantee(unit=Unit.LABEL, epsilon=epsilon, delta=delta)


FAINT = Guarantee.from_loss(GaussianLoss(scale=30.0, sensitivity=1.0), unit=Unit.LABEL, delta=1e-6)


def account(epsilon, delta=0.0, *charges):
    return PrivacyAccount.of(charges, budget=label(epsilon, delta))


def test_sums_are_exact():
    spend = account(1.0)
    for _ in range(1000):
        spend = spend.add(label(0.001))
    assert (spend.spent, spend.used, spend.left) == (1.0, 1.0, 0.0)
    total = 0.0  # not by sum(), which corrects its rounding from Python 3.12 on
    for _ in range(1000):
        total += 0.001
    assert total != 1.0, "control: floats would have been refused, or overspent"


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_order_and_grouping_do_not_matter(delta):
    charges = [label(0.1), label(0.3), label(0.1), label(0.2), label(0.3)]
    one_by_one = account(5.0, delta)
    for charge in charges:
        one_by_one = one_by_one.add(charge)
    for order in (charges, charges[::-1], sorted(charges, key=lambda charge: charge.epsilon)):
        assert account(5.0, delta, *order) == one_by_one
    assert account(5.0, delta, *charges[:-1]).used < one_by_one.used  # control
    assert PrivacyAccount(budget=one_by_one.budget).with_sums(one_by_one.to_text()) == one_by_one


@pytest.mark.parametrize(
    "charge",
    [
        Guarantee.from_loss(DiscreteGaussianLoss(scale=Fraction(7), sensitivity=1), unit=Unit.LABEL, delta=1e-6),
        Guarantee.from_loss(SampledGaussianLoss(noise=1.0, rate=0.02, steps=50), unit=Unit.LABEL, delta=1e-6),
        label(2.0, 1e-6),
        compose([label(0.1)] * 100, delta=1e-6),
    ],
    ids=["discrete Gaussian", "DP-SGD", "bare", "a plan of 100"],
)
def test_a_first_charge_may_be_the_whole_budget(charge):
    """It depends on no outcome, so its own price counts."""
    full = account(charge.epsilon, 1e-6, charge)
    assert (full.use, full.used, full.left) == (DeltaUse.SUMS, 1.0, 0.0)
    assert account(charge.epsilon * (1 - 1e-9), 1e-6, charge).used == math.inf  # control
    assert account(charge.epsilon, 1e-6, charge, charge).used == math.inf


def test_what_the_delta_is_for_is_decided_by_the_first_charge_voided_or_not():
    curve = Guarantee.from_loss(DiscreteGaussianLoss(scale=Fraction(7), sensitivity=1), unit=Unit.LABEL, delta=1e-6)
    budget = label(curve.epsilon, 1e-6)
    alone = PrivacyAccount.of([label(0.1)], budget=budget)
    after = PrivacyAccount.of([label(0.1)], budget=budget, first=curve)
    assert (alone.use, after.use) == (DeltaUse.SHARED, DeltaUse.SUMS)


def test_a_bare_delta_after_others_takes_what_was_set_aside():
    shared = account(3.0, 1e-6, label(0.1))
    assert shared.add(label(0.5, 1e-7)).used < 1
    assert shared.add(label(0.5, 2e-7)).used == math.inf


@pytest.mark.parametrize("charges", [1, 7])
@pytest.mark.parametrize(
    ("delta", "before"),
    [
        (1e-6, ()),
        (1e-6, (label(0.1),) * 30),
        (1e-6, (label(1.0),) * 2),
        (1e-6, (FAINT,) * 4),
        (1e-6, (label(1.0, 1e-7),)),
        (0.0, (label(0.1), label(0.7))),
    ],
)
@pytest.mark.parametrize("reserved", [False, True])
def test_what_fits_is_accepted_and_little_more_is_not(delta, before, charges, reserved):
    spend = account(3.0, delta, *before)
    most = spend.fitting(charges=charges, reserved=reserved)
    assert most > 0
    for epsilon, fits in ((most, True), (most * 1.001, False)):
        after = spend
        for one in [compose([label(epsilon)] * charges, delta=delta)] if reserved else [label(epsilon)] * charges:
            after = after.add(one)
        assert (after.used <= 1) is fits


def test_nothing_fits_a_sum_that_is_used_up():
    assert account(1.0, 0.0, label(1.0)).fitting(charges=3) == 0.0
    assert account(1.0, 0.0, label(0.25)).fitting(charges=3) == 0.25


def test_a_budget_for_equal_charges_is_the_least():
    least = least_budget(label(0.2), charges=50, delta=1e-6).epsilon
    assert account(least, 1e-6, *[label(0.2)] * 50).used <= 1
    assert account(least * 0.998, 1e-6, *[label(0.2)] * 50).used == math.inf
    assert compose([label(0.2)] * 50, delta=1e-6).epsilon < least < 10


def test_the_least_budget_accepts_so_many_charges_and_hardly_more():
    one = Guarantee(unit=Unit.LABEL, epsilon=0.1)
    assert least_budget(one, charges=100, delta=0.0).epsilon == 10.0
    least = least_budget(one, charges=100, delta=1e-6)
    assert PrivacyAccount.of([one] * 100, budget=least).used <= 1
    assert PrivacyAccount.of([one] * 100, budget=replace(least, epsilon=least.epsilon * 0.998)).used > 1
    assert PrivacyAccount.of([one] * 102, budget=least).used > 1  # control
