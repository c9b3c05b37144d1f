"""Every loss at every precision: values, ranges, inverses, and the pins of the formula sheet."""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from papers.score_attacks.losses import (
    ArbitraryPrecision,
    Bregman,
    FloatingPoint,
    GeneralizedKL,
    ItakuraSaito,
    LinearlyDecomposable,
    Mahalanobis,
    NormLike,
    linearly_decomposable,
)
from tacit.privacy.errors import InvalidInput
from tacit.scores.losses import (
    FLOAT64,
    ClampedCrossEntropy,
    ClippedCrossEntropy,
    Float32,
    LossReduction,
    MachineEpsilon,
    ProbabilityFloor,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredError,
)

LOSSES = {
    "binary cross-entropy": ClippedCrossEntropy(clip=ProbabilityFloor(1e-6)),
    "3-ary cross-entropy": ClippedCrossEntropy(classes=3, clip=MachineEpsilon()),
    "clamped": ClampedCrossEntropy(),
    "sigmoid": SigmoidCrossEntropy(),
    "softmax": SoftmaxCrossEntropy(classes=4),
    "squared": SquaredError(),
    "5-ary squared": SquaredError(classes=5),
    "mahalanobis": Mahalanobis(matrix=((2.0, 0.3), (0.1, 1.0))),
    "norm-like": NormLike(alpha=3.5),
    "itakura-saito": ItakuraSaito(clip=ProbabilityFloor(1e-6)),
    "generalized kl": GeneralizedKL(classes=3, clip=ProbabilityFloor(1e-6)),
    "bregman": Bregman(h=lambda v: v * np.log(v), clip=ProbabilityFloor(1e-6)),
    "decomposable": linearly_decomposable(lambda t: np.exp(-3 * t)),
    "decomposable, rising": linearly_decomposable(lambda t: t**2 + np.sqrt(t)),
}
EXACT = ArbitraryPrecision(bits=200)
BINARY64 = FloatingPoint(exponent_bits=11, fraction_bits=52)


@pytest.fixture(params=LOSSES.values(), ids=LOSSES.keys())
def loss(request):
    return request.param


def some_differences(loss, *, precision=FLOAT64):
    largest = min(loss.step_range(precision=precision), 40.0)
    return largest * np.array([0.0, 1e-3, 0.1, 0.5, 0.999])


def test_rows_have_the_wanted_differences(loss):
    steps = some_differences(loss)
    table = loss.row_losses(loss.prediction_for(steps))
    wanted = steps[:, None] * np.arange(loss.classes)
    assert np.allclose(table - table[:, :1], wanted, rtol=1e-9, atol=1e-12)


def test_negative_differences_mirror(loss):
    steps = -some_differences(loss)[:4]  # near the end 1 - p has few bits left
    table = loss.row_losses(loss.prediction_for(steps))
    assert np.allclose(table - table[:, :1], steps[:, None] * np.arange(loss.classes), rtol=1e-6, atol=1e-9)


def test_rows_have_any_offsets(loss):
    weights = np.random.default_rng(5).uniform(0, 0.2, size=(6, loss.classes)) * min(loss.step_range(), 5.0)
    table = loss.row_losses(loss.prediction_for(weights))
    assert np.allclose(table - table[:, :1], weights - weights[:, :1], atol=1e-12)


@pytest.mark.parametrize("bits", [80, 700])
def test_inverse_reaches_the_last_bits(loss, bits):
    precision = ArbitraryPrecision(bits=bits)
    steps = precision.array(some_differences(loss)[1:4])
    table = loss.row_losses(loss.prediction_for(steps, precision=precision), precision=precision)
    with precision.active():
        gap = abs(table[:, 1] - table[:, 0] - steps).max()
        assert gap < mpmath.mpf(2) ** (16 - bits)
        assert gap < 2 ** (8 - 53)  # and a binary64 inverse would not have passed the line above


def test_probability_rows_sum_to_one(loss):
    predictions = loss.prediction_for(some_differences(loss))
    if isinstance(loss, SigmoidCrossEntropy | SoftmaxCrossEntropy):
        return
    assert np.all((predictions >= 0) & (predictions <= 1))
    if loss.columns > 1:
        assert np.allclose(predictions.sum(axis=1), 1, rtol=0, atol=4e-16)


def test_neutral_rows_say_nothing(loss):
    table = loss.row_losses(loss.neutral(3))
    assert table.shape == (3, loss.classes)
    assert np.ptp(table, axis=1).max() < 4e-16


def test_every_precision_agrees_with_the_exact_value(loss):
    predictions = loss.prediction_for(some_differences(loss)[:4])
    labels = np.arange(4) % loss.classes
    exact = loss.score(labels, predictions, precision=EXACT)
    scale = max(1, abs(float(exact)))
    for precision, tolerance in ((FLOAT64, 1e-13), (BINARY64, 1e-13), (FloatingPoint.of_bits(129), 1e-16)):
        score = EXACT.array(loss.score(labels, predictions, precision=precision))[()]
        assert abs(score - exact) < tolerance * scale
    coarse = loss.score(labels, predictions.astype(np.float32), precision=Float32())
    assert abs(coarse - float(exact)) < 1e-4 * scale


def test_scores_pick_the_label_and_reduce(loss):
    predictions, labels = loss.prediction_for(some_differences(loss)), np.array([1, 0, 1, 1, 0])
    table = loss.row_losses(predictions)
    picked = [table[row, label] for row, label in enumerate(labels)]
    assert loss.score(labels, predictions) == pytest.approx(math.fsum(picked) / 5, rel=1e-14)
    total = replace(loss, reduction=LossReduction.SUM).score(labels, predictions)
    assert total == pytest.approx(math.fsum(picked), rel=1e-14)


def test_the_range_is_refused_beyond_and_reached(loss):
    largest = loss.step_range()
    if math.isinf(largest):
        return
    table = loss.row_losses(loss.prediction_for([largest]))
    assert table[0, -1] - table[0, 0] == pytest.approx(largest * (loss.classes - 1), rel=1e-6)
    with pytest.raises(InvalidInput, match="ask for fewer labels"):
        loss.prediction_for([largest * 1.01])


def test_binary_range_is_the_largest_difference_of_any_prediction(loss):
    if loss.columns != 1 or math.isinf(loss.difference_range()):
        return
    grid = np.concatenate([np.linspace(0, 1, 2001), np.geomspace(1e-12, 0.5, 500)])
    if isinstance(loss, LinearlyDecomposable | NormLike):
        grid = np.clip(grid, 1e-300, None)  # the open interval
    table = loss.row_losses(grid)
    assert np.ptp(table, axis=1).max() <= loss.difference_range() * (1 + 1e-9)


# The pins of the formula sheet (g2, g4, g5, g6).


@pytest.mark.parametrize(
    ("loss", "largest"),
    [
        (ClippedCrossEntropy(clip=ProbabilityFloor(1e-6)), 13.8155),
        (ClippedCrossEntropy(clip=ProbabilityFloor(1e-15)), 34.5388),
        (ClippedCrossEntropy(clip=ProbabilityFloor(0.01)), 4.595120),
        (SquaredError(), 1.0),
        (NormLike(alpha=3.0), 3.0),
        (Mahalanobis(matrix=((1.0, 0.0), (0.0, 1.0))), 2.0),
        (Mahalanobis(matrix=((1.0, 0.0), (0.0, 1.0)), halved=True), 1.0),
        (ItakuraSaito(clip=ProbabilityFloor(1e-6)), 999985.18),
        (ClampedCrossEntropy(), 100.0),
    ],
)
def test_ranges(loss, largest):
    assert loss.difference_range() == pytest.approx(largest, abs=6e-5 if largest < 1000 else 6e-3)


def test_log_loss_inverse_is_the_logistic_function():
    a = np.array([0.5, 3.0])
    assert np.allclose(ClippedCrossEntropy().prediction_for(a), 1 / (1 + np.exp(a)), rtol=1e-15)
    assert np.array_equal(SigmoidCrossEntropy().prediction_for(a), -a)


def test_k_ary_digit_rows():
    loss = ClippedCrossEntropy(classes=3, clip=ProbabilityFloor(1e-6))
    row = loss.prediction_for([0.02])
    assert np.allclose(row, [[0.340022, 0.333289, 0.326689]], atol=5e-7)
    largest = loss.step_range()
    least = loss.prediction_for([largest]).min()
    assert least == pytest.approx(1e-6, rel=1e-9)
    assert 2 * largest < loss.difference_range()  # ln Z is paid too


def test_inverses_of_the_divergences():
    t = ItakuraSaito().prediction_for([1.0])[0]
    assert math.log((1 - t) / t) == pytest.approx(0.814097, abs=5e-7)
    assert t == pytest.approx(0.307018, abs=5e-7)
    assert NormLike(alpha=4.0).prediction_for([1.0])[0] == pytest.approx(0.338907, abs=5e-7)


def test_itakura_saito_difference_is_two_sinh_s_minus_s():
    s = np.linspace(0.01, 10, 50)
    table = ItakuraSaito().row_losses(1 / (1 + np.exp(s)))
    assert np.allclose(table[:, 1] - table[:, 0], 2 * np.sinh(s) - s, rtol=1e-9)


def test_itakura_saito_drops_a_term_that_is_infinite_for_every_label():
    def full(y, t):
        return sum(p / q - float(mpmath.log(p / q)) - 1 for p, q in ((y, t), (1 - y, 1 - t)))

    assert full(0, 0.3) == full(1, 0.3) == math.inf
    assert np.all(np.isfinite(ItakuraSaito().row_losses([0.3])))


@pytest.mark.parametrize(("h", "ends", "pin"), [(lambda v: v**2, 1.0, 1.2), (lambda v: v * np.log(v), 0.0, 1.386294)])
def test_theorem_7_has_a_difference_of_derivatives(h, ends, pin):
    loss, t = Bregman(h=h, ends=ends), 0.2
    table = loss.row_losses([t])[0]
    assert table[1] - table[0] == pytest.approx(pin, abs=5e-7)

    def slope(v):
        return float(mpmath.diff(lambda x: x**2 if ends else x * mpmath.log(x), v))

    assert table[1] - table[0] == pytest.approx(slope(1 - t) - slope(t), abs=1e-9)
    assert abs(table[1] - table[0] - (slope(t) + slope(1 - t))) > 0.5  # as printed


def test_bregman_gives_the_named_divergences():
    t = np.array([0.1, 0.45, 0.8])
    assert np.allclose(Bregman(h=lambda v: v**2, ends=1.0).row_losses(t), 2 * SquaredError().row_losses(t))
    assert np.allclose(Bregman(h=lambda v: v**3.5, ends=1.0).row_losses(t), NormLike(alpha=3.5).row_losses(t))
    assert np.allclose(Bregman(h=lambda v: v * np.log(v)).row_losses(t), GeneralizedKL().row_losses(t))
    assert np.allclose(GeneralizedKL().row_losses(t), ClippedCrossEntropy().row_losses(t))


def test_decomposable_gives_the_named_losses():
    t = np.array([0.1, 0.45, 0.8])
    pairs = [
        (lambda t: -np.log(t), ClippedCrossEntropy()),
        (lambda t: 1 / t + np.log(t) - 1, ItakuraSaito()),
        (lambda t: (1 - t) ** 2, SquaredError()),
        (lambda t: 1 + 2.5 * t**3.5 - 3.5 * t**2.5 + 2.5 * (1 - t) ** 3.5, NormLike(alpha=3.5)),
    ]
    for g, named in pairs:
        assert np.allclose(linearly_decomposable(g).row_losses(t), named.row_losses(t), rtol=1e-13)


def test_generalized_kl_charges_unnormalized_rows():
    row = [[0.9, 0.6]]
    assert np.allclose(GeneralizedKL().row_losses(row), ClippedCrossEntropy().row_losses(row) + 0.5)


def test_mahalanobis_is_the_quadratic_form():
    matrix = np.array([[2.0, 0.3], [0.1, 1.0]])
    loss = Mahalanobis(matrix=((2.0, 0.3), (0.1, 1.0)), halved=True)
    for y, t in ((0, 0.3), (1, 0.3), (1, 0.9)):
        e = np.array([y - t, (1 - y) - (1 - t)])
        assert loss.row_losses([t])[0, y] == pytest.approx(e @ matrix @ e / 2)


# Number systems.


def test_binary64_by_mpfr_equals_numpy_where_every_operation_is_rounded_once():
    loss, rng = SquaredError(reduction=LossReduction.SUM), np.random.default_rng(0)
    p, labels = rng.uniform(size=7), rng.integers(0, 2, 7)  # NumPy adds fewer than 8 numbers one by one
    assert float(loss.score(labels, p, precision=BINARY64)) == loss.score(labels, p)
    coarse = FloatingPoint(exponent_bits=11, fraction_bits=51)
    assert float(loss.score(labels, p, precision=coarse)) != loss.score(labels, p)


def test_binary16_by_mpfr_equals_numpy():
    half = FloatingPoint(exponent_bits=5, fraction_bits=10)
    values = np.random.default_rng(1).normal(size=200) * 10.0 ** np.arange(-8, 5).repeat(16)[:200]
    assert np.array_equal([float(v) for v in half.array(values)], values.astype(np.float16).astype(float))


def test_arbitrary_precision_keeps_what_floats_cannot():
    precision = ArbitraryPrecision(bits=2000)
    a = precision.array([Fraction(2) ** 1000])  # e^-(2^1000): far below every float
    t = ClippedCrossEntropy().prediction_for(a, precision=precision)
    assert 0 < t[0] < mpmath.mpf(10) ** -(10**300)
    table = ClippedCrossEntropy().row_losses(t, precision=precision)
    assert table[0, 1] > mpmath.mpf(2) ** 999


def test_float32_clips_at_its_own_epsilon():
    loss = ClippedCrossEntropy(clip=MachineEpsilon())
    assert loss.difference_range(precision=Float32()) == pytest.approx(23 * math.log(2), rel=1e-6)
    assert loss.row_losses(np.array([0.0], np.float32), precision=Float32())[0, 1] == np.float32(23 * math.log(2))


# Bad input.


@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        ([0.5], [2], "labels must be integers in 0..1, the one at row 0 is not"),
        ([0.5], [0.5], "labels must be integers in 0..1, the one at row 0 is not"),
        ([0.5, 0.5], [1], "labels must be one for each of the 2 prediction rows, got 1"),
        ([], [], "predictions must have at least one row"),
        ([1.5], [1], r"predictions must be probabilities in \[0, 1\], got 1.5"),
        ([float("nan")], [1], r"predictions must be probabilities in \[0, 1\], got nan"),
        ([[0.2, 0.3, 0.5]], [1], r"predictions must have shape \(rows,\) or \(rows, 2\), got \(1, 3\)"),
    ],
)
def test_bad_scores_are_refused(predictions, labels, message):
    with pytest.raises(InvalidInput, match=message):
        ClippedCrossEntropy().score(labels, predictions)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ClippedCrossEntropy(classes=1), "classes must be an integer >= 2"),
        (lambda: SquaredError(reduction="mean"), "must be LossReduction.MEAN or LossReduction.SUM, got 'mean'"),
        (lambda: NormLike(alpha=3.0, reduction="sum"), "reduction must be"),
        (lambda: NormLike(alpha=1.5), "alpha must be a finite number >= 2, got 1.5"),
        (lambda: NormLike(alpha=3.0, classes=3), "classes must be 2 for NormLike, got 3; use SquaredError"),
        (lambda: Mahalanobis(matrix=((1.0, 2.0), (2.0, 1.0))), "matrix must be a positive definite"),
        (lambda: ProbabilityFloor(0.5), r"floor must be in \(0, 1/2\)"),
        (lambda: ClampedCrossEntropy(limit=-1.0), "limit must be a finite number > 0"),
        (lambda: linearly_decomposable(lambda t: t * (1 - t)), "g must make"),
        (lambda: linearly_decomposable(np.sin), "the function may use .* got np.sin"),
        (lambda: Bregman(h=lambda v: -(v**2)), "h must be strictly convex"),
        (lambda: SigmoidCrossEntropy(classes=3), "use SoftmaxCrossEntropy"),
        (lambda: SoftmaxCrossEntropy(classes=3).row_losses([[0.0, 1.0]]), r"logits of shape \(rows, 3\)"),
        (lambda: SigmoidCrossEntropy().row_losses([math.inf]), "finite logits"),
        (lambda: FloatingPoint.of_bits(4), "bits must be an integer >= 5"),
        (lambda: ClippedCrossEntropy().prediction_for([[0.0, 1.0, 2.0]]), r"differences must have shape"),
    ],
)
def test_bad_choices_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
