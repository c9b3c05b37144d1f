"""Releases that are reserved: priced together, made in any order, replaced only by what reveals less."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from sqlalchemy import delete, insert, text

from tacit import labels
from tacit.privacy import Guarantee, Unit, compose
from tacit.privacy.errors import BudgetExceeded, InvalidInput, LedgerError
from tacit.privacy.ledger import DataSetPart, Ledger
from tacit.privacy.ledger.rows import seal
from tacit.privacy.ledger.schema import RESERVATION, USE
from tacit.privacy.loss import (
    ApproximateLoss,
    ComposedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PureLoss,
    SampledGaussianLoss,
)
from tacit.privacy.loss.domination import dominates
from tacit.privacy.payment import Payment

BUDGET = Guarantee(unit=Unit.LABEL, epsilon=1.5, delta=1e-6)
SMALL = Guarantee(unit=Unit.LABEL, epsilon=0.01)
LAPLACE = DiscreteLaplaceLoss(scale=Fraction(4), sensitivity=2)
GAUSSIAN = DiscreteGaussianLoss(scale=Fraction(5), sensitivity=1)
SAMPLED = SampledGaussianLoss(noise=1.0, rate=0.1, steps=10)


def pure(epsilon):
    return PureLoss(epsilon=epsilon)


@pytest.mark.parametrize(
    ("loss", "covered", "not_covered"),
    [
        (pure(0.5), [pure(0.5), pure(0.4), LAPLACE], [pure(0.5000001), GAUSSIAN]),
        (ApproximateLoss(epsilon=1.0, delta=1e-5), [pure(1.0), GaussianLoss(scale=5.0, sensitivity=1.0)], [pure(1.1)]),
        (LAPLACE, [DiscreteLaplaceLoss(scale=Fraction(4), sensitivity=1), pure(0.2)], [pure(0.5), GAUSSIAN]),
        (LAPLACE, [DiscreteLaplaceLoss(scale=Fraction(5), sensitivity=2)], [pure(0.45)]),
        (GAUSSIAN.for_group(3), [GAUSSIAN, GAUSSIAN.for_group(2)], [GAUSSIAN.for_group(4), pure(0.7)]),
        (DiscreteLaplaceLoss(scale=Fraction(2), sensitivity=300), [pure(10.0)], [pure(151.0)]),
        (
            DiscreteGaussianLoss(scale=Fraction(2 * 10**4), sensitivity=2 * 10**4),
            [],
            [pure(0.3)],
        ),  # as several outcomes are taken together
        (DiscreteLaplaceLoss(scale=Fraction(10**5), sensitivity=4 * 10**5), [], [pure(0.3)]),  # the same
        (GAUSSIAN, [pure(0.155), DiscreteLaplaceLoss(scale=Fraction(8), sensitivity=1)], [pure(0.17), LAPLACE]),
        (GaussianLoss(scale=2.0, sensitivity=1.0), [GaussianLoss(scale=4.0, sensitivity=2.0), pure(0.3)], [pure(0.5)]),
        (
            SAMPLED,
            [
                SampledGaussianLoss(noise=1.1, rate=0.1, steps=10),
                SampledGaussianLoss(noise=1.0, rate=0.05, steps=10),
                SampledGaussianLoss(noise=1.0, rate=0.1, steps=9),
                pure(0.0),
            ],
            [
                SampledGaussianLoss(noise=0.9, rate=0.1, steps=10),
                SampledGaussianLoss(noise=1.0, rate=0.11, steps=10),
                SampledGaussianLoss(noise=1.0, rate=0.1, steps=11),
                SAMPLED.for_group(2),
                pure(0.1),
            ],
        ),
        (
            ComposedLoss(parts=(pure(0.5), GAUSSIAN), times=2),
            [pure(0.4), ComposedLoss(parts=(pure(0.4), pure(0.1))), ComposedLoss(parts=(LAPLACE,), times=2)],
            [ComposedLoss(parts=(pure(0.4),), times=3), pure(0.6), ComposedLoss(parts=(GAUSSIAN, GAUSSIAN))],
        ),
    ],
)
def test_what_may_take_the_place_of_a_release(loss, covered, not_covered):
    assert [dominates(loss, one) for one in covered] == [True] * len(covered)
    assert [dominates(loss, one) for one in not_covered] == [False] * len(not_covered)


def test_a_stated_delta_covers_a_curve_at_that_delta_and_not_at_twice_of_it():
    noise = GaussianLoss(scale=4.0, sensitivity=1.0)
    at, below = noise.epsilon_at(1e-5), noise.epsilon_at(2e-5)
    assert dominates(ApproximateLoss(epsilon=at, delta=1e-5), noise)
    assert not dominates(ApproximateLoss(epsilon=below, delta=1e-5), noise)


def curve(loss, epsilons):
    """The true curve, from the masses of the noise."""
    if isinstance(loss, PureLoss):
        keep = 1 / (1 + math.exp(-loss.epsilon))
        before, after = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    else:
        numbers, scale = np.arange(-150, 151), float(loss.scale)
        power = abs(numbers) / scale if isinstance(loss, DiscreteLaplaceLoss) else numbers**2 / (2 * scale**2)
        before = np.exp(-power) / np.exp(-power).sum()
        after = np.roll(before, loss.sensitivity)
    return np.array([np.maximum(before - math.exp(e) * after, 0).sum() for e in epsilons])


def test_a_release_that_takes_a_place_lies_below_it_everywhere():
    rng = np.random.default_rng(5)
    epsilons = np.linspace(0, 1.5, 60)
    accepted = least = wrong = 0
    for _ in range(120):
        scales = [Fraction(int(n), 4) for n in rng.integers(4, 24, 2)]
        kinds = [DiscreteLaplaceLoss, DiscreteGaussianLoss]
        place = kinds[rng.integers(2)](scale=scales[0], sensitivity=int(rng.integers(1, 4)))
        other = (
            pure(float(rng.choice([0.05, 0.2, 0.5])))
            if rng.random() < 0.4
            else kinds[rng.integers(2)](scale=scales[1], sensitivity=int(rng.integers(1, 4)))
        )
        below = curve(other, epsilons) <= curve(place, epsilons) + 1e-13
        if dominates(place, other):
            accepted += 1
            assert below.all(), (place, other)
        least += bool(below.all())
        wrong += below[30] and not below.all()
    assert 20 < accepted <= least
    assert wrong > 3, "control: less at one delta is not less everywhere"


PLACES, MENU = (0.3, 0.3, 0.9, 1.2), (0.1, 0.3, 0.6, 0.9, 1.2)


def delta_of_the_best_analyst(epsilon, allowed):
    """The largest delta over all who choose place and release after looking, by enumeration."""

    @cache
    def best(left, loss):
        most = max(0.0, -math.expm1(epsilon - loss))
        for i, place in enumerate(left):
            rest = left[:i] + left[i + 1 :]
            for one in MENU:
                if allowed(place, one):
                    keep = 1 / (1 + math.exp(-one))
                    up, down = (best(rest, round(loss + sign * one, 9)) for sign in (1, -1))
                    most = max(most, keep * up + (1 - keep) * down)
        return most

    return best(PLACES, 0.0)


def test_who_chooses_order_and_replacements_after_looking_gains_nothing():
    whole = ComposedLoss(parts=tuple(pure(one) for one in PLACES)).distribution()
    for epsilon in (0.5, 1.2, 2.0):
        paid = whole.delta_at(epsilon)
        best = delta_of_the_best_analyst(epsilon, lambda place, one: dominates(pure(place), pure(one)))
        assert best == pytest.approx(paid, rel=1e-3)
        assert best <= paid * (1 + 1e-9)
        freely = delta_of_the_best_analyst(epsilon, lambda place, one: one <= 1.35 * place)
        assert freely > 1.02 * paid, "control: releases that are not dominated reveal more"


@pytest.fixture
def reserved(ledger):
    ledger.register([0, 1, 1, 0], name="adult", budget=BUDGET)
    ledger.reserve("adult", *[SMALL] * 3, Guarantee(unit=Unit.LABEL, epsilon=0.5), purpose="a plan")
    return ledger


def use(ledger, epsilon, of="adult/1", **more):
    one = Guarantee(unit=Unit.LABEL, epsilon=epsilon)
    return ledger.charge("adult", one, purpose="a release", reserved=of, **more).id


def test_reserved_releases_cost_nothing_more_and_each_is_made_once(reserved):
    before = reserved.statement("adult")
    assert use(reserved, 0.01) == "adult/2"  # of its own place, though that of 0.5 would do
    assert [use(reserved, one) for one in (0.3, 0.005, 0.01)] == ["adult/3", "adult/4", "adult/5"]
    with pytest.raises(BudgetExceeded, match=r"adult/1 has no release left .* left are none, so nothing was recorded"):
        use(reserved, 0.001)
    after = reserved.statement("adult")
    assert (after.used, after.left, after.lifetime) == (before.used, before.left, before.lifetime)
    assert [entry.reserved_by for entry in after.entries] == [None, *["adult/1"] * 4]
    assert after.entries[0].reserves == 4
    assert reserved.verify() == 5


def test_nothing_comes_back_from_a_reservation(reserved):
    use(reserved, 0.01)
    for entry in ("adult/1", "adult/2"):
        with pytest.raises(LedgerError, match="nothing comes back from a reservation"):
            reserved.void(entry, reason="not needed")
    later = reserved.reserve("adult", SMALL, purpose="unused")
    reserved.void(later.id, reason="declared by mistake")
    with pytest.raises(LedgerError, match="adult/3 was voided"):
        use(reserved, 0.01, of=later.id)


@pytest.mark.parametrize(
    ("of", "problem"),
    [("adult/2", "adult/2 reserves no releases"), ("adult/9", "reserves no"), ("other/1", "must be a charge of adult")],
)
def test_a_charge_that_reserves_nothing_pays_for_no_release(reserved, of, problem):
    reserved.charge("adult", compose([SMALL, SMALL], delta=1e-6), purpose="made at once")
    with pytest.raises((LedgerError, InvalidInput), match=problem):
        use(reserved, 0.01, of=of)


def test_a_first_plan_has_the_price_of_composition_and_a_later_one_that_of_the_filter(sqlite_location):
    one = Guarantee(unit=Unit.LABEL, epsilon=0.0109)
    ledger = Ledger.create(sqlite_location)
    ledger.register([0, 1], name="adult", budget=BUDGET)
    assert ledger.would_exceed("adult", *[one] * 1000)
    assert not ledger.would_exceed("adult", *[one] * 1000, reserved=True)
    assert ledger.fitting("adult", charges=1000) < 0.0109 <= ledger.fitting("adult", charges=1000, reserved=True)
    assert compose([one] * 1000, delta=1e-6).epsilon <= 1.5 < 1000 * 0.0109
    ledger.register([0, 2], name="later", budget=BUDGET)
    ledger.charge("later", SMALL, purpose="first")
    with pytest.raises(BudgetExceeded):
        ledger.reserve("later", *[one] * 1000, purpose="a plan")
    assert ledger.reserve("adult", *[one] * 1000, purpose="a plan").used == 1


def test_a_reservation_covers_its_parts_alone(sqlite_location):
    ledger = Ledger.create(sqlite_location)
    parts = [DataSetPart(name="train", rows=range(3)), DataSetPart(name="test", rows=range(3, 5))]
    ledger.register([0, 1, 0, 1, 1], name="adult", budget=BUDGET, parts=parts)
    ledger.reserve("adult", SMALL, SMALL, purpose="a plan", parts=["train"])
    with pytest.raises(InvalidInput, match="must be parts of adult/1, got test"):
        use(ledger, 0.01, parts=["train", "test"])
    payment = Payment(ledger=ledger, reserved="adult/1")
    prints = ledger.recognize(_batches([0, 1, 0, 1, 1]), private=["y"])[0]
    with pytest.raises(InvalidInput, match="must contain all 5 rows"):
        payment.settle(ledger.key_of(b"all"), SMALL, purpose="x", prints=prints)
    assert payment.settle(ledger.key_of(b"train"), SMALL, purpose="x").entry == "adult/2"
    assert [part.used > 0 for part in ledger.statement("adult").parts] == [True, False]


def _batches(values):
    import pyarrow as pa

    return [pa.record_batch({"y": values})]


def test_a_payment_takes_a_reserved_release_and_finds_it_again(sqlite_location, tmp_path):
    import pyarrow as pa

    table = pa.table({"ill": ["yes", "no"] * 20})
    ledger = Ledger.create(sqlite_location)
    ledger.register(table["ill"], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    half = Guarantee(unit=Unit.LABEL, epsilon=0.5)
    ledger.reserve("visits", half, half, purpose="two releases")
    payment = Payment(ledger=ledger, reserved="visits/1", store=tmp_path / "store")
    plan = labels.Plan(label="ill", epsilon=0.4)
    first = labels.protect(table, plan, payment=payment)
    assert first.receipt is not None
    assert first.receipt.id == "visits/2"
    assert first.receipt.left == 0
    again = labels.protect(table, plan, payment=payment)
    assert again.repeated
    assert again.table.equals(first.table)
    with pytest.raises(BudgetExceeded):
        labels.protect(table, labels.Plan(label="ill", epsilon=0.1), payment=Payment(ledger=ledger))
    with pytest.raises(InvalidInput, match="reserved must be left out with entry"):
        Payment(ledger=ledger, reserved="visits/1", entry="visits/2")


def test_an_export_brings_reservations_back(reserved, tmp_path):
    use(reserved, 0.4)
    restored = Ledger.create(tmp_path / "restored.db", restore=reserved.export(tmp_path / "export.json"))
    assert restored.verify(tmp_path / "export.json") == 2
    with pytest.raises(BudgetExceeded, match=r"left are 3 of epsilon 0\.01"):
        use(restored, 0.4)
    assert use(restored, 0.01) == "adult/3"


@pytest.mark.parametrize("edit", ["a use is deleted", "a use names another place", "a charge is marked"])
def test_an_edit_that_frees_a_place_is_found_on_opening(sqlite_location, edit):
    ledger = Ledger.create(sqlite_location)
    ledger.register([0, 1], name="adult", budget=BUDGET)
    ledger.charge("adult", SMALL, purpose="made at once")
    ledger.reserve("adult", SMALL, SMALL, purpose="a plan")
    use(ledger, 0.01, of="adult/2")
    with ledger.transaction() as rows:
        for verb in ("update", "delete"):
            rows.connection.execute(text(f"DROP TRIGGER ledger_use_no_{verb}"))
        marked = {"data_set": 1, "number": 1}
        moved = {"data_set": 1, "number": 3, "reservation": 2, "place": 1}
        secret = ledger._secret
        if edit == "a use is deleted":
            rows.connection.execute(delete(USE))
        elif edit == "a charge is marked":
            values = {**marked, "seal": seal(secret, RESERVATION.name, marked)}
            rows.connection.execute(insert(RESERVATION).values(**values))
        else:
            rows.connection.execute(USE.update().values(**moved, seal=seal(secret, USE.name, moved)))
    with pytest.raises(LedgerError, match=r"damaged: adult/\d was changed"):
        Ledger.open(sqlite_location)


def test_many_places_are_counted_and_not_listed(sqlite_location):
    ledger = Ledger.create(sqlite_location)
    ledger.register([0, 1], name="adult", budget=BUDGET)
    loss = ComposedLoss(parts=(pure(1e-5), pure(2e-5)), times=10**4)
    ledger.reserve("adult", Guarantee(unit=Unit.LABEL, epsilon=0.3, loss=loss), purpose="a plan")
    assert [use(ledger, epsilon) for epsilon in (1e-5, 2e-5, 1.5e-5)] == ["adult/2", "adult/3", "adult/4"]
    assert ledger.statement("adult").entries[0].reserves == 2 * 10**4
    with ledger._reading() as rows:
        assert [row["place"] for row in rows.find(USE)] == [0, 1, 3]


def test_a_release_takes_the_least_place_that_covers_it(sqlite_location):
    ledger = Ledger.create(sqlite_location)
    ledger.register([0, 1], name="adult", budget=Guarantee(unit=Unit.LABEL, epsilon=2.0))
    ledger.reserve("adult", *(Guarantee(unit=Unit.LABEL, epsilon=e) for e in (0.9, 0.5, 0.1)), purpose="a plan")
    use(ledger, 0.3)
    use(ledger, 0.3)
    with ledger._reading() as rows:
        assert [row["place"] for row in rows.find(USE)] == [1, 0]


def test_what_cannot_be_reserved(reserved):
    with pytest.raises(InvalidInput, match="at least one guarantee"):
        reserved.reserve("adult", purpose="nothing")
    with pytest.raises(InvalidInput, match="purpose must be one line"):
        reserved.reserve("adult", SMALL, purpose="")
    approximate = Guarantee(unit=Unit.LABEL, epsilon=0.1, delta=1e-6)
    with pytest.raises(InvalidInput, match="delta must be larger"):
        reserved.reserve("adult", approximate, approximate, purpose="too much delta")
