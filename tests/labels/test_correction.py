import numpy as np
import pytest

from tacit.labels import (
    RandomizedResponse,
    backward_loss,
    forward_loss,
    generalised_cross_entropy,
    symmetric_cross_entropy,
)
from tacit.privacy import InvalidInput

T = RandomizedResponse(epsilon=1.0, classes=3).transition()
P = np.array([[0.6, 0.3, 0.1]])


def test_pins():
    """Formula sheet a10."""
    assert forward_loss(P, np.array([1]), transition=T) == pytest.approx([1.135709], abs=5e-7)
    losses = np.repeat(-np.log(P), 3, axis=0)
    expected = [-0.935332, 0.968002, 3.984714]
    assert backward_loss(losses, np.arange(3), transition=T) == pytest.approx(expected, abs=5e-7)


def test_backward_loss_is_unbiased():
    """T l_b = l, so the expectation over the mechanism is the loss at the true label."""
    losses = np.random.default_rng(0).exponential(size=(1, 3))
    corrected = backward_loss(np.repeat(losses, 3, axis=0), np.arange(3), transition=T)
    assert T @ corrected == pytest.approx(losses[0])
    with pytest.raises(InvalidInput, match="invertible"):
        backward_loss(losses, np.array([0]), transition=np.full((3, 3), 1 / 3))


def test_forward_loss_is_least_at_the_true_distribution():
    truth = np.array([0.5, 0.3, 0.2])
    noisy = truth @ T
    grid = np.random.default_rng(1).dirichlet(np.ones(3), size=3000)

    def expected(p):
        return sum(noisy[z] * forward_loss(p[None], np.array([z]), transition=T)[0] for z in range(3))

    assert min(expected(p) for p in grid) >= expected(truth) - 1e-12


def test_robust_losses_reach_their_limits():
    z = np.array([0])
    assert generalised_cross_entropy(P, z, q=1e-9) == pytest.approx(-np.log([0.6]), rel=1e-6)
    assert generalised_cross_entropy(P, z, q=1.0) == pytest.approx([0.4])
    assert symmetric_cross_entropy(P, z, alpha=0.0, beta=1.0) == pytest.approx([-np.log(1e-4) * 0.4])
    with pytest.raises(InvalidInput, match="q must be"):
        generalised_cross_entropy(P, z, q=0.0)
