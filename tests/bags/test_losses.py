"""Semilinear losses: b, its derivatives, T and its sensitivity, against numerical differences and each other."""

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss

from tacit.bags.losses import CategoricalLoss, LogisticLoss, PoissonLoss, SquaredLoss
from tacit.privacy.errors import InvalidInput

LOSSES = {
    "squared": (SquaredLoss(lower=-2.0, upper=3.0), np.array([-1.5, 0.0, 2.5, 3.0])),
    "log": (LogisticLoss(), np.array([0, 1, 1, 0])),
    "cross_entropy": (CategoricalLoss(classes=3), np.array([0, 2, 1, 2])),
    "poisson": (PoissonLoss(most=4), np.array([0, 3, 1, 4])),
}
EACH = pytest.mark.parametrize("name", sorted(LOSSES))


def predictions(loss, rows=4):
    return np.random.default_rng(0).normal(size=(rows, loss.targets))


@EACH
def test_the_loss_is_semilinear(name):
    """The difference of two predictions' losses is b(f) - b(g) - T(y)'(f - g): c(y) is in neither."""
    loss, labels = LOSSES[name]
    f, g = predictions(loss), predictions(loss)[::-1]
    expected = loss.potential(f) - loss.potential(g) - np.sum(loss.statistic(labels) * (f - g), axis=1)
    np.testing.assert_allclose(loss.value(f, labels) - loss.value(g, labels), expected, atol=1e-12)


@EACH
def test_the_mean_is_the_gradient_and_the_curvature_its_derivative(name):
    loss, _ = LOSSES[name]
    f, h = predictions(loss), 1e-5
    for k in range(loss.targets):
        step = h * np.eye(loss.targets)[k]
        slope = (loss.potential(f + step) - loss.potential(f - step)) / (2 * h)
        bend = (loss.mean(f + step) - loss.mean(f - step))[:, k] / (2 * h)
        np.testing.assert_allclose(loss.mean(f)[:, k], slope, rtol=1e-6)
        np.testing.assert_allclose(loss.curvature(f)[:, k], bend, rtol=1e-6)


@EACH
def test_the_link_inverts_the_mean(name):
    loss, _ = LOSSES[name]
    f = np.clip(predictions(loss), -1, 1)
    np.testing.assert_allclose(loss.mean(loss.link(loss.mean(f))), loss.mean(f), rtol=1e-9)


@EACH
def test_sensitivities_are_reached_and_not_passed(name):
    loss, _ = LOSSES[name]
    every = np.arange(loss.targets) if loss.targets > 1 else np.concatenate(loss.bounds)
    T = loss.statistic(every)
    gaps = T[:, None, :] - T[None, :, :]
    assert np.abs(gaps).sum(axis=2).max() == pytest.approx(loss.l1)
    assert np.sqrt((gaps**2).sum(axis=2)).max() == pytest.approx(loss.l2)


@EACH
def test_the_engine_makes_the_same_statistic(name, engine):
    loss, labels = LOSSES[name]
    made = engine(labels, loss.statistic_in_sql)
    np.testing.assert_array_equal(np.column_stack([c.to_numpy() for c in made]), loss.statistic(labels))
    assert not any(engine(labels, loss.violation)[0].to_pylist())


def test_log_loss_is_scikit_learns_and_two_classes_are_one_logit():
    f, y = np.array([[-3.0], [0.2], [40.0]]), [0, 1, 1]
    assert LogisticLoss().value(f, y).mean() == pytest.approx(log_loss(y, LogisticLoss().mean(f)[:, 0]), abs=1e-12)
    two = CategoricalLoss(classes=2).value(np.hstack([np.zeros_like(f), f]), y)
    np.testing.assert_allclose(LogisticLoss().value(f, y), two, atol=1e-12)


def test_values_do_not_overflow():
    assert LogisticLoss().value([[1000.0]], [0])[0] == 1000
    assert np.isfinite(CategoricalLoss(classes=2).value([[1000.0, -1000.0]], [1])).all()
    assert np.isfinite(LogisticLoss().link([[0.0], [1.0]])).all()


@pytest.mark.parametrize(
    ("loss", "labels", "says"),
    [
        (LogisticLoss(), [0, 2], "must be 0 or 1, got 2.0 at row 1"),
        (LogisticLoss(), [0, math.nan], "finite number, got nan at row 1"),
        (LogisticLoss(), ["a"], "labels must be numbers"),
        (LogisticLoss(), [[0, 1]], "one value per row"),
        (CategoricalLoss(classes=3), [3], "0..2, got 3.0 at row 0"),
        (CategoricalLoss(classes=3), [0.5], "0..2, got 0.5"),
        (PoissonLoss(), [-1], ">= 0, got -1.0"),
        (SquaredLoss(), [math.inf], "finite number, got inf"),
    ],
)
def test_labels_out_of_range_are_refused(loss, labels, says):
    with pytest.raises(InvalidInput, match=says):
        loss.statistic(labels)


def test_the_engine_flags_what_python_refuses(engine):
    labels = [0.0, 1.0, 2.0, None, math.nan, 0.5, -1.0, math.inf]
    losses = {"log": LogisticLoss(), "three": CategoricalLoss(classes=3), "poisson": PoissonLoss()}
    flagged = {name: engine(labels, loss.violation)[0].to_pylist() for name, loss in losses.items()}
    assert flagged["log"] == [False, False, True, True, True, True, True, True]
    assert flagged["three"] == [False, False, False, True, True, True, True, True]
    assert flagged["poisson"] == [False, False, False, True, True, False, True, True]
    assert engine(labels, SquaredLoss().violation)[0].to_pylist() == [*[False] * 3, True, True, *[False] * 2, True]


@pytest.mark.parametrize(
    "make", [lambda: SquaredLoss().l1, lambda: PoissonLoss().l1, lambda: SquaredLoss(lower=0.0).l2]
)
def test_an_undeclared_range_has_no_sensitivity(make):
    with pytest.raises(InvalidInput, match="chosen without looking at the labels"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: SquaredLoss(lower=1.0, upper=1.0),
        lambda: SquaredLoss(lower=math.nan),
        lambda: CategoricalLoss(classes=1),
        lambda: PoissonLoss(most=0),
        lambda: LogisticLoss().mean(np.zeros((2, 2))),
    ],
)
def test_bad_losses_are_refused(make):
    with pytest.raises(InvalidInput):
        make()
