"""Small bags: left out or merged, by their counts alone."""

import itertools

import numpy as np
import pytest

from tacit.bags.mechanisms.sizes import SizeRule
from tacit.privacy import InvalidInput

TINY = [np.array(counts) for counts in itertools.product([1, 2, 3, 7], repeat=4)]


@pytest.mark.parametrize("least", [1, 2, 3, 5, 8])
def test_dropping_keeps_large_bags_in_order(least):
    for counts in TINY:
        plan = SizeRule(least=least).regroup(counts)
        assert plan.add(counts).tolist() == [c for c in counts if c >= least]
        assert plan.kept.tolist() == [i for i, c in enumerate(counts) if c >= least]
        assert plan.dropped == any(c < least for c in counts)


@pytest.mark.parametrize("least", [1, 2, 3, 5, 8])
def test_merging_keeps_every_row_and_no_small_bag(least):
    for counts in TINY:
        plan = SizeRule(least=least, small="merge").regroup(counts)
        sizes = plan.add(counts)
        assert sizes.sum() == counts.sum()
        assert not plan.dropped
        assert (sizes >= min(least, counts.sum())).all()
        if (counts >= least).all():
            assert plan.other is None
        else:
            assert plan.other == len(sizes) - 1
            small = counts[counts < least].sum()
            assert sizes[plan.other] == small or small < least, "more bags join only where they are needed"


def test_the_smallest_large_bag_joins_a_small_rest():
    plan = SizeRule(least=3, small="merge").regroup(np.array([1, 9, 4, 8]))
    assert plan.target.tolist() == [2, 0, 2, 1]


def test_noised_counts_decide_without_an_error():
    assert SizeRule(least=5, small="merge").regroup(np.array([-3.0, 0.0])).add(np.array([1.0, 2.0])).tolist() == [3.0]
    assert SizeRule(least=5).regroup(np.array([-3.0, 0.0])).bags == 0


def test_public_counts_that_leave_nothing_are_refused():
    for rule in (SizeRule(least=9), SizeRule(least=9, small="merge")):
        with pytest.raises(InvalidInput, match="no bag would have 9 rows or more"):
            rule.check(np.array([3, 4]))
    SizeRule().check(np.array([1]))


@pytest.mark.parametrize("least", [0, -1, 1.5])
def test_a_least_size_is_a_whole_number(least):
    with pytest.raises(InvalidInput, match="least must be an integer >= 1"):
        SizeRule(least=least)
