"""Losses and events of dp-accounting have the same cost, in both directions."""

from fractions import Fraction

import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from tacit.privacy import InvalidInput
from tacit.privacy.dp_events import event_of, loss_of_event
from tacit.privacy.loss import (
    ApproximateLoss,
    ComposedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PureLoss,
    SampledGaussianLoss,
)

DELTA = 1e-6
LAPLACE = DiscreteLaplaceLoss(scale=Fraction(7, 2), sensitivity=2)
LOSSES = {
    "pure": PureLoss(epsilon=1.1),
    "nothing": PureLoss(epsilon=0.0),
    "laplace": LAPLACE,
    "gaussian": GaussianLoss(scale=8.0, sensitivity=2.0),
    "sampled": SampledGaussianLoss(noise=1.2, rate=0.02, steps=60),
    "composed": ComposedLoss(parts=(LAPLACE, PureLoss(epsilon=0.3), PureLoss(epsilon=0.3)), times=5),
}


def priced(event, *, replace_one):
    relation = NeighboringRelation.REPLACE_ONE if replace_one else NeighboringRelation.REPLACE_SPECIAL
    accountant = PLDAccountant(relation, value_discretization_interval=1e-4)
    return accountant.compose(event).get_epsilon(DELTA)


@pytest.mark.parametrize("replace_one", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_costs_what_its_event_costs_and_comes_back(name, replace_one):
    loss = LOSSES[name]
    if name == "sampled" and not replace_one:
        with pytest.raises(InvalidInput, match="without replace_one"):
            event_of(loss)
        return
    event = event_of(loss, replace_one=replace_one)
    dearer = 1.2 if replace_one and name in ("laplace", "composed") else 1.01  # Laplace noise as randomized response
    assert loss.epsilon_at(DELTA) * 0.999 <= priced(event, replace_one=replace_one)
    assert priced(event, replace_one=replace_one) <= loss.epsilon_at(DELTA) * dearer + 1e-3
    if dearer > 1.1:
        return
    back = loss_of_event(event, replace_one=replace_one)
    assert loss.epsilon_at(DELTA) * (1 - 1e-6) <= back.epsilon_at(DELTA) <= loss.epsilon_at(DELTA) * 1.001


def test_control_another_loss_costs_something_else():
    assert (
        priced(event_of(PureLoss(epsilon=1.2), replace_one=True), replace_one=True)
        > LOSSES["pure"].epsilon_at(DELTA) * 1.05
    )
    gaussian = event_of(LOSSES["gaussian"], replace_one=True)
    assert priced(gaussian, replace_one=False) < LOSSES["gaussian"].epsilon_at(DELTA) / 1.5  # the other relation


@pytest.mark.parametrize(
    ("event", "epsilon"),
    [
        (dp_event.LaplaceDpEvent(4.0), 0.25),
        (dp_event.RandomizedResponseDpEvent(0.5, 4), 1.6094379124341003),  # log(1 + 4 * 0.5/0.5)
    ],
)
def test_pure_events(event, epsilon):
    assert loss_of_event(event).pure_epsilon == pytest.approx(epsilon, rel=1e-12)
    assert loss_of_event(event).pure_epsilon >= epsilon


def test_discrete_gaussian_noise_is_priced_from_above():
    loss = DiscreteGaussianLoss(scale=Fraction(5), sensitivity=1)
    theirs = RdpAccountant().compose(event_of(loss), 20).get_epsilon(DELTA)
    ours = ComposedLoss(parts=(loss,), times=20).epsilon_at(DELTA)
    assert ours <= theirs <= 1.15 * ours


@pytest.mark.parametrize(
    "loss", [ApproximateLoss(epsilon=1.0, delta=1e-6), SampledGaussianLoss(noise=1.0, rate=0.1, steps=3, rows=2)]
)
def test_what_has_no_event_is_rejected(loss):
    with pytest.raises(InvalidInput, match="must have an event"):
        event_of(loss, replace_one=True)


@pytest.mark.parametrize(
    "event",
    [
        dp_event.NonPrivateDpEvent(),
        dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.0)),
        dp_event.ZCDpEvent(0.1),
    ],
)
def test_what_has_no_loss_is_rejected(event):
    with pytest.raises(InvalidInput, match="known here"):
        loss_of_event(event)
