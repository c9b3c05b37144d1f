import numpy as np
import pytest

from tacit.privacy import Guarantee, InvalidInput, Unit, UnitMismatch, compose, compose_parallel
from tacit.privacy.loss import GaussianLoss
from tacit.privacy.noise import DiscreteLaplace


def label(epsilon, **more):
    return Guarantee(unit=Unit.LABEL, epsilon=epsilon, **more)


def test_pure_epsilons_add_exactly():
    assert compose([label(0.1)] * 3).epsilon == 0.3
    assert compose([label(0.1), label(0.2), label(1.0)]).epsilon == 1.3


def test_delta_buys_less_than_the_sum_and_never_costs_more():
    many = compose([label(0.01)] * 10_000, delta=1e-6)
    assert 4.8 < many.epsilon < 5.0  # sum: 100
    assert compose([label(1.0)], delta=1e-12).epsilon <= 1.0


def test_composition_of_n_is_n_compositions():
    gaussian = Guarantee.from_loss(GaussianLoss(scale=20.0, sensitivity=1.0), unit=Unit.LABEL, delta=1e-6)
    at_once = compose([gaussian] * 8, delta=1e-6)
    step = gaussian
    for _ in range(7):
        step = compose([step, gaussian], delta=1e-6)
    assert at_once.epsilon == pytest.approx(step.epsilon, rel=1e-5)


def test_grouping_does_not_matter():
    a, b, c = label(0.3), label(0.5, delta=1e-7), label(0.2, delta=1e-8)
    left = compose([compose([a, b], delta=1e-6), c], delta=1e-6)
    right = compose([a, compose([b, c], delta=1e-6)], delta=1e-6)
    assert left.epsilon == pytest.approx(right.epsilon, rel=1e-9)


def test_units_never_add_silently():
    record = Guarantee(unit=Unit.RECORD, epsilon=1.0)
    with pytest.raises(UnitMismatch, match="one label and one for one record do not add"):
        compose([label(1.0), record])
    assert compose([label(1.0), record.for_unit(Unit.LABEL)]).epsilon == 2.0
    with pytest.raises(UnitMismatch, match="2 labels of one person"):
        compose([label(1.0), label(1.0).for_group(rows=2)])


def test_a_delta_is_asked_for():
    with pytest.raises(InvalidInput, match="delta must be given"):
        compose([label(1.0, delta=1e-6)])
    with pytest.raises(InvalidInput, match="delta must be larger than 1e-07"):
        compose([label(1.0, delta=1e-6)], delta=1e-7)
    with pytest.raises(InvalidInput, match="at least one guarantee"):
        compose([])


def test_assumptions_are_kept_once():
    both = compose([label(1.0, assumptions=("a",)), label(1.0, assumptions=("b", "a"))])
    assert both.assumptions == ("a", "b")


def test_disjoint_parts_cost_the_worst_part():
    total = compose_parallel({"a": [label(1.0), label(0.5)], "b": [label(1.2)]})
    assert total.epsilon == 1.5
    assert "share no row" in total.assumptions[-1]
    couple = label(1.0).for_group(rows=2)
    assert "share no row and no person" in compose_parallel({"a": [couple], "b": [couple]}).assumptions[-1]
    with pytest.raises(InvalidInput, match="at least one part"):
        compose_parallel({})
    with pytest.raises(UnitMismatch):
        compose_parallel({"a": [label(1.0)], "b": [Guarantee(unit=Unit.RECORD, epsilon=1.0)]})


def test_parts_by_what_is_protected_cost_the_sum():
    """One row; noised counts of the part it lies in and of the other, by enumeration of the outcomes."""
    noise = DiscreteLaplace.for_epsilon(1.0)
    outcomes = np.arange(-20, 21)

    def losses(before, after):
        one, other = (
            np.log(noise.pmf(outcomes - a) / noise.pmf(outcomes - b)) for a, b in zip(before, after, strict=True)
        )
        return np.add.outer(one, other)

    guarantee = label(1.0)
    worst = compose_parallel({"zeros": [guarantee], "ones": [guarantee]})
    assert losses((1, 0), (0, 0)).max() == pytest.approx(worst.epsilon)  # its own part's count changes, and no other
    assert losses((1, 0), (0, 1)).max() == pytest.approx(2 * worst.epsilon)  # its label decides the part
    assert "no row's part depends on what is protected" in worst.assumptions[-1]
