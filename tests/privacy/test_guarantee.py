import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import mpmath
import pytest

from tacit.privacy import Guarantee, InvalidInput, NoGuarantee, Unit, UnitMismatch
from tacit.privacy.guarantee import guarantee_from_json
from tacit.privacy.loss import DiscreteGaussianLoss, PureLoss


def label(epsilon, **more):
    return Guarantee(unit=Unit.LABEL, epsilon=epsilon, **more)


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        label(1.0).epsilon = 2.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be a finite number >= 0"),
        ({"epsilon": math.nan}, "epsilon must be"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must be in"),
        ({"epsilon": 1.0, "rows": 0}, "rows must be"),
        ({"epsilon": 1.0, "unit": "cell"}, "unit must be one of label, record, bag, got 'cell'"),
    ],
)
def test_bad_fields(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Guarantee(**{"unit": Unit.LABEL, **fields})


def test_a_guarantee_smaller_than_its_loss_is_refused():
    with pytest.raises(InvalidInput, match=r"epsilon must be at least 2\.0"):
        label(1.0, loss=PureLoss(epsilon=2.0))


def test_from_loss_is_tight():
    loss = DiscreteGaussianLoss(scale=Fraction(4), sensitivity=1)
    made = Guarantee.from_loss(loss, unit=Unit.LABEL, delta=3.055455e-6)
    assert made.epsilon == pytest.approx(1.0, abs=1e-5)
    with pytest.raises(InvalidInput, match="delta must be larger"):
        Guarantee.from_loss(loss, unit=Unit.LABEL)


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(0.7, 1e-250, 300), (1.9, 1e-290, 290), (0.1, 1e-200, 200)])
def test_the_delta_of_a_group_is_never_below_that_of_the_decimals(epsilon, delta, k):
    grown = label(epsilon, delta=delta).for_group(rows=k)
    with mpmath.workprec(500):
        e, d, told = (mpmath.mpf(str(x)) for x in (epsilon, delta, grown.delta))
        true = mpmath.expm1(k * e) / mpmath.expm1(e) * d
        assert true <= told <= true * (1 + mpmath.mpf(2) ** -51)


def test_group_privacy():
    grown = label(0.5, delta=1e-6).for_group(rows=3)
    assert grown.epsilon == 1.5
    expected = 1e-6 * (math.exp(1.5) - 1) / (math.exp(0.5) - 1)
    assert expected <= grown.delta <= expected * (1 + 1e-12)
    assert grown.rows == 3
    assert label(0.1).for_group(rows=3).epsilon == 0.3
    assert label(0.0, delta=1e-6).for_group(rows=3).delta == 3e-6
    with pytest.raises(InvalidInput, match="stated once"):
        grown.for_group(rows=2)
    with pytest.raises(InvalidInput, match="delta reaches 1"):
        label(5.0, delta=0.1).for_group(rows=10)


def test_group_privacy_is_what_a_group_loses():
    """k changed labels under randomized response: the composed pair is (k epsilon, 0), reached exactly."""
    from tacit.privacy.loss import ComposedLoss

    assert ComposedLoss(parts=(PureLoss(epsilon=0.5),) * 3).pure_epsilon == label(0.5).for_group(rows=3).epsilon


def test_unit_can_shrink_but_not_grow():
    record = Guarantee(unit=Unit.RECORD, epsilon=1.0)
    assert record.for_unit(Unit.LABEL) == label(1.0)
    with pytest.raises(UnitMismatch, match="a guarantee for one label does not cover one record"):
        label(1.0).for_unit(Unit.RECORD)


def test_json_round_trip():
    loss = DiscreteGaussianLoss(scale=Fraction(9, 2), sensitivity=1)
    for guarantee in (
        Guarantee.from_loss(loss, unit=Unit.RECORD, delta=1e-5, assumptions=("counts are public",)),
        label(1.0).for_group(rows=2),
        NoGuarantee(reason="exact totals"),
    ):
        assert guarantee_from_json(guarantee.to_json()) == guarantee


def test_incomplete_json_is_refused():
    with pytest.raises(InvalidInput, match="a guarantee must have its delta, unit"):
        guarantee_from_json({"epsilon": 1.0})
    with pytest.raises(InvalidInput, match="reason must say why"):
        NoGuarantee(reason=" ")


def test_sentences():
    assert str(label(1.23456, delta=1e-5)) == "epsilon 1.235, delta 1e-5 for one label"
    assert str(label(1.0).for_group(rows=2)) == "epsilon 2 for 2 labels of one person"
