"""Training to the margin: certificates, losses, gradient steps, polish."""

import cvxpy as cp
import numpy as np
import pytest
import torch

from papers.margin_membership.logistic_loss import LogisticMarginLoss
from tacit.models.margin.certificate import kkt
from tacit.models.margin.fit import NotSeparated, fit_margin
from tacit.models.margin.gradient import ExponentialMarginLoss, ascend
from tacit.models.margin.polish import polish_network
from tacit.models.margin.train import initial_network, train
from tacit.models.margin.univariate import fit_least_norm
from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput


def on_sphere(rng, n, d):
    X = rng.normal(size=(n, d))
    return X * np.sqrt(d) / np.linalg.norm(X, axis=1, keepdims=True)


def random_network(rng, width, d):
    return TwoLayerReLU(
        weights=rng.normal(size=(width, d)), biases=rng.normal(size=width), outputs=rng.normal(size=width)
    )


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(7)
    return on_sphere(rng, 12, 30), np.array([-1, 1] * 6)


@pytest.fixture(scope="module")
def fit(problem):
    return fit_margin(*problem, width=150, rng=np.random.default_rng(1), steps=800)


class TestCertificate:
    def test_the_pinned_network_of_two_points(self):
        w, v = 2**-0.75, 2**-0.25
        network = TwoLayerReLU(weights=[[w], [-w]], biases=[w, w], outputs=[v, -v])
        found = kkt(network, [[-1.0], [1.0]], [-1, 1])
        assert network([[-1.0], [1.0]]) == pytest.approx([-1, 1])
        assert network.squared_norm == pytest.approx(2.828427, abs=1e-6)
        assert found.multipliers == pytest.approx([0.707107, 0.707107], abs=1e-6)
        assert found.residual < 1e-9
        assert found.slackness < 1e-12
        assert found.kinks == 2

    def test_a_network_that_is_not_a_kkt_point_has_a_large_residual(self, problem):
        X, y = problem
        network = random_network(np.random.default_rng(0), 50, 30)
        assert kkt(network, X, y).residual > 0.5

    def test_a_kkt_point_moved_a_little_is_none(self, fit, problem):
        polished = fit.polished
        moved = TwoLayerReLU(weights=polished.weights * 1.1, biases=polished.biases, outputs=polished.outputs)
        assert kkt(moved, *problem).residual > 0.01

    def test_labels_of_other_points_do_not_certify(self, fit, problem):
        X, y = problem
        found = kkt(fit.polished, X, -y)
        assert not found.feasible
        assert found.residual > 0.9
        assert found.slackness == np.inf

    def test_a_point_that_was_not_trained_on_gets_no_multiplier(self, fit, problem):
        X, y = problem
        more = on_sphere(np.random.default_rng(3), 4, 30)
        labels = np.where(fit.polished(more) > 0, 1, -1)
        found = kkt(fit.polished, np.vstack([X, more]), np.concatenate([y, labels]))
        assert found.residual < 1e-5
        assert found.multipliers[12:].max() < 1e-4 * found.multipliers.max()

    def test_nothing_but_margins_changes_when_the_network_is_rescaled(self, fit, problem):
        for network in (fit.network, fit.polished):
            before, after = (kkt(n, *problem, tolerance=1e-4) for n in (network, network.scaled(7.0)))
            assert after.residual == pytest.approx(before.residual, abs=1e-7)
            assert after.multipliers == pytest.approx(before.multipliers, abs=1e-4 * before.multipliers.max())
            assert after.margins == pytest.approx(7 * before.margins)
            assert after.slackness == pytest.approx(before.slackness, abs=1e-6)

    @pytest.mark.parametrize("seed", range(5))
    def test_multipliers_and_free_derivatives_against_another_convex_program(self, seed):
        """Written neuron by neuron, in all dimensions, for cvxpy: no reduction, no cone by hand."""
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(5, 3)), np.array([1, -1, 1, -1, 1])
        W, b = rng.normal(size=(6, 3)), np.zeros(6)
        for j in range(6):
            b[j] = -W[j] @ X[j % 5]  # each neuron has its kink at a point
        v = rng.normal(size=6)
        points, neurons = np.column_stack([X, np.ones(5)]), np.column_stack([W, b])
        multipliers, errors, limits = cp.Variable(5, nonneg=True), [], []
        for j in range(6):
            reach = points @ neurons[j]
            errors.append(cp.reshape(v[j] - (y * np.maximum(reach, 0)) @ multipliers, (1,), order="C"))
            free = cp.Variable(5)
            limits += [free >= 0, free <= multipliers]
            limits += [free[i] == (multipliers[i] if reach[i] > 0 else 0) for i in range(5) if i != j % 5]
            errors.append(neurons[j] - v[j] * (points.T * y) @ free)
        program = cp.Problem(cp.Minimize(cp.norm(cp.hstack(errors))), limits)
        best = program.solve(solver="CLARABEL")
        network = TwoLayerReLU(weights=W, biases=b, outputs=v)
        found = kkt(network, X, y)
        assert found.kinks == 6
        assert found.residual == pytest.approx(best / np.sqrt(network.squared_norm), abs=1e-6)

    def test_it_refuses_what_it_cannot_certify(self):
        network = TwoLayerReLU(weights=[[0.0]], biases=[0.0], outputs=[0.0])
        with pytest.raises(InvalidInput, match="the network is zero"):
            kkt(network, [[1.0]], [1])
        with pytest.raises(InvalidInput, match="tolerance must be"):
            kkt(network, [[1.0]], [1], tolerance=-1)
        with pytest.raises(InvalidInput, match="1 columns"):
            kkt(TwoLayerReLU(weights=[[1.0]], biases=[0.0], outputs=[1.0]), [[1.0, 2.0]], [1])


class TestLosses:
    @pytest.mark.parametrize("loss", [ExponentialMarginLoss(), LogisticMarginLoss()])
    def test_the_logarithm_and_its_slope_are_the_plain_ones(self, loss):
        margins = torch.tensor(
            [-20.0, -3.0, -1e-9, 0.0, 0.5, 29.9, 30.1, 40.0], dtype=torch.float64, requires_grad=True
        )
        plain = (-margins).exp() if isinstance(loss, ExponentialMarginLoss) else torch.nn.functional.softplus(-margins)
        expected = plain.sum().log()
        assert loss.log_sum(margins).item() == pytest.approx(expected.item(), rel=1e-12)
        expected.backward()
        assert loss.weights(margins.detach()).numpy() == pytest.approx(-margins.grad.numpy(), rel=1e-9, abs=1e-15)

    @pytest.mark.parametrize("loss", [ExponentialMarginLoss(), LogisticMarginLoss()])
    @pytest.mark.parametrize("size", [1e6, -1e6])
    def test_no_margin_is_too_large(self, loss, size):
        margins = torch.tensor([size, size, torch.inf], dtype=torch.float64)
        assert np.isfinite(loss.log_sum(margins).item())
        weights = loss.weights(margins)
        assert torch.isfinite(weights).all()
        assert weights[2] == 0

    def test_a_logistic_loss_below_one_nth_may_have_a_point_on_the_wrong_side(self):
        """Theorem 2.1 prints L < 1/n for both losses; for the logistic one it must be log(2)/n."""
        margins = torch.tensor([-0.1, 50.0], dtype=torch.float64)
        total = LogisticMarginLoss().log_sum(margins).exp().item()
        assert total < 1  # the printed condition holds: sum < n * 1/n
        assert total > np.exp(LogisticMarginLoss().threshold(2))  # the corrected one does not
        edge = torch.tensor([0.0], dtype=torch.float64)
        for loss in (ExponentialMarginLoss(), LogisticMarginLoss()):
            assert loss.log_sum(edge).item() == pytest.approx(loss.threshold(1))


class TestGradient:
    def test_a_step_follows_the_gradient_that_autograd_finds(self):
        rng = np.random.default_rng(0)
        points, signs = torch.tensor(rng.normal(size=(1, 5, 4))), torch.tensor([[1.0, -1, 1, -1, 1]]).double()
        U = torch.tensor(rng.normal(size=(1, 7, 4)), requires_grad=True)
        v = torch.tensor(rng.normal(size=(1, 7)), requires_grad=True)
        margins = signs * (torch.relu(points @ U.mT) @ v[:, :, None])[:, :, 0]
        (-torch.nn.functional.softplus(-margins).sum().log()).backward()
        found = ascend(
            points, signs, U.detach(), v.detach(), loss=LogisticMarginLoss(), steps=1, rate=1e-4, momentum=0.0
        )
        step, slope = (found.neurons - U).detach(), U.grad
        size = step.norm() / slope.norm()
        assert torch.allclose(step, size * slope, rtol=1e-6, atol=1e-12)
        assert torch.allclose((found.outputs - v).detach(), size * v.grad, rtol=1e-6, atol=1e-12)

    def test_coordinates_of_the_span_change_nothing(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(4, 9)), np.array([1.0, -1, 1, -1])
        points = np.column_stack([X, np.ones(4)])
        start = initial_network(width=6, dimension=9, scale=0.1, rng=rng)
        neurons = np.column_stack([start.weights, start.biases]) @ np.linalg.pinv(points) @ points
        start = TwoLayerReLU(weights=neurons[:, :-1], biases=neurons[:, -1], outputs=start.outputs)
        reduced, _ = train(X, y, start, steps=60)
        tensors = [torch.tensor(part)[None] for part in (points, y, neurons, start.outputs.copy())]
        whole = ascend(*tensors, loss=ExponentialMarginLoss(), steps=60)
        assert y * reduced(X) == pytest.approx(whole.margins.numpy()[0], rel=1e-6)

    def test_the_part_outside_the_span_never_moves(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(4, 9)), np.array([1.0, -1, 1, -1])
        start = initial_network(width=6, dimension=9, scale=0.1, rng=rng)
        trained, _ = train(X, y, start, steps=100)
        moved = np.column_stack([trained.weights - start.weights, trained.biases - start.biases])
        points = np.column_stack([X, np.ones(4)])
        inside = moved @ np.linalg.pinv(points) @ points
        assert np.abs(moved - inside).max() < 1e-10 * np.abs(moved).max()

    def test_balance_is_kept(self):
        rng = np.random.default_rng(0)
        X, y = on_sphere(rng, 10, 20), rng.permutation([-1.0, 1.0] * 5)
        start = initial_network(width=50, dimension=20, scale=1e-3, rng=rng)
        network, _ = train(X, y, start, steps=500)
        imbalance = network.outputs**2 - (network.weights**2).sum(axis=1) - network.biases**2
        assert np.abs(imbalance).sum() < 0.02 * network.squared_norm

    def test_the_certificate_improves_with_training(self, problem):
        certificates = [
            fit_margin(*problem, width=100, rng=np.random.default_rng(2), steps=steps, polish=False).certificate
            for steps in (60, 150, 600)
        ]
        for measure in ("residual", "slackness"):
            values = [getattr(c, measure) for c in certificates]
            assert values[0] > values[1] > values[2], measure

    @pytest.mark.parametrize("loss", [ExponentialMarginLoss(), LogisticMarginLoss()])
    def test_both_losses_reach_nearly_the_same_margin(self, loss, problem, fit):
        found = fit_margin(*problem, width=150, rng=np.random.default_rng(1), steps=800, loss=loss, polish=False)
        assert found.network.squared_norm == pytest.approx(fit.network.squared_norm, rel=0.02)
        assert found.below_at is not None


class TestFit:
    def test_gradient_trained(self, fit, problem):
        assert fit.certificate.margin == pytest.approx(1)
        assert fit.certificate.residual < 0.1
        assert fit.certificate.slackness < 1e-2
        assert fit.below_at < 300
        assert "stationarity residual" in fit.shortfall
        assert kkt(fit.network, *problem, tolerance=0.0).residual > fit.certificate.residual

    def test_polished(self, fit, problem):
        certificate = fit.polished_certificate
        assert certificate.residual < 1e-5
        assert certificate.slackness < 1e-6
        assert certificate.margin == pytest.approx(1)
        assert fit.polished.squared_norm <= fit.network.squared_norm
        assert fit.polished.width < fit.network.width
        assert fit.best is fit.polished

    def test_consequences_of_stationarity(self, fit):
        network, certificate = fit.polished, fit.polished_certificate
        assert network.squared_norm == pytest.approx(2 * certificate.multipliers.sum(), rel=1e-4)
        sizes = (network.weights**2).sum(axis=1) + network.biases**2
        assert network.outputs**2 == pytest.approx(sizes, rel=1e-9)

    def test_kinks_must_be_free(self, fit, problem):
        assert fit.polished_certificate.kinks > 0
        assert kkt(fit.polished, *problem, tolerance=0.0).residual > 0.05

    def test_any_two_labels(self, problem, fit):
        X, y = problem
        named = np.where(y > 0, "yes", "no")
        again = fit_margin(X, named, width=150, rng=np.random.default_rng(1), steps=800, polish=False)
        assert np.array_equal(again.network.weights, fit.network.weights)

    @pytest.mark.parametrize(
        ("X", "y", "changes", "message"),
        [
            ([[0.0], [1.0]], [0, 1], {"width": 0}, "width must be at least 1, got 0"),
            ([[0.0], [1.0]], [0, 1], {"steps": 0}, "steps must be at least 1, got 0"),
            ([[0.0], [1.0]], [0, 1], {"initial_scale": 0.0}, "initial_scale must be > 0"),
            ([[np.nan], [1.0]], [0, 1], {}, "X must have finite numbers only"),
            ([[0.0], [1.0]], [0.0, np.nan], {}, "y must not contain NaN"),
            ([[0.0], [1.0], [2.0]], [0, 1, 2], {}, "y must have two values, got 3"),
            ([[0.0], [1.0]], [None, 1], {}, "y must have labels that can be compared"),
            ([[0.0], [1.0]], [1, 1], {}, "y must have two values, got 1"),
            ([[0.0], [1.0]], [0], {}, "y must have one label for each of 2 rows"),
            ([0.0, 1.0], [0, 1], {}, "X must have a row per point"),
            ([["a"], ["b"]], [0, 1], {}, "X must be a table of numbers"),
            ([[0.0], [-0.0]], [0, 1], {}, r"no point under both labels, .*, got 1, such as X\[0\] and X\[1\]"),
        ],
    )
    def test_bad_input_is_refused_in_one_sentence(self, X, y, changes, message):
        with pytest.raises(InvalidInput, match=message) as caught:
            fit_margin(X, y, **({"width": 5, "rng": np.random.default_rng(0), "steps": 5} | changes))
        assert "\n" not in str(caught.value)

    def test_points_left_on_the_wrong_side_are_said(self):
        rng = np.random.default_rng(0)
        with pytest.raises(NotSeparated, match="are on the wrong side after 200 steps"):
            fit_margin(rng.normal(size=(40, 1)), rng.permutation([0, 1] * 20), width=1, rng=rng, steps=200)


class TestPolish:
    @staticmethod
    def all_patterns(x):
        """A network of one feature with every activation pattern in both signs, and every point on its side."""
        cuts = [x[0] - 1, *((x[1:] + x[:-1]) / 2), x[-1] + 1]
        return [(slope, -slope * cut) for cut in cuts for slope in (1.0, -1.0)]

    @pytest.mark.parametrize(
        ("x", "y", "half_norm", "multipliers"),
        [
            ([-1.0, 1.0], [-1.0, 1.0], np.sqrt(2), [0.707107, 0.707107]),
            ([-2.0, -1.0, 1.0, 3.0], [1.0, -1.0, 1.0, -1.0], 7.071068, [1.414214, 2.828427, 2.121320, 0.707107]),
        ],
    )
    def test_pinned_least_networks_of_one_feature(self, x, y, half_norm, multipliers):
        x, y = np.array(x), np.array(y)
        neurons = np.array(self.all_patterns(x) * 2)
        hidden = np.maximum(np.outer(x, neurons[:, 0]) + neurons[:, 1], 0)
        sides = np.repeat([1.0, -1.0], len(neurons) // 2)
        sizes = cp.Variable(len(neurons), nonneg=True)
        cp.Problem(cp.Minimize(cp.sum_squares(sizes - 1)), [cp.multiply(y, (hidden * sides) @ sizes) >= 1]).solve()
        v = sides * np.maximum(sizes.value, 1e-2)
        network = TwoLayerReLU(weights=neurons[:, :1], biases=neurons[:, 1], outputs=v)
        assert (y * network(x[:, None])).min() > 0
        polished = polish_network(network, x[:, None], y)
        assert polished.squared_norm / 2 == pytest.approx(half_norm, abs=1e-5)
        found = kkt(polished, x[:, None], y)
        assert found.residual < 1e-5
        # scaled by m = 1: the dual of half the squared norm is the sum of multipliers
        assert found.multipliers.sum() == pytest.approx(half_norm, abs=1e-4)
        if len(x) == 4:
            assert found.multipliers == pytest.approx(multipliers, abs=1e-3)

    def test_one_point(self):
        network = TwoLayerReLU(weights=[[1.0]], biases=[3.0], outputs=[1.0])
        polished = polish_network(network, np.array([[2.0]]), np.array([1.0]))
        assert polished.squared_norm / 2 == pytest.approx(0.447214, abs=1e-6)
        assert polished.weights[0, 0] / polished.biases[0] == pytest.approx(2.0, abs=1e-4)

    @pytest.mark.parametrize("seed", range(3))
    def test_no_network_on_the_same_patterns_is_smaller(self, seed):
        """Against the same convex program written for cvxpy on every pattern of the trained network."""
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(5, 2)), np.array([1.0, -1, 1, -1, 1])
        network = fit_margin(X, y, width=60, rng=rng, steps=2500, polish=False).network
        polished = polish_network(network, X, y)
        points = np.column_stack([X, np.ones(5)])
        patterns = {(*(z > 0), v > 0) for z, v in zip(network.preactivations(X).T, network.outputs, strict=True)}
        total, norms, limits = 0, 0, []
        for *on, positive in patterns:
            u = cp.Variable(3)
            norms += cp.norm(u)
            limits.append(cp.multiply(2 * np.array(on) - 1, points @ u) >= 0)
            total += (1 if positive else -1) * cp.multiply(np.array(on, dtype=float), points @ u)
        limits.append(cp.multiply(y, total) >= 1)
        best = cp.Problem(cp.Minimize(norms), limits).solve(solver="CLARABEL")
        # crossing into other patterns may make it smaller, light neurons left out a little larger
        assert polished.squared_norm / 2 <= best * 1.01
        assert kkt(polished, X, y).residual < 1e-5

    @pytest.mark.parametrize("seed", range(3))
    def test_the_exact_network_of_one_feature_is_never_larger(self, seed):
        rng = np.random.default_rng(seed)
        X, y = np.sort(rng.normal(scale=3, size=(4, 1)), axis=0), np.array([1, -1, -1, 1])
        polished = fit_margin(X, y, width=100, rng=rng, steps=3000, initial_scale=1.0).polished
        exact = fit_least_norm(X[:, 0], y).network
        assert exact.squared_norm <= polished.squared_norm * (1 + 1e-6)
        assert kkt(exact, X, y).residual < 1e-8
        assert kkt(polished, X, y).residual < 1e-4

    @pytest.mark.parametrize("scale", [0.1, 1e3])
    def test_points_of_any_size(self, problem, scale):
        X, y = problem
        found = fit_margin(scale * X, y, width=100, rng=np.random.default_rng(0), steps=600)
        assert found.polished_certificate.residual < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("d", [100, 1000])
def test_the_guaranteed_certificates(d):
    rng = np.random.default_rng(0)
    X, y = on_sphere(rng, 20, d), rng.choice([-1, 1], size=20)
    found = fit_margin(X, y, width=1000, rng=rng, steps=1500)
    assert found.polished_certificate.residual < 1e-4
    assert found.polished_certificate.slackness < 1e-4
    assert found.certificate.residual < 0.1
