"""Accounts: sums are exact, distributions compose, and where the composition's proof ends."""

import math
from fractions import Fraction

import pytest

from tacit.privacy import Guarantee, Unit
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.loss import ApproximateLoss, DiscreteGaussianLoss, PureLoss


def label(epsilon, delta=0.0):
    return Guarantee(unit=Unit.LABEL, epsilon=epsilon, delta=delta)


def test_sums_are_exact():
    account = PrivacyAccount.of([], delta=0.0)
    for _ in range(1000):
        account = account.add(label(0.001))
    assert account.stated == (1, 0)
    assert account.spent(delta=0.0) == 1.0
    total = 0.0  # not by sum(), which corrects its rounding from Python 3.12 on
    for _ in range(1000):
        total += 0.001
    assert total != 1.0, "control: floats would have been refused, or overspent"


def test_a_charge_that_is_a_curve_leaves_only_the_distribution():
    loss = DiscreteGaussianLoss(scale=Fraction(10), sensitivity=1)
    account = PrivacyAccount.of([label(0.1)], delta=1e-6).add(Guarantee.from_loss(loss, unit=Unit.LABEL, delta=1e-6))
    assert account.stated is None
    assert 0.1 < account.spent(delta=1e-6) < math.inf
    assert PrivacyAccount(stated=None, distribution=None).spent(delta=0.0) == math.inf


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_order_and_grouping_do_not_matter(delta):
    charges = [label(0.1), label(0.3), label(0.1), label(0.2), label(0.3)]
    one_by_one = PrivacyAccount.of([], delta=delta)
    for charge in charges:
        one_by_one = one_by_one.add(charge)
    for order in (charges, charges[::-1], sorted(charges, key=lambda charge: charge.epsilon)):
        assert PrivacyAccount.of(order, delta=delta).spent(delta=delta) == pytest.approx(one_by_one.spent(delta=delta))
    assert (
        PrivacyAccount.of(charges[:-1], delta=delta).spent(delta=delta) < one_by_one.spent(delta=delta) - 0.1
    )  # control


def test_sizes_that_depend_on_outcomes_are_not_covered():
    """docs/proofs/ledger.md: both plans fit the budget, and choosing between them by the outcome does not."""
    first, delta = PureLoss(epsilon=1.0), 0.01
    keep = 1 / (1 + math.exp(-1.0))
    epsilon = 2.0

    def delta_of(loss, at):
        return loss.distribution().delta_at(at)

    tell_all = ApproximateLoss(epsilon=0.0, delta=delta)
    low, high = 1.0, 2.0
    for _ in range(60):  # the second release B: a loss of at most 3, with delta_B(1) = delta / keep
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(PureLoss(epsilon=middle), 1.0) < delta / keep else (low, middle)
    respond = PureLoss(epsilon=low)

    together = first.distribution()
    assert together.compose(tell_all.distribution()).delta_at(epsilon) == pytest.approx(delta, rel=1e-3)
    assert together.compose(respond.distribution()).delta_at(epsilon) == pytest.approx(delta, rel=1e-3)
    by_outcome = keep * delta_of(respond, epsilon - 1.0) + (1 - keep) * delta_of(tell_all, epsilon + 1.0)
    assert by_outcome == pytest.approx((2 - keep) * delta, rel=1e-3)
