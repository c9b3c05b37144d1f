import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tacit.privacy import InvalidInput
from tacit.privacy.loss.curve import discrete_gaussian_delta, discrete_gaussian_epsilon
from tacit.privacy.noise import gaussian_scale
from tacit.privacy.rounding import exact


def brute_force(scale, epsilon, sensitivity):
    """The sum over outputs of max(0, P - e^epsilon Q), with 60 digits; what is left out is below 1e-100."""
    with mpmath.workdps(60):
        s = mpmath.mpf(scale.numerator) / scale.denominator
        eps = exact(epsilon)
        E = mpmath.exp(mpmath.mpf(eps.numerator) / eps.denominator)
        reach = int(22 * float(scale)) + sensitivity + 3
        bell = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in range(-reach, reach + 1)}
        total = mpmath.fsum(bell.values())
        gaps = (bell[k] - E * bell[k + sensitivity] for k in range(-reach, reach - sensitivity))
        return mpmath.fsum(gap for gap in gaps if gap > 0) / total


def test_published_numbers():
    assert f"{discrete_gaussian_delta(Fraction(4), epsilon=1.0, sensitivity=1):.6e}" == "3.055455e-06"
    assert round(discrete_gaussian_delta(Fraction(1), epsilon=1.0, sensitivity=1), 6) == 0.141351


@given(st.fractions(min_value=Fraction(1, 5), max_value=20, max_denominator=50), st.floats(0, 6), st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_delta_is_never_below_the_sum_over_outputs_and_within_1e_9(scale, epsilon, sensitivity):
    true = brute_force(scale, epsilon, sensitivity)
    ours = discrete_gaussian_delta(scale, epsilon=epsilon, sensitivity=sensitivity)
    assert ours >= true
    assert ours <= true * (1 + mpmath.mpf("1e-9")) + mpmath.mpf("1e-40")


def test_control_the_continuous_curve_is_below_the_truth():
    s = 4.0
    continuous = norm.cdf(0.5 / s - s) - math.e * norm.cdf(-0.5 / s - s)
    assert continuous == pytest.approx(2.924272e-6, abs=5e-13)
    assert continuous < brute_force(Fraction(4), 1.0, 1)


@given(st.fractions(min_value=Fraction(1, 3), max_value=60, max_denominator=20), st.floats(0.01, 5))
@settings(max_examples=30, deadline=None)
def test_smaller_changes_give_away_less(scale, epsilon):
    deltas = [discrete_gaussian_delta(scale, epsilon=epsilon, sensitivity=d) for d in (1, 2, 3, 10)]
    assert deltas == sorted(deltas)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(4), Fraction(300)])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_epsilon_inverts_delta(scale, delta):
    epsilon = discrete_gaussian_epsilon(scale, delta=delta, sensitivity=1)
    assert discrete_gaussian_delta(scale, epsilon=epsilon, sensitivity=1) <= delta
    if epsilon:
        assert discrete_gaussian_delta(scale, epsilon=epsilon * (1 - 1e-8), sensitivity=1) > delta


def test_much_noise_and_a_large_delta_cost_nothing():
    assert discrete_gaussian_epsilon(Fraction(1000), delta=0.01, sensitivity=1) == 0.0


def test_large_scales_tend_to_the_continuous_curve():
    scale = Fraction(10**8)
    ours = discrete_gaussian_delta(scale, epsilon=1.0, sensitivity=25_000_000)
    continuous = norm.cdf(0.125 - 4) - math.e * norm.cdf(-0.125 - 4)
    assert ours == pytest.approx(continuous, rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "scale"),
    [(1, 1e-5, 3.730632), (0.5, 1e-5, 7.031827), (1, 1e-6, 4.224679), (8, 1e-5, 0.600229)],
)
def test_published_scales_of_real_noise(epsilon, delta, scale):
    assert round(gaussian_scale(epsilon, delta=delta), 6) == scale
    assert gaussian_scale(epsilon, delta=delta, sensitivity=3.0) == pytest.approx(3 * scale, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-4, 1e-9), (30.0, 1e-6), (2.0, 0.2)])
def test_real_noise_has_exactly_its_delta(epsilon, delta):
    s = gaussian_scale(epsilon, delta=delta)
    reached = norm.cdf(0.5 / s - epsilon * s) - math.exp(epsilon) * norm.cdf(-0.5 / s - epsilon * s)
    assert reached == pytest.approx(delta, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-5), (1.0, 0.0), (1.0, 1.0)])
def test_what_no_scale_can_give_is_refused(epsilon, delta):
    with pytest.raises(InvalidInput):
        gaussian_scale(epsilon, delta=delta)
