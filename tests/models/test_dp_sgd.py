"""DP-SGD: what a step costs, that its noise and clipping are what was paid for, and who is charged when."""

import inspect
import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from tacit.leak import FixedThreshold, leak_from_scores
from tacit.models.mechanisms import DpSgd
from tacit.models.releases.dp_sgd import train_dp_sgd
from tacit.models.training.accounting import ASSUMPTIONS, epsilon_add_or_remove, find_noise
from tacit.privacy import Guarantee, Unit
from tacit.privacy.errors import BudgetExceeded, InvalidInput
from tacit.privacy.ledger import Ledger
from tacit.privacy.loss import SampledGaussianLoss
from tacit.privacy.noise import system_rng
from tacit.privacy.payment import Payment

torch = pytest.importorskip("torch")
SETTINGS = {"epsilon": 3.0, "delta": 1e-5, "clip": 1.0, "epochs": 1, "batch_size": 20}


def _divergence(u, v, *, noise, rate, epsilon):
    """The hockey-stick divergence of a step whose record adds u or v, by quadrature in the plane they span."""

    def density(x, z, shift):
        def one(s):
            return np.exp(-((x - s[0]) ** 2 + (z - s[1]) ** 2) / (2 * noise**2)) / (2 * math.pi * noise**2)

        return (1 - rate) * one((0.0, 0.0)) + rate * one(shift)

    grid = np.linspace(-9 * noise - 1, 9 * noise + 1, 801)
    x, z = np.meshgrid(grid, grid)
    gap = np.maximum(density(x, z, u) - math.exp(epsilon) * density(x, z, v), 0)
    return integrate.trapezoid(integrate.trapezoid(gap, grid), grid)


@pytest.mark.parametrize(("noise", "rate"), [(0.8, 0.3), (1.5, 0.05), (1.0, 1.0)])
def test_one_step_costs_what_quadrature_says_and_opposite_records_cost_most(noise, rate):
    step = SampledGaussianLoss(noise=noise, rate=rate, steps=1).distribution()
    for epsilon in (0.05, 1.0):
        worst = _divergence((1, 0), (-1, 0), noise=noise, rate=rate, epsilon=epsilon)
        assert worst <= step.delta_at(epsilon) * (1 + 1e-4) + 1e-7
        assert step.delta_at(epsilon) <= worst * 1.01 + 1e-7
        for angle, size in itertools.product((0.0, 1.5, 2.6), (0.3, 1.0)):
            v = (size * math.cos(angle), size * math.sin(angle))
            assert _divergence((1, 0), v, noise=noise, rate=rate, epsilon=epsilon) <= worst * (1 + 1e-3) + 1e-7


def test_adding_or_removing_is_cheaper_than_replacing():
    run = SampledGaussianLoss(noise=1.0, rate=0.05, steps=50)
    one, two = epsilon_add_or_remove(run, delta=1e-6), run.epsilon_at(1e-6)
    assert one < two, "control: accounting for the wrong neighbors would guarantee too much"
    assert SampledGaussianLoss(noise=2.0, rate=1.0, steps=1).epsilon_at(1e-5) == pytest.approx(
        epsilon_add_or_remove(SampledGaussianLoss(noise=1.0, rate=1.0, steps=1), delta=1e-5), rel=1e-3
    )


def test_pins_of_the_gaussian():
    assert epsilon_add_or_remove(SampledGaussianLoss(noise=3.730632, rate=1.0, steps=1), delta=1e-5) == pytest.approx(
        1, abs=1e-3
    )
    assert SampledGaussianLoss(noise=2 * 3.730632, rate=1.0, steps=1).epsilon_at(1e-5) == pytest.approx(1, abs=1e-3)


def test_composition_of_n_is_n_compositions():
    one = SampledGaussianLoss(noise=1.2, rate=0.1, steps=1).distribution()
    chained = one
    for _ in range(4):
        chained = chained.compose(one)
    assert SampledGaussianLoss(noise=1.2, rate=0.1, steps=5).epsilon_at(1e-6) == pytest.approx(chained.epsilon_at(1e-6))


@pytest.mark.parametrize(("epsilon", "rate", "steps"), [(0.3, 0.02, 100), (3.0, 0.1, 30), (10.0, 1.0, 3)])
def test_the_least_noise_is_found(epsilon, rate, steps):
    run = find_noise(epsilon=epsilon, delta=1e-5, rate=rate, steps=steps)
    assert run.epsilon_at(1e-5) <= epsilon
    less = SampledGaussianLoss(noise=run.noise * 0.999, rate=rate, steps=steps)
    assert less.epsilon_at(1e-5) > epsilon, "control"


class _Mean(torch.nn.Module):
    """One weight a feature; with the loss below, a row's gradient is the row."""

    def __init__(self, features):
        super().__init__()
        self.layer = torch.nn.Linear(features, 1, bias=False)
        torch.nn.init.zeros_(self.layer.weight)

    def forward(self, X):
        return self.layer(X)


def _plain(parameters):
    return torch.optim.SGD(parameters, lr=1.0)


def _one_step(X, *, rng, clip=1.0, epsilon=3.0, batch_size=None):
    """The weights after one step of rate -1 on the sum of rows: minus (the clipped sum + noise) / batch."""
    made = train_dp_sgd(
        _Mean(X.shape[1]).double(),
        X,
        np.zeros(len(X)),
        epsilon=epsilon,
        delta=1e-5,
        clip=clip,
        epochs=(batch_size or len(X)) / len(X),
        batch_size=batch_size or len(X),
        make_optimizer=_plain,
        loss=lambda outputs, _: outputs[:, 0],
        rng=rng,
    )
    assert made.mechanism["steps"] == 1
    return -made.module.layer.weight.detach().numpy()[0], made.mechanism


def test_the_noise_of_a_step_is_what_was_accounted_for():
    X = np.zeros((10, 20_000))
    weights, mechanism = _one_step(X, rng=np.random.default_rng(0), clip=2.0)
    scale = mechanism["noise"] * 2.0 / 10
    assert stats.kstest(weights, stats.norm(scale=scale).cdf).pvalue > 1e-6
    assert stats.kstest(weights, stats.norm(scale=1.1 * scale).cdf).pvalue < 1e-6, "control: 10% more would show"


def test_a_row_moves_the_sum_by_its_clipped_self_and_no_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 40))
    X[0] *= 1e6
    X[1] *= 1e-3
    found = _one_step(X, rng=np.random.default_rng(7))[0]
    noise = _one_step(np.zeros_like(X), rng=np.random.default_rng(7))[0]
    norms = np.linalg.norm(X, axis=1)
    expected = (X / np.maximum(norms, 1)[:, None]).sum(0) / 6
    np.testing.assert_allclose(found - noise, expected, rtol=1e-4, atol=1e-7)


def test_a_row_whose_gradient_is_no_number_counts_nothing():
    X = np.ones((4, 3))
    broken = X.copy()
    broken[0] = 1e300  # its gradient's norm, and with it Opacus' sum, is not finite in float32
    made = train_dp_sgd(_Mean(3), broken, np.zeros(4), rng=np.random.default_rng(0), **{**SETTINGS, "batch_size": 4})
    assert np.isfinite(made.module.layer.weight.detach().numpy()).all()


def test_control_opacus_alone_lets_such_a_row_spoil_the_sum():
    from opacus.optimizers import DPOptimizer

    weight = torch.nn.Parameter(torch.zeros(2))
    optimizer = DPOptimizer(_plain([weight]), noise_multiplier=1.0, max_grad_norm=1.0, expected_batch_size=2)
    weight.grad_sample = torch.tensor([[float("inf"), 0.0], [1.0, 0.0]])
    optimizer.clip_and_accumulate()
    assert not torch.isfinite(weight.summed_grad).all()


def test_a_step_that_draws_no_row_is_noise_alone():
    seed = next(seed for seed in range(100) if not (np.random.default_rng(seed).random(50) < 1 / 50).any())
    weights, mechanism = _one_step(np.ones((50, 5000)), rng=np.random.default_rng(seed), batch_size=1)
    assert stats.kstest(weights, stats.norm(scale=mechanism["noise"]).cdf).pvalue > 1e-6


def test_an_auditor_of_many_runs_proves_less_than_the_guarantee_and_catches_too_little_noise():
    """Neighbors whose records pull in opposite directions: the worst case of one step."""
    from tacit.models.training.noisy_steps import NoisyTraining

    accounted = find_noise(epsilon=1.0, delta=1e-5, rate=1.0, steps=1)
    rng = np.random.default_rng(0)

    def scores(record, noise, runs=300):
        run = SampledGaussianLoss(noise=noise, rate=1.0, steps=1)
        training = NoisyTraining(
            run=run, clip=1.0, batch_size=3, make_optimizer=_plain, loss=lambda outputs, _: outputs[:, 0]
        )
        X, found = torch.tensor([[record], [0.0], [0.0]]), []
        for _ in range(runs):
            module = _Mean(1)
            training.fit(module, X, torch.zeros(3), rng=rng)
            found.append(-float(module.layer.weight.detach()))
        return found

    for noise, caught in ((accounted.noise, False), (0.1 * accounted.noise, True)):
        leak = leak_from_scores(scores(9.0, noise), scores(-9.0, noise), threshold=FixedThreshold(0.0), delta=1e-5)
        assert (leak.epsilon_lower_bound > 1.0) == caught


def _problem(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return rng.normal(size=(rows, 4)) + 2.0 * y[:, None], y


def test_it_learns_and_says_what_it_guarantees():
    X, y = _problem(2000)
    made = train_dp_sgd(
        torch.nn.Linear(4, 2), X, y, epsilon=3.0, delta=1e-5, clip=1.0, epochs=5, batch_size=200, rng=system_rng()
    )
    assert (made.module(torch.as_tensor(X).float()).argmax(1).numpy() == y).mean() > 0.9
    assert (made.guarantee.unit, made.guarantee.epsilon, made.guarantee.delta) == (Unit.RECORD, 3.0, 1e-5)
    assert made.guarantee.assumptions == ASSUMPTIONS
    assert "floating-point Gaussian noise" in ASSUMPTIONS[0]
    assert not made.seeded
    run = SampledGaussianLoss(**{name: made.mechanism[name] for name in ("noise", "rate", "steps")})
    assert run.epsilon_at(1e-5) <= 3.0


def test_a_seeded_run_repeats_and_says_that_it_is_not_private():
    X, y = _problem()
    torch.manual_seed(0)
    module = torch.nn.Linear(4, 2)
    before = module.weight.detach().clone()
    both = [train_dp_sgd(module, X, y, rng=np.random.default_rng(3), **SETTINGS) for _ in range(2)]
    torch.testing.assert_close(both[0].module.weight, both[1].module.weight, rtol=0, atol=0)
    assert "hides nothing from anyone who knows the seed" in str(both[0])
    torch.testing.assert_close(module.weight, before, rtol=0, atol=0), "the original is left as it is"


def test_batch_norm_becomes_group_norm():
    module = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 2, 2)),
        torch.nn.Conv2d(1, 4, 1),
        torch.nn.BatchNorm2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(16, 2),
    )
    X, y = _problem()
    made = train_dp_sgd(module, X, y, rng=np.random.default_rng(0), **SETTINGS)
    kinds = {type(layer).__name__ for layer in made.module.modules()}
    assert "GroupNorm" in kinds
    assert "BatchNorm2d" not in kinds


def test_batches_too_large_for_memory_give_the_same_model():
    from tacit.models.training.noisy_steps import NoisyTraining, make_private

    X, y = (torch.as_tensor(part) for part in _problem())
    run = SampledGaussianLoss(noise=1.0, rate=0.5, steps=3)
    found = []
    for size in (7, 512):
        torch.manual_seed(0)
        module = make_private(torch.nn.Linear(4, 2).double())
        training = NoisyTraining(run=run, clip=0.5, batch_size=100, make_optimizer=_plain, physical_batch=size)
        training.fit(module, X, y, rng=np.random.default_rng(0))
        found.append(module.weight.detach())
    torch.testing.assert_close(*found)


@pytest.fixture
def ledger(tmp_path):
    _, y = _problem()
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(y, name="visits", budget=Guarantee(unit=Unit.RECORD, epsilon=4.0, delta=1e-4))
    return ledger


def test_the_ledger_is_charged_before_the_first_step(ledger):
    X, y = _problem()
    steps, paying = [], Payment(ledger=ledger)

    def progress(done, total):
        steps.append((done, total, ledger.statement("visits").left))

    made = train_dp_sgd(torch.nn.Linear(4, 2), X, y, rng=system_rng(), payment=paying, progress=progress, **SETTINGS)
    assert made.receipt is not None
    assert steps[0][0] == 1
    assert steps[0][2] < 4.0, "spent when the first step was over"
    too_much = {**SETTINGS, "epsilon": 6.0}
    with pytest.raises(BudgetExceeded):
        train_dp_sgd(torch.nn.Linear(4, 2), X, y, rng=system_rng(), payment=paying, progress=progress, **too_much)
    assert len(steps) == 10, "the refused one took no step"


def test_the_same_training_is_paid_once_whatever_fails_in_it(ledger):
    X, y = _problem()
    how = {"rng": system_rng(), "payment": Payment(ledger=ledger), **SETTINGS}

    def fail(*_):
        raise RuntimeError("in the first step")

    with pytest.raises(RuntimeError, match="in the first step"):
        train_dp_sgd(torch.nn.Linear(4, 2), X, y, progress=fail, **how)
    first = train_dp_sgd(torch.nn.Linear(4, 2), X, y, **how)
    again = train_dp_sgd(torch.nn.Linear(4, 2), X, y, progress=fail, **how)
    assert len(ledger.statement("visits").entries) == 1
    assert (first.repeated, again.repeated, again.receipt) == (False, True, None)
    assert again.module.weight.equal(first.module.weight)
    assert first.guarantee == again.guarantee
    other = train_dp_sgd(torch.nn.Linear(4, 2), X + 1, y, **{**how, "epsilon": 0.1})
    assert len(ledger.statement("visits").entries) == 2
    assert not other.module.weight.equal(first.module.weight), "control"


def test_one_default_rate():
    assert inspect.signature(train_dp_sgd).parameters["learning_rate"].default == DpSgd().learning_rate


@pytest.mark.parametrize("layer", [torch.nn.ReLU, torch.nn.Tanh])
def test_weights_are_delivered_to_the_layers_they_were_trained_for(ledger, layer):
    X, y = _problem()
    settings = SETTINGS | {"epsilon": 1.5}  # two of which the budget allows
    for made in (torch.nn.ReLU, layer):
        module = torch.nn.Sequential(torch.nn.Linear(4, 2), made())
        model = train_dp_sgd(
            module, X[::-1], y[::-1], rng=system_rng(), payment=Payment(ledger=ledger), table=y, **settings
        )
    assert model.repeated == (layer is torch.nn.ReLU)


def test_a_ledger_for_labels_is_charged_for_a_label_and_the_guarantee_stays_a_records(tmp_path):
    X, y = _problem()
    ledger = Ledger.create(tmp_path / "labels.db")
    ledger.register(y, name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=4.0, delta=1e-4))
    paying = Payment(ledger=ledger)
    made = train_dp_sgd(torch.nn.Linear(4, 2), X, y, rng=system_rng(), payment=paying, **SETTINGS)
    (entry,) = ledger.statement("visits").entries
    assert (made.guarantee.unit, entry.guarantee.unit) == (Unit.RECORD, Unit.LABEL)
    assert (entry.guarantee.epsilon, entry.guarantee.delta) == (SETTINGS["epsilon"], SETTINGS["delta"])


def test_read_only_arrays_train_without_a_warning():
    X, y = (np.array(part) for part in _problem())
    X.flags.writeable = y.flags.writeable = False  # as Arrow's are
    torch.set_warn_always(True)  # else torch says it once in a process
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*not writable")
            train_dp_sgd(torch.nn.Linear(4, 2), X, y, rng=np.random.default_rng(0), **SETTINGS)
    finally:
        torch.set_warn_always(False)


class _Unused(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.more = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)

    def forward(self, X):
        return self.used(X)


WRONG = {
    "clip": ({"clip": 0.0}, "clip must be > 0"),
    "epochs": ({"epochs": float("nan")}, "epochs must be > 0"),
    "rate": ({"learning_rate": -1.0}, "learning_rate must be > 0"),
    "large rate": ({"learning_rate": 1e300}, r"learning_rate must be > 0 and at most 1e\+30, got 1e\+300"),
    "epsilon": ({"epsilon": -1.0}, "epsilon must be a finite number > 0"),
    "delta": ({"delta": 0.0}, "delta must be in"),
    "large delta": ({"delta": 0.005}, "delta must be below 1/200, for 200 rows, got 0.005: a larger delta allows"),
    "batch": ({"batch_size": 201}, "batch_size must be at most the 200 rows"),
    "optimizer": ({"make_optimizer": lambda _: torch.optim.SGD([], lr=1.0)}, "make_optimizer must take parameters"),
    "loss": ({"loss": lambda outputs, _: outputs.sum()}, "loss must return one number per row"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_bad_settings_are_one_sentence_and_cost_nothing(case, ledger):
    X, y = _problem()
    changed, sentence = WRONG[case]
    paying = Payment(ledger=ledger)
    with pytest.raises(InvalidInput, match=sentence) as error:
        train_dp_sgd(torch.nn.Linear(4, 2), X, y, rng=system_rng(), payment=paying, **{**SETTINGS, **changed})
    assert "\n" not in str(error.value)
    assert ledger.statement("visits").left == 4.0


@pytest.mark.parametrize(
    ("module", "X", "y", "sentence"),
    [
        (torch.nn.Linear(3, 2), None, None, "module must take rows of shape"),
        (torch.nn.Linear(4, 2), None, np.full(200, 2), "module must take rows of shape"),
        (torch.nn.Linear(4, 2), np.full((200, 4), np.nan), None, "X and y must be finite"),
        (torch.nn.Linear(4, 2), None, np.zeros(3), "y must have one label for each of 200 rows"),
        (torch.nn.Linear(4, 2), None, np.array(["a"] * 200), "X and y must be numbers"),
        (torch.nn.Flatten(), None, None, "module must have a parameter to train"),
        (_Unused(), None, None, "'more.weight' has no part in the outputs"),
    ],
)
def test_bad_data_are_one_sentence_and_cost_nothing(module, X, y, sentence, ledger):
    rows, labels = _problem()
    X, y = rows if X is None else X, labels if y is None else y
    with pytest.raises(InvalidInput, match=sentence):
        train_dp_sgd(module, X, y, rng=system_rng(), payment=Payment(ledger=ledger, dataset="visits"), **SETTINGS)
    assert ledger.statement("visits").left == 4.0


class _Keeping(torch.nn.Module):
    """A running mean of what it saw: published with the weights, and without noise."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, X):
        with torch.no_grad():
            self.mean.mul_(0.9).add_(0.1 * X.mean(0))
        return self.layer(X)


class _Mixing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, X):
        return self.layer(X - X.mean(0))


def _mixed_loss(outputs, targets):
    losses = torch.nn.functional.cross_entropy(outputs, targets.long(), reduction="none")
    return losses / losses.sum()


@pytest.mark.parametrize(
    ("module", "loss", "sentence"),
    [
        (_Keeping, None, "must keep nothing of the rows it sees, its buffer 'mean' does"),
        (_Mixing, None, "treat every row by itself"),
        (lambda: torch.nn.Linear(3, 2), _mixed_loss, "treat every row by itself"),
    ],
)
def test_rows_that_are_mixed_or_kept_are_refused_before_the_charge(module, loss, sentence):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    settings = {"epsilon": 3.0, "delta": 1e-4, "clip": 1.0, "epochs": 1, "batch_size": 10, "rng": rng}

    class Unasked:
        def __getattr__(self, name):
            raise AssertionError("the ledger was asked")

    with pytest.raises(InvalidInput, match=sentence):
        train_dp_sgd(module(), X, y, loss=loss, payment=Payment(ledger=Unasked(), dataset="x"), **settings)
    dropping = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
    assert train_dp_sgd(dropping, X, y, **settings).mechanism["steps"] == 4, "control: dropout mixes nothing"


def test_a_ledger_composes_runs_as_tightly_as_dp_accounting_and_never_below_it(tmp_path):
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    X, y = _problem()
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(y, name="visits", budget=Guarantee(unit=Unit.RECORD, epsilon=20.0, delta=1e-4))
    paying = Payment(ledger=ledger, again=True)
    made = [
        train_dp_sgd(
            torch.nn.Linear(4, 2),
            X,
            y,
            rng=system_rng(),
            payment=paying,
            **{**SETTINGS, "epochs": epochs},
        )
        for epochs in (1, 1, 2)
    ]
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE, value_discretization_interval=1e-4)
    for one in made:
        step = dp_accounting.GaussianDpEvent(one.mechanism["noise"])
        sampled = dp_accounting.PoissonSampledDpEvent(one.mechanism["rate"], step)
        accountant.compose(dp_accounting.SelfComposedDpEvent(sampled, one.mechanism["steps"]))
    true, budget = accountant.get_epsilon(1e-4), ledger.statement("visits").budget
    assert ledger.statement("visits").used <= 1
    with pytest.raises(BudgetExceeded):  # which is as much as exact composition of steps fixed beforehand
        ledger.set_budget("visits", replace(budget, epsilon=true))
    ledger.set_budget("visits", replace(budget, epsilon=0.9 * 3 * SETTINGS["epsilon"]))  # less than the plain sum
    written = ledger.statement("visits").entries[-1].guarantee
    assert written.loss == made[-1].guarantee.loss
