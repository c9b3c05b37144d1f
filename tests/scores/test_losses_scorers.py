"""The losses against the scorers they stand for: scikit-learn bit for bit, torch within stated units."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from tacit.scores.losses import (
    ClampedCrossEntropy,
    ClippedCrossEntropy,
    Float32,
    Float64,
    LossReduction,
    MachineEpsilon,
    NoClip,
    ProbabilityFloor,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredError,
)
from tacit.scores.metrics import SKLEARN_FLOOR, Brier, LogLoss

PRECISIONS = [(np.float64, Float64()), (np.float32, Float32())]
REDUCTIONS = [(LossReduction.MEAN, True), (LossReduction.SUM, False)]
TORCH_UNITS = 8  # units in the last place; torch's logarithms and order of summation are its own


def draws(classes, dtype, *, count=25):
    rng = np.random.default_rng(classes)
    for trial in range(count):
        rows = int(rng.integers(2, 3000))
        p = rng.dirichlet(np.full(classes, 0.05 if trial % 2 else 2.0), size=rows)
        p[0] = np.eye(classes)[0]  # 0 and 1 are clipped
        yield p.astype(dtype), np.append(rng.integers(0, classes, rows - 2), [0, 1])


@pytest.mark.parametrize(("dtype", "precision"), PRECISIONS)
@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize(("reduction", "normalize"), REDUCTIONS)
def test_log_loss_bit_for_bit(classes, dtype, precision, reduction, normalize):
    loss = ClippedCrossEntropy(classes=classes, clip=MachineEpsilon(), reduction=reduction)
    for p, labels in draws(classes, dtype):
        theirs = log_loss(labels, p, labels=range(classes), normalize=normalize)
        assert loss.score(labels, p, precision=precision) == theirs


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_metrics_bit_for_bit(classes):
    log, brier = LogLoss(classes=classes, floor=SKLEARN_FLOOR), Brier(classes=classes)
    for p, labels in draws(classes, np.float64):
        assert log.score(labels, p) == log_loss(labels, p, labels=range(classes))
        assert brier.score(labels, p) == brier_score_loss(labels, p, labels=range(classes))


@pytest.mark.parametrize(("dtype", "precision"), PRECISIONS)
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_brier_score_bit_for_bit(classes, dtype, precision):
    loss = SquaredError(classes=classes)
    for p, labels in draws(classes, dtype):
        assert loss.score(labels, p, precision=precision) == brier_score_loss(labels, p, labels=range(classes))
        assert loss.score(labels, np.asfortranarray(p), precision=precision) == brier_score_loss(
            labels, np.asfortranarray(p), labels=range(classes)
        )


@pytest.mark.parametrize(("dtype", "precision"), PRECISIONS)
def test_one_column_bit_for_bit(dtype, precision):
    for p, labels in draws(2, dtype):
        t = p[:, 1]
        assert ClippedCrossEntropy(clip=MachineEpsilon()).score(labels, t, precision=precision) == log_loss(labels, t)
        assert SquaredError().score(labels, t, precision=precision) == brier_score_loss(labels, t)


def test_rows_are_not_renormalized():
    p, loss = np.array([[0.5, 0.2], [0.1, 0.3]]), ClippedCrossEntropy(clip=MachineEpsilon())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert loss.score([0, 1], p) == log_loss([0, 1], p)
    renormalized = p / p.sum(axis=1, keepdims=True)
    assert loss.score([0, 1], renormalized) != log_loss([0, 1], renormalized[:, ::-1])
    assert loss.score([0, 1], renormalized) != loss.score([0, 1], p)


def test_the_clip_is_part_of_the_loss():
    p, labels = np.array([0.0, 0.3]), np.array([1, 0])
    assert ClippedCrossEntropy(clip=MachineEpsilon()).score(labels, p) == log_loss(labels, p)
    assert ClippedCrossEntropy(clip=ProbabilityFloor(1e-15)).score(labels, p) == log_loss(
        labels, np.clip(p, 1e-15, 1 - 1e-15)
    )
    assert ClippedCrossEntropy(clip=ProbabilityFloor(1e-15)).score(labels, p) != log_loss(labels, p)
    assert ClippedCrossEntropy(clip=NoClip()).score(labels, p) == np.inf


def units_apart(ours, theirs, dtype):
    return abs(ours - theirs) / np.spacing(dtype(max(abs(ours), abs(theirs))))


@pytest.mark.parametrize(("dtype", "precision"), PRECISIONS)
@pytest.mark.parametrize(("reduction", "name"), [(LossReduction.MEAN, "mean"), (LossReduction.SUM, "sum")])
def test_torch_within_units(dtype, precision, reduction, name):
    torch = pytest.importorskip("torch", reason="torch is not installed (extra 'torch')")
    rng = np.random.default_rng(3)
    for _ in range(25):
        rows, classes = int(rng.integers(1, 3000)), int(rng.integers(2, 10))
        x = (rng.normal(size=(rows, classes)) * 10).astype(dtype)
        t = rng.beta(0.05, 0.05, rows).astype(dtype)
        labels, bits = rng.integers(0, classes, rows), rng.integers(0, 2, rows)
        truth = torch.tensor(bits.astype(dtype))
        pairs = [
            (
                SoftmaxCrossEntropy(classes=classes, reduction=reduction).score(labels, x, precision=precision),
                torch.nn.CrossEntropyLoss(reduction=name)(torch.tensor(x), torch.tensor(labels)).item(),
            ),
            (
                ClampedCrossEntropy(reduction=reduction).score(bits, t, precision=precision),
                torch.nn.BCELoss(reduction=name)(torch.tensor(t), truth).item(),
            ),
            (
                SigmoidCrossEntropy(reduction=reduction).score(bits, x[:, 0], precision=precision),
                torch.nn.BCEWithLogitsLoss(reduction=name)(torch.tensor(x[:, 0]), truth).item(),
            ),
        ]
        assert all(units_apart(ours, theirs, dtype) <= TORCH_UNITS for ours, theirs in pairs)


def test_torch_clamps_the_logarithm_at_100():
    torch = pytest.importorskip("torch", reason="torch is not installed (extra 'torch')")
    p = np.array([0.0, 1.0, 1e-60])
    for labels in ([1, 0, 1], [0, 1, 0]):
        theirs = torch.nn.BCELoss(reduction="sum")(torch.tensor(p), torch.tensor(labels, dtype=torch.float64)).item()
        assert ClampedCrossEntropy(reduction=LossReduction.SUM).score(labels, p) == theirs
