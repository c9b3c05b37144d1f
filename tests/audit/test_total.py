import pytest

from tacit.audit import RunLimits, faults
from tacit.audit.total import add_up
from tacit.privacy import Guarantee, NoGuarantee, Unit

TRUTH = [0, 1] * 10


@pytest.fixture
def made(finding):
    return lambda guarantee, **parts: finding(guarantee, TRUTH, TRUTH, **parts)


def test_guarantees_to_labels_and_records_add_up_for_one_label(made):
    label, record = (Guarantee(unit=unit, epsilon=1.5) for unit in (Unit.LABEL, Unit.RECORD))
    (total,) = add_up([made(label), made(record)], delta=1e-6)
    assert (total.guarantee.epsilon, total.guarantee.unit, total.releases) == (3.0, Unit.LABEL, 2)


def test_a_delta_is_composed_at_the_plans_delta(made):
    part = Guarantee(unit=Unit.LABEL, epsilon=1.0, delta=1e-8)
    (total,) = add_up([made(part)] * 2, delta=1e-6)
    assert total.guarantee.delta == 1e-6
    assert 1.0 < total.guarantee.epsilon <= 2.0


def test_one_release_without_a_guarantee_leaves_none(made):
    (total,) = add_up([made(Guarantee(unit=Unit.LABEL, epsilon=1.0)), made(NoGuarantee(reason="exact"))], delta=1e-6)
    assert isinstance(total.guarantee, NoGuarantee)
    assert total.guarantee.reason.endswith("a release; the rest costs epsilon 1 for one label")


def test_tables_are_added_up_apart(made):
    part = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    totals = add_up([made(part, data="a"), made(part, data="b")], delta=1e-6)
    assert [(total.data, total.guarantee.epsilon) for total in totals] == [("a", 1.0), ("b", 1.0)]


def test_the_limit_is_on_the_total(made, finding, run_of):
    quiet = [finding(Guarantee(unit=Unit.LABEL, epsilon=1.0), [0] * 20, TRUTH)] * 2
    run = run_of(*quiet, totals=add_up(quiet, delta=1e-6))
    assert faults(run, RunLimits(epsilon=2.0)) == ()
    assert "the limit is epsilon 1.5" in faults(run, RunLimits(epsilon=1.5))[0]
    open_run = run_of(totals=add_up([made(NoGuarantee(reason="exact"))], delta=1e-6))
    assert "no guarantee" in faults(open_run, RunLimits(epsilon=100))[0]


def test_a_delta_above_the_plans_is_added_to_it(made):
    """DP-SGD's guarantee has no epsilon at a smaller delta; a plan with the defaults must still have a total."""
    (total,) = add_up([made(Guarantee(unit=Unit.RECORD, epsilon=3.0, delta=1e-5))], delta=1e-6)
    assert total.guarantee.epsilon == pytest.approx(3.0)
    assert total.guarantee.delta == pytest.approx(1.1e-5)


def test_a_guarantee_to_several_rows_covers_each(made):
    several = Guarantee(unit=Unit.LABEL, epsilon=1.0).for_group(rows=3)
    (total,) = add_up([made(several), made(Guarantee(unit=Unit.LABEL, epsilon=1.0))], delta=1e-6)
    assert (total.guarantee.epsilon, total.guarantee.rows) == (4.0, 1)


def test_a_guarantee_to_a_bag_covers_no_label(made):
    (total,) = add_up([made(Guarantee(unit=Unit.BAG, epsilon=1.0), setting="totals")], delta=1e-6)
    assert str(total.guarantee) == "no guarantee: no guarantee for a label holds for totals"


def test_the_total_assumes_what_its_parts_assume(made):
    parts = [Guarantee(unit=Unit.LABEL, epsilon=1.0, assumptions=(text,)) for text in ("one", "two")]
    assert add_up([made(part) for part in parts], delta=1e-6)[0].guarantee.assumptions == ("one", "two")
