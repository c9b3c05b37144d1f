import json
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as theirs

from tacit.privacy import InvalidInput
from tacit.privacy.distribution import LARGEST
from tacit.privacy.loss import (
    ApproximateLoss,
    ComposedLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    PureLoss,
    SampledGaussianLoss,
    distribution_of,
    loss_from_json,
    loss_to_json,
    real,
)
from tacit.privacy.loss.curve import discrete_gaussian_delta

LOSSES = [
    PureLoss(epsilon=0.7),
    ApproximateLoss(epsilon=0.7, delta=1e-4),
    DiscreteLaplaceLoss(scale=Fraction(7, 3), sensitivity=2),
    DiscreteGaussianLoss(scale=Fraction(4), sensitivity=1),
    GaussianLoss(scale=2.0, sensitivity=1.0),
    SampledGaussianLoss(noise=1.0, rate=0.1, steps=20),
    ComposedLoss(parts=(PureLoss(epsilon=0.1), PureLoss(epsilon=0.1), GaussianLoss(scale=4.0, sensitivity=1.0))),
]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.kind)
def test_json_round_trip(loss):
    assert loss_from_json(loss_to_json(loss)) == loss


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.kind)
def test_pure_epsilon_bounds_the_distribution(loss):
    at_tiny_delta = distribution_of(loss).epsilon_at(1e-12)
    assert at_tiny_delta <= loss.pure_epsilon + 2e-3


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "pure", "epsilon": -1.0},
        {"kind": "pure", "epsilon": math.nan},
        {"kind": "approximate", "epsilon": -1.0, "delta": 1e-6},
        {"kind": "approximate", "epsilon": 1.0, "delta": -1e-6},
        {"kind": "discrete_laplace", "scale": "-2", "sensitivity": 1},
        {"kind": "discrete_laplace", "scale": "2", "sensitivity": -1},
        {"kind": "discrete_gaussian", "scale": "0", "sensitivity": 1},
        {"kind": "discrete_gaussian", "scale": "1e300", "sensitivity": 1},
        {"kind": "discrete_laplace", "scale": "1", "sensitivity": 10**400},
        {"kind": "gaussian", "scale": 1.0, "sensitivity": -1.0},
        {"kind": "sampled_gaussian", "noise": 1.0, "rate": 0.1, "steps": -1},
        {"kind": "sampled_gaussian", "noise": 1.0, "rate": -0.1, "steps": 1},
        {"kind": "sampled_gaussian", "noise": -1.0, "rate": 0.1, "steps": 1},
        {"kind": "composed", "parts": [{"kind": "pure", "epsilon": 2.0}, {"kind": "pure", "epsilon": -1.0}]},
    ],
)
def test_no_loss_is_below_nothing(document):
    """The ledger adds them: a negative one would give a budget back."""
    with pytest.raises(InvalidInput, match=r"(epsilon|delta|scale|sensitivity|noise|rate|steps) must be"):
        loss_from_json(document)


def test_unknown_kind_is_refused():
    with pytest.raises(InvalidInput, match="kind must be one of pure"):
        loss_from_json({"kind": "magic"})


def test_approximate_loss_spends_its_delta():
    loss = ApproximateLoss(epsilon=1.0, delta=1e-3).distribution()
    assert loss.delta_at(1.0) == pytest.approx(1e-3)
    assert loss.epsilon_at(0.9e-3) == math.inf


@pytest.mark.parametrize(("scale", "sensitivity"), [(1, 1), (Fraction(5, 2), 3), (40, 7)])
def test_discrete_laplace_by_enumeration_of_outputs(scale, sensitivity):
    """Both neighbors' whole output laws, summed on -4000..4000."""
    loss = DiscreteLaplaceLoss(scale=Fraction(scale), sensitivity=sensitivity).distribution()
    k = np.arange(-4000, 4001)
    a = math.exp(-1 / float(scale))
    p = (1 - a) / (1 + a) * a ** np.abs(k)
    q = (1 - a) / (1 + a) * a ** np.abs(k - sensitivity)
    for epsilon in np.linspace(0, sensitivity / float(scale), 7):
        true = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert true - 1e-12 <= loss.delta_at(epsilon) <= true + 1e-6


@pytest.mark.parametrize(("scale", "delta"), [(4, 3.055455e-6), (1, 0.141351)])
def test_discrete_gaussian_pins(scale, delta):
    """Formula sheet e3, sensitivity 1, epsilon 1."""
    loss = DiscreteGaussianLoss(scale=Fraction(scale), sensitivity=1).distribution()
    assert loss.delta_at(1.0) == pytest.approx(delta, rel=1e-5)


def test_discrete_gaussian_agrees_with_dp_accounting():
    ours = DiscreteGaussianLoss(scale=Fraction(3), sensitivity=2).distribution().power(4)
    reference = theirs.from_discrete_gaussian_mechanism(3, sensitivity=2, use_connect_dots=True).self_compose(4)
    assert ours.epsilon_at(1e-6) == pytest.approx(reference.get_epsilon_for_delta(1e-6), rel=1e-3)


def test_dp_accounting_event_ignores_count_and_ours_does_not():
    """ERRATA: ten compositions of its RandomizedResponseDpEvent cost as one."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    keep = math.exp(1) / (1 + math.exp(1))
    event = dp_accounting.RandomizedResponseDpEvent(noise_parameter=2 * (1 - keep), num_buckets=2)
    epsilons = []
    for count in (1, 10):
        accountant = PLDAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
        accountant.compose(event, count)
        epsilons.append(accountant.get_epsilon(1e-9))
    assert epsilons[0] == pytest.approx(epsilons[1])
    assert ComposedLoss(parts=(PureLoss(epsilon=1.0),) * 10).distribution().epsilon_at(1e-9) > 9


@pytest.mark.parametrize(("scale", "sensitivity"), [(4, 1), (300, 70), (40_000, 10_000), (2**40, 2**38)])
def test_large_discrete_gaussians_cost_as_the_continuous_one(scale, sensitivity):
    """Outcomes are taken together where their losses hardly differ; the cost must not fall, nor rise by much."""
    ours = DiscreteGaussianLoss(scale=Fraction(scale), sensitivity=sensitivity)
    exactly = ours.epsilon_at(1e-6)
    assert exactly <= ours.distribution().epsilon_at(1e-6) <= exactly + 1e-4
    continuous = GaussianLoss(scale=scale / sensitivity, sensitivity=1.0).distribution().power(50)
    assert ours.distribution().power(50).epsilon_at(1e-6) == pytest.approx(continuous.epsilon_at(1e-6), rel=1e-4)


@pytest.mark.parametrize("scale", [10**4, 3 * 10**5, 10**7, 10**8, 10**12])
def test_discrete_gaussians_of_a_tiny_shift_are_priced_above_and_near_the_curve(scale):
    """On one interval for all losses, as before, these cost a hundred times the truth and more."""
    loss = DiscreteGaussianLoss(scale=Fraction(scale), sensitivity=1).distribution()
    shift = 1 / scale
    for epsilon in [0.0, shift, 3 * shift, 5 * shift]:
        true = discrete_gaussian_delta(Fraction(scale), epsilon=epsilon, sensitivity=1)
        assert true * (1 - 1e-12) <= loss.delta_at(epsilon) <= true * (1 + 1e-3)
    assert loss.delta_at(0.0) == pytest.approx(
        discrete_gaussian_delta(Fraction(scale), epsilon=0.0, sensitivity=1), rel=1e-3
    )


@pytest.mark.parametrize(
    "loss",
    [
        DiscreteLaplaceLoss(scale=Fraction(10**6), sensitivity=10**8),
        DiscreteLaplaceLoss(scale=Fraction(1), sensitivity=10**12),
        DiscreteGaussianLoss(scale=Fraction(10**7), sensitivity=10**8),
        DiscreteGaussianLoss(scale=Fraction(1), sensitivity=10**12),
    ],
)
def test_large_losses_take_megabytes(loss, monkeypatch):
    sizes = []
    monkeypatch.setattr(np, "arange", lambda *a, f=np.arange, **k: sizes.append(len(f(*a, **k))) or f(*a, **k))
    assert loss.distribution().epsilon_at(1e-6) >= min(loss.epsilon_at(1e-6), LARGEST)
    assert all(size <= 4 * 10**6 for size in sizes)


def test_large_epsilons_are_priced():
    for loss in (ApproximateLoss(epsilon=800.0, delta=1e-6), ComposedLoss(parts=(PureLoss(epsilon=1e308),) * 2)):
        assert loss.distribution().epsilon_at(1e-3) == math.inf
    assert ApproximateLoss(epsilon=800.0, delta=1e-6).epsilon_at(1e-6) == 800.0
    assert ComposedLoss(parts=(PureLoss(epsilon=1e308),) * 2).pure_epsilon == math.inf


def test_stated_epsilons_and_deltas_add_exactly():
    """At delta 1e-6 a guarantee of (1, 1e-6) costs 1, and not infinity for the last digit of its delta."""
    one = ApproximateLoss(epsilon=0.1, delta=1e-7)
    assert ApproximateLoss(epsilon=1.0, delta=1e-6).epsilon_at(1e-6) == 1.0
    assert ComposedLoss(parts=(one,) * 10).stated == (1, Fraction(1, 10**6))
    assert ComposedLoss(parts=(one,) * 10).epsilon_at(1e-6) == 1.0
    assert ComposedLoss(parts=(one,) * 10).epsilon_at(0.9e-6) == math.inf  # control
    assert ComposedLoss(parts=(one, GaussianLoss(scale=4.0, sensitivity=1.0))).stated is None


@pytest.mark.parametrize(
    "loss",
    [
        PureLoss(epsilon=np.float32(0.5)),
        ApproximateLoss(epsilon=np.float32(0.5), delta=np.float32(0.25)),
        DiscreteGaussianLoss(scale=np.float32(4), sensitivity=np.int64(1)),
        GaussianLoss(scale=np.float32(4), sensitivity=np.int64(1)),
        SampledGaussianLoss(noise=np.float32(4), rate=np.float32(0.5), steps=np.int64(1)),
    ],
    ids=lambda loss: loss.kind,
)
def test_numbers_of_numpy_go_into_files(loss):
    assert loss_from_json(json.loads(json.dumps(loss_to_json(loss)))) == loss


@pytest.mark.parametrize("noise", [0.02, 1e-200])
def test_noise_that_hides_nothing_hides_nothing(noise):
    """Losses of a thousand overflowed: a step with noise 0.02 on 1% of the rows was priced at epsilon 0.01."""
    sampled = SampledGaussianLoss(noise=noise, rate=0.01, steps=1)
    assert sampled.epsilon_at(1e-5) == math.inf
    assert sampled.epsilon_at(0.011) == 0.0
    assert GaussianLoss(scale=noise, sensitivity=1.0).epsilon_at(0.5) == math.inf


def test_losses_are_cut_where_e_to_the_loss_is_no_float(monkeypatch):
    monkeypatch.setattr(real, "HIDES_NOTHING", 0.0)
    far = GaussianLoss(scale=0.028, sensitivity=1.0).distribution()  # losses of 638 +- 36, and more
    assert far.infinity > 0.5
    assert far.epsilon_at(0.1) == math.inf


def test_large_discrete_laplace_is_still_pure():
    loss = DiscreteLaplaceLoss(scale=Fraction(2**30), sensitivity=2**31)
    assert loss.pure_epsilon == 2.0
    assert 2.0 - 1e-6 < loss.distribution().epsilon_at(1e-9) <= 2.0


@pytest.mark.parametrize("scale", ["1e99999999999", "9" * 401, "1/0e9", "-1", "", "1/" + "9" * 500])
def test_no_scale_of_a_file_takes_long_to_read(scale):
    with pytest.raises(InvalidInput, match="must be a fraction of at most 400 digits"):
        loss_from_json({"kind": "discrete_laplace", "scale": scale, "sensitivity": 1})
