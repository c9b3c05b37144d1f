import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as theirs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tacit.privacy import LossDistribution
from tacit.privacy import distribution as module
from tacit.privacy.loss import PureLoss


def rr(epsilon):
    return PureLoss(epsilon=epsilon).distribution()


def exact_delta(losses, masses, epsilon):
    return sum(m * max(0.0, 1 - math.exp(epsilon - loss)) for loss, m in zip(losses, masses, strict=True))


def brute_force_delta(epsilon_each, count, epsilon):
    """delta(epsilon) of ``count`` randomized responses, summed over the binomial number of kept bits."""
    keep = 1 / (1 + math.exp(-epsilon_each))
    losses = [(2 * k - count) * epsilon_each for k in range(count + 1)]
    masses = [math.comb(count, k) * keep**k * (1 - keep) ** (count - k) for k in range(count + 1)]
    return exact_delta(losses, masses, epsilon)


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 1)), min_size=1, max_size=6),
    st.floats(0, 5),
)
@settings(deadline=None)
def test_grid_curve_is_never_below_the_true_one(atoms, epsilon):
    losses = [loss for loss, _ in atoms]
    total = sum(m for _, m in atoms)
    masses = [m / total for _, m in atoms]
    grid = LossDistribution.from_atoms(losses, masses)
    ours = grid.delta_at(epsilon)
    true = exact_delta(losses, masses, epsilon)
    assert ours >= true - 1e-15
    assert ours <= true + grid.interval / 4 + 1e-15  # the chord over one interval, at a kink


@pytest.mark.parametrize(("each", "slack"), [(0.1, 1e-12), (1.0, 1e-12), (0.0373, 1e-3)])
@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_composition_dominates_brute_force_and_stays_close(each, slack, count):
    composed = rr(each).power(count)
    for epsilon in np.linspace(0, each * count, 9):
        true = brute_force_delta(each, count, epsilon)
        assert composed.delta_at(epsilon) >= true - 1e-14
        assert composed.delta_at(epsilon) <= true + slack


def test_power_equals_repeated_composition():
    one = rr(0.2)
    many = one
    for _ in range(12):
        many = many.compose(one)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        assert one.power(13).delta_at(epsilon) == pytest.approx(many.delta_at(epsilon), abs=1e-13)
    assert one.power(0).epsilon_at(0.0) == 0.0


@pytest.mark.parametrize(("scale", "count"), [(3.730632, 1), (10.0, 50), (50.0, 400)])
def test_gaussian_composition_agrees_with_dp_accounting_and_the_closed_form(scale, count):
    from tacit.privacy.loss import GaussianLoss

    ours = GaussianLoss(scale=scale, sensitivity=1.0).distribution().power(count).epsilon_at(1e-6)
    reference = theirs.from_gaussian_mechanism(scale / math.sqrt(count)).get_epsilon_for_delta(1e-6)
    mu = math.sqrt(count) / scale
    closed = norm.cdf(mu / 2 - ours / mu) - math.exp(ours) * norm.cdf(-mu / 2 - ours / mu)
    assert closed <= 1e-6  # pessimistic
    assert ours == pytest.approx(reference, rel=2e-3)


def test_epsilon_and_delta_are_inverse_and_rounded_up():
    composed = rr(0.1).power(100)
    for delta in (1e-3, 1e-6, 1e-9):
        epsilon = composed.epsilon_at(delta)
        assert composed.delta_at(epsilon) <= delta
        assert composed.delta_at(epsilon * (1 - 1e-5)) > delta


def test_infinite_mass_is_kept():
    leaky = LossDistribution.from_atoms([0.0], [0.99], infinity=0.01)
    assert leaky.epsilon_at(0.005) == math.inf
    assert leaky.compose(leaky).infinity == pytest.approx(1 - 0.99**2)


def test_small_infinite_masses_are_kept():
    """As 1 - (1 - a)(1 - b) a million deltas of 5e-17 would add up to nothing."""
    tiny = LossDistribution.from_atoms([0.0], [1.0], infinity=5e-17)
    assert tiny.compose(tiny).infinity == pytest.approx(1e-16)
    assert tiny.power(10**6).infinity == pytest.approx(5e-11)
    assert 1 - (1 - 5e-17) * (1 - 5e-17) == 0.0  # control: what was lost


def test_what_lies_wholly_beyond_the_largest_loss_is_infinite():
    certain = PureLoss(epsilon=100.0).distribution().power(8)
    assert certain.infinity == pytest.approx(1.0)
    assert certain.epsilon_at(0.1) == math.inf


def test_losses_beyond_reach_count_as_infinite():
    far = LossDistribution.from_atoms([1000.0, -1000.0], [0.5, 0.5])
    assert far.infinity == 0.5
    assert far.epsilon_at(0.4) == math.inf


def test_fft_and_direct_convolution_agree(monkeypatch):
    wide = LossDistribution.from_atoms(np.linspace(-8, 8, 4001), np.full(4001, 1 / 4001))
    direct = wide.compose(wide)
    monkeypatch.setattr(module, "_DIRECT", 0)
    fast = wide.compose(wide)
    assert 0 < (fast.masses - direct.masses).min() < 1e-12  # the bound on FFT rounding is charged, not ignored
    for epsilon in (0.0, 3.0, 12.0):
        assert fast.delta_at(epsilon) == pytest.approx(direct.delta_at(epsilon), abs=1e-10)
        assert fast.delta_at(epsilon) >= direct.delta_at(epsilon) - 1e-15


def test_mass_is_conserved():
    composed = rr(0.3).power(1000)
    assert composed.masses.sum() + composed.infinity == pytest.approx(1.0, abs=1e-7)
