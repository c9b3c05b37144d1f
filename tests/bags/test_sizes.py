"""Small bags: left out or merged, by their counts alone."""

import itertools

import numpy as np
import pytest

from tacit.bags.mechanisms.sizes import DropSmall, KeepAll, MergeSmall, check_sizes
from tacit.privacy import InvalidInput

TINY = [np.array(counts) for counts in itertools.product([1, 2, 3, 7], repeat=4)]


@pytest.mark.parametrize("least", [1, 2, 3, 5, 8])
def test_dropping_keeps_large_bags_in_order(least):
    for counts in TINY:
        plan = DropSmall(least=least).regroup(counts)
        assert plan.add(counts).tolist() == [c for c in counts if c >= least]
        assert plan.kept.tolist() == [i for i, c in enumerate(counts) if c >= least]
        assert plan.dropped == any(c < least for c in counts)


@pytest.mark.parametrize("least", [1, 2, 3, 5, 8])
def test_merging_keeps_every_row_and_no_small_bag(least):
    for counts in TINY:
        plan = MergeSmall(least=least).regroup(counts)
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
    plan = MergeSmall(least=3).regroup(np.array([1, 9, 4, 8]))
    assert plan.target.tolist() == [2, 0, 2, 1]


def test_noised_counts_decide_without_an_error():
    assert MergeSmall(least=5).regroup(np.array([-3.0, 0.0])).add(np.array([1.0, 2.0])).tolist() == [3.0]
    assert DropSmall(least=5).regroup(np.array([-3.0, 0.0])).bags == 0


def test_public_counts_that_leave_nothing_are_refused():
    for rule in (DropSmall(least=9), MergeSmall(least=9)):
        with pytest.raises(InvalidInput, match="no bag would have 9 rows or more"):
            check_sizes(rule.regroup(np.array([3, 4])), np.array([3, 4]), rule)
    check_sizes(KeepAll().regroup(np.array([1])), np.array([1]), KeepAll())


@pytest.mark.parametrize("rule", [DropSmall, MergeSmall])
@pytest.mark.parametrize("least", [0, -1, 1.5])
def test_a_least_size_is_a_whole_number(rule, least):
    with pytest.raises(InvalidInput, match="least must be a whole number >= 1"):
        rule(least=least)
