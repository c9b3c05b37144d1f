"""From a wish to an epsilon: what it keeps to, and that no other epsilon would do."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.labels.mechanisms import RandomizedResponse
from tacit.privacy import InvalidInput
from tacit.privacy.noise import DiscreteLaplace
from tacit.privacy.wishes import epsilon_for_error, epsilon_for_kept, epsilon_for_suspicion


@pytest.mark.parametrize(("before", "after"), [(0.004, 0.1), (0.5, 0.9), (0.01, 0.011)])
def test_no_answer_of_randomized_response_raises_suspicion_above_the_limit_and_a_larger_epsilon_does(before, after):
    def suspicion(epsilon):
        keep = 1 / (1 + math.exp(-epsilon))
        return before * keep / (before * keep + (1 - before) * (1 - keep))

    most = epsilon_for_suspicion(before, after)
    assert suspicion(most) <= after < suspicion(most * 1.001)


@pytest.mark.parametrize(("share", "classes"), [(0.9, 2), (0.4, 3), (0.99, 10)])
def test_the_mechanism_keeps_the_wanted_share_and_less_epsilon_keeps_less(share, classes):
    least = epsilon_for_kept(share, classes=classes)
    kept = [RandomizedResponse(epsilon=e, classes=classes).transition()[0, 0] for e in (least, least * 0.999)]
    assert kept[0] >= share - 1e-9
    assert kept[1] < share


@pytest.mark.parametrize(("error", "level", "sensitivity"), [(10, 0.95, 1), (0, 0.5, 1), (100, 0.99, 3)])
def test_the_noise_is_within_the_error_and_less_epsilon_is_not(error, level, sensitivity):
    least = epsilon_for_error(error, level=level, sensitivity=sensitivity)
    near = [
        DiscreteLaplace(scale=Fraction(sensitivity) / Fraction(e)).pmf(np.arange(-error, error + 1)).sum()
        for e in (least, least * 0.99)
    ]
    assert near[1] < level <= near[0]


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        (lambda: epsilon_for_suspicion(0.2, 0.1), "after must be above the suspicion before, 0.2, got 0.1"),
        (lambda: epsilon_for_suspicion(0.0, 0.1), "before must be between 0 and 1, got 0.0"),
        (lambda: epsilon_for_suspicion(0.1, math.nan), "after must be between 0 and 1, got nan"),
        (lambda: epsilon_for_kept(0.3, classes=3), "share must be above 1/3"),
        (lambda: epsilon_for_kept(0.9, classes=1), "classes must be an integer >= 2"),
        (lambda: epsilon_for_error(1.5), "error must be an integer >= 0"),
        (lambda: epsilon_for_error(1, level=1.0), "level must be between 0 and 1"),
    ],
)
def test_what_cannot_be_wished_for(wish, problem):
    with pytest.raises(InvalidInput, match=problem):
        wish()
