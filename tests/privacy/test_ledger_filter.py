"""The filter: valid for charges chosen after looking, and nearly as generous as exact composition."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import binom

from tacit.privacy import Guarantee, Unit, compose
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.ledger.costs import log_moment, revealed, variance
from tacit.privacy.ledger.filter import DeltaUse, FilterTerms
from tacit.privacy.loss import (
    ApproximateLoss,
    ComposedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PureLoss,
    SampledGaussianLoss,
)
from tacit.privacy.loss.variances import largest_variance

MENU = (0.26, 0.48, 0.8)
EPSILON, DELTA, STEPS = 2.94, 0.0246, 8


def label(epsilon, delta=0.0):
    return Guarantee(unit=Unit.LABEL, epsilon=epsilon, delta=delta)


def responses(counts):
    """The losses of so many randomized responses of each epsilon, with their masses, by enumeration."""
    losses, masses = np.zeros(1), np.ones(1)
    for count, epsilon in zip(counts, MENU, strict=True):
        right = np.arange(count + 1)
        mass = binom.pmf(right, count, 1 / (1 + math.exp(-epsilon)))
        losses = np.add.outer(losses, (2 * right - count) * epsilon).ravel()
        masses = np.multiply.outer(masses, mass).ravel()
    return losses, masses


def composes(counts):
    """The old rule: the loss distributions of the path that was taken compose to at most the budget."""
    losses, masses = responses(counts)
    return float((masses * -np.expm1(np.minimum(EPSILON - losses, 0))).sum()) <= DELTA


def filtered(counts):
    """The rule of the ledger."""
    charges = [label(epsilon) for count, epsilon in zip(counts, MENU, strict=True) for _ in range(count)]
    terms = FilterTerms.of(label(EPSILON, DELTA), DeltaUse.SHARED)
    account = PrivacyAccount.of(charges, budget=label(EPSILON, DELTA))
    return account.used <= 1 and account.use is DeltaUse.SHARED and terms.orders != ()


def delta_of_the_best_analyst(accepts):
    """The largest delta at the budget's epsilon over all who choose each response after looking, by enumeration."""
    accepts = cache(accepts)

    @cache
    def best(counts, loss):
        most = max(0.0, -math.expm1(EPSILON - loss))
        for i, epsilon in enumerate(MENU):
            after = tuple(count + (i == j) for j, count in enumerate(counts))
            if sum(after) <= STEPS and accepts(after):
                keep = 1 / (1 + math.exp(-epsilon))
                up, down = (best(after, round(loss + sign * epsilon, 9)) for sign in (1, -1))
                most = max(most, keep * up + (1 - keep) * down)
        return most

    return best((0,) * len(MENU), 0.0)


def test_who_chooses_after_looking_exceeds_what_composes_on_every_path_and_not_the_filter():
    assert delta_of_the_best_analyst(composes) > 1.24 * DELTA, "control: the rule of loss distributions fails"
    reached = delta_of_the_best_analyst(filtered)
    assert 0.01 * DELTA < reached <= DELTA


def exact_epsilon(epsilon, count, delta):
    """The exact epsilon of equal randomized responses, by the binomial sum."""
    right = np.arange(count + 1)
    losses, masses = (2 * right - count) * epsilon, binom.pmf(right, count, 1 / (1 + math.exp(-epsilon)))

    def excess(e):
        return float((masses * -np.expm1(np.minimum(e - losses, 0))).sum()) - delta

    return count * epsilon if excess(count * epsilon * (1 - 1e-9)) > 0 else brentq(excess, 0, count * epsilon)


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-9])
@pytest.mark.parametrize(("count", "epsilon"), [(1000, 0.01), (50, 0.5), (8, 1.0)])
def test_at_least_85_percent_of_what_exact_composition_allows_and_never_more(count, epsilon, delta):
    budget = label(exact_epsilon(epsilon, count, delta), delta)
    accepted = [PrivacyAccount.of([label(epsilon)] * n, budget=budget).used <= 1 for n in range(1, count + 2)]
    assert accepted == sorted(accepted, reverse=True)
    assert 0.85 * count <= sum(accepted) <= count


def test_the_shares_of_delta_are_at_most_all_of_it():
    budget = label(2.0, 1e-6)
    terms = FilterTerms.of(budget, DeltaUse.SHARED)
    orders = zip(terms.orders, terms.limits, strict=True)
    renyi = [(1 - 1 / a) ** (a - 1) / a * math.exp(float(m) - (a - 1) * budget.epsilon) for a, m in orders]
    gaussian = _gaussian_delta(2.0, float(terms.variance) + terms.reserve)
    total = float(terms.delta + terms.revealed) + sum(renyi) + gaussian
    assert 0.9999e-6 < total <= 1e-6


def test_a_later_plan_counts_as_its_curve_and_a_single_charge_as_its_epsilon():
    terms = FilterTerms.of(label(3.0, 1e-6), DeltaUse.SHARED)
    plan = terms.price(compose([label(0.1)] * 100, delta=1e-6))
    assert 4 < plan.epsilon < 7  # the sum is 10
    assert plan.delta == terms.delta / 2
    one = terms.price(label(0.1))
    assert (one.epsilon, one.delta, one.revealed) == (Fraction("0.1"), 0, 0)


def _gaussian_delta(epsilon, v):
    s = math.sqrt(v)
    return float(ndtr(s / 2 - epsilon / s) - math.exp(epsilon) * ndtr(-s / 2 - epsilon / s))


LOSSES = [
    PureLoss(epsilon=0.3),
    PureLoss(epsilon=4.0),
    DiscreteLaplaceLoss(scale=Fraction(7, 2), sensitivity=1),
    DiscreteLaplaceLoss(scale=Fraction(9), sensitivity=5),
    DiscreteGaussianLoss(scale=Fraction(5), sensitivity=2),
    SampledGaussianLoss(noise=1.3, rate=0.05, steps=1),
    SampledGaussianLoss(noise=0.7, rate=0.5, steps=1),
]


def atoms(loss):
    """The losses and masses of one release, from the definition of the noise."""
    if isinstance(loss, PureLoss):
        keep = 1 / (1 + math.exp(-loss.epsilon))
        return np.array([loss.epsilon, -loss.epsilon]), np.array([keep, 1 - keep])
    if isinstance(loss, SampledGaussianLoss):
        x = np.arange(-24, 24, 1e-3)

        def law(mean):
            bells = (np.exp(-((x - m) ** 2) / (2 * loss.noise**2)) for m in (0, mean))
            return (1 - loss.rate) * next(bells) + loss.rate * next(bells)

        return np.log(law(1) / law(-1)), law(1) / law(1).sum()
    k, scale, D = np.arange(-400, 401), float(loss.scale), loss.sensitivity

    def log_mass(k):
        return -abs(k) / scale if isinstance(loss, DiscreteLaplaceLoss) else -(k**2) / (2 * scale**2)

    masses = np.exp(log_mass(k))
    return log_mass(k) - log_mass(k - D), masses / masses.sum()


@pytest.mark.parametrize("order", [1.05, 2.0, 3.7, 9.0])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_moments_are_those_of_the_noise_and_rounded_up(loss, order):
    losses, masses = atoms(loss)
    exponents = np.log(np.maximum(masses, 1e-300)) + (order - 1) * losses
    truth = float(exponents.max() + np.log(np.exp(exponents - exponents.max()).sum()))
    assert truth * (1 - 1e-7) - 1e-11 <= log_moment(loss, order) <= truth * (1 + 1e-6) + 1e-11


def beside(loss, e, reserve):
    """delta at e of a loss and a Gaussian loss of variance ``reserve``."""
    losses, masses = atoms(loss)
    return float(sum(m * _gaussian_delta(e - x, reserve) for x, m in zip(losses, masses, strict=True) if m > 1e-30))


@pytest.mark.parametrize("reserve", [1e-3, 0.04, 1.0, 9.0])
@pytest.mark.parametrize("loss", LOSSES[:5], ids=str)
def test_a_gaussian_loss_stands_for_another_beside_a_reserve(loss, reserve):
    v = variance(loss, reserve)
    if math.isinf(v):
        assert isinstance(loss, DiscreteGaussianLoss)
        assert reserve == 1e-3, "so small a reserve does not hide that the noise is an integer"
        return
    scale = math.sqrt(v + reserve)
    for e in [0.0, *np.linspace(0.05, 6, 25) * scale]:
        hidden = _gaussian_delta(e, v + reserve)
        assert beside(loss, e, reserve) <= hidden * (1 + 1e-7) + 1e-15
        assert beside(loss, -e, reserve) <= _gaussian_delta(-e, v + reserve) + 1e-12
    if not isinstance(loss, DiscreteLaplaceLoss):  # which is priced by its pure epsilon
        assert beside(loss, 0.0, reserve) > _gaussian_delta(0.0, 0.99 * v + reserve), "control: less does not"


def test_bare_and_composed_losses_cost_the_sum_of_their_parts():
    bare = ApproximateLoss(epsilon=0.5, delta=1e-7)
    both = ComposedLoss(parts=(bare, PureLoss(epsilon=0.3), bare), times=2)
    assert revealed(both) == pytest.approx(4e-7)
    for cost in (log_moment, variance):
        assert cost(both, 3.0) == pytest.approx(2 * (2 * cost(bare, 3.0) + cost(PureLoss(epsilon=0.3), 3.0)))
        assert cost(bare, 3.0) == cost(PureLoss(epsilon=0.5), 3.0)


def test_a_group_of_rows_costs_what_its_distribution_says():
    group = SampledGaussianLoss(noise=2.0, rate=0.05, steps=20).for_group(3)
    assert 0 < revealed(group) < 1e-10
    assert log_moment(group, 3.0) > 3 * log_moment(SampledGaussianLoss(noise=2.0, rate=0.05, steps=20), 3.0)
    assert variance(group, 1.0) == math.inf


def test_all_rows_in_every_step_are_gaussian_noise_on_a_shift_of_two():
    steps, gauss = SampledGaussianLoss(noise=4.0, rate=1.0, steps=3), GaussianLoss(scale=4.0, sensitivity=2.0)
    assert log_moment(steps, 3.0) == pytest.approx(3 * log_moment(gauss, 3.0), rel=1e-6)
    assert variance(steps, 1.0) == pytest.approx(3 * variance(gauss, 1.0)) == pytest.approx(0.75)


def test_accounts_of_gaussians_alone_add_their_variances_to_half_of_delta():
    """Two Gaussian losses, then as many more as their variances allow."""
    gauss = Guarantee.from_loss(GaussianLoss(scale=20.0, sensitivity=1.0), unit=Unit.LABEL, delta=1e-6)
    budget = label(3.0, 1e-6)
    most = int(largest_variance(3.0, delta=0.5e-6) * 0.97 * 400)
    assert PrivacyAccount.of([gauss] * most, budget=budget).used <= 1
    assert PrivacyAccount.of([gauss] * (most + 1), budget=budget).used == math.inf
