"""Codomain gaps against brute force, every construction against its promise, every printed error against its fix."""

import math
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest

from papers.score_attacks.bounds import labels_per_query
from papers.score_attacks.losses import (
    ArbitraryPrecision,
    Bregman,
    FloatingPoint,
    GeneralizedKL,
    ItakuraSaito,
    Mahalanobis,
    NormLike,
    ZeroOne,
    linearly_decomposable,
)
from papers.score_attacks.separation import (
    Digits,
    PowersOfThree,
    PrimeLogs,
    TooManyOverlaps,
    TripledExponents,
    codomain_gap,
    gap_of_losses,
    largest_noise,
    search,
    separate,
    smallest_difference,
    table_1,
)
from papers.score_attacks.theory import first_primes
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

EXACT = ArbitraryPrecision(bits=600)
IDENTITY = ((1.0, 0.0), (0.0, 1.0))


def brute(rows):
    sums = sorted(sum(choice) for choice in product(*rows))
    return min(high - low for low, high in pairwise(sums))


def brute_gap(loss, predictions, *, precision=EXACT):
    """The definition: all labelings scored, sorted, compared."""
    rows = len(predictions)
    with precision.active():
        scores = sorted(
            loss.score(labels, predictions, precision=precision) for labels in product(range(loss.classes), repeat=rows)
        )
        return min(high - low for low, high in pairwise(scores))


# The search.


@pytest.mark.parametrize("bottom", [3**14, 27, 3])
@pytest.mark.parametrize("scale", [1, 2**10, 2**90])
def test_search_equals_brute_force(bottom, scale, monkeypatch):
    monkeypatch.setattr(search, "_BOTTOM", bottom)
    rng = np.random.default_rng(scale % 97 + bottom)
    for _ in range(150):
        rows, classes = int(rng.integers(1, 8)), int(rng.integers(2, 4))
        rows = min(rows, 6) if classes == 3 else rows
        spread = [40, 4000][int(rng.integers(2))]
        values = [
            [int(v) * scale + int(rng.integers(0, min(scale, 2**60))) for v in rng.integers(0, spread, classes)]
            for _ in range(rows)
        ]
        assert smallest_difference(values) == brute(values)


def test_search_finds_the_gap_of_a_planted_near_collision():
    rng = np.random.default_rng(0)
    weights = [int(w) for w in rng.integers(2**50, 2**51, 20)]
    weights[0] = sum(weights[3:7]) - sum(weights[7:10]) + 12345  # by chance it would be about 10^7
    assert smallest_difference([[0, w] for w in weights]) == 12345


def test_any_number_of_superincreasing_rows_is_settled_at_once():
    assert smallest_difference([[0, 3 * 2**i] for i in range(2000)]) == 3
    assert smallest_difference([[0, 5 * 3**i, 10 * 3**i] for i in range(500)]) == 5


def test_too_many_overlapping_rows_are_refused(monkeypatch):
    monkeypatch.setattr(search, "_TOP", 100)
    with pytest.raises(TooManyOverlaps, match="use fewer rows"):
        smallest_difference([[0, int(w)] for w in np.random.default_rng(1).integers(2**40, 2**41, 20)])


def test_rows_beyond_numbering_are_refused():
    nearly = [[0, int(1e6 * 1.999**i)] for i in range(80)]  # so little overlap that pruning alone would let them by
    with pytest.raises(TooManyOverlaps, match="than can be numbered"):
        smallest_difference(nearly)


def test_sums_that_are_not_superincreasing_can_be_distinct():
    # g1: the condition a_i - sum_{j<i} a_j >= u is sufficient, not necessary.
    assert gap_of_losses(np.array([[0.0, w] for w in (3, 5, 6, 7)])) == 1
    assert any(a < sum(b for b in (3, 5, 6, 7) if b < a) + 1 for a in (5, 6, 7))


@pytest.mark.parametrize(
    "loss",
    [ClippedCrossEntropy(), SquaredError(reduction=LossReduction.SUM), ItakuraSaito(), NormLike(alpha=3.0)],
    ids=lambda loss: type(loss).__name__,
)
def test_gap_is_the_definition(loss):
    rng = np.random.default_rng(2)
    for _ in range(5):
        p = rng.uniform(0.05, 0.95, 5)
        assert float(codomain_gap(loss, p, precision=EXACT)) == pytest.approx(float(brute_gap(loss, p)), rel=1e-12)


def test_gap_in_a_format_is_that_of_its_row_losses():
    half = FloatingPoint(exponent_bits=5, fraction_bits=10)
    assert codomain_gap(SquaredError(), [0.25, 0.2501], precision=half) == 0
    assert codomain_gap(SquaredError(), [0.25, 0.2501]) > 0


def test_infinite_losses_have_no_gap():
    with pytest.raises(InvalidInput, match="finite losses"):
        codomain_gap(ClippedCrossEntropy(), [0.0, 0.5])


# Constructions keep their promise, by enumeration.

NOISED = [
    (ClippedCrossEntropy(), 4, 0.3, Digits()),
    (ClippedCrossEntropy(classes=3), 3, 0.3, Digits()),
    (ClippedCrossEntropy(clip=MachineEpsilon()), 5, 1e-2, Digits()),
    (ClippedCrossEntropy(classes=4, clip=ProbabilityFloor(1e-6)), 2, 1e-2, Digits()),
    (ClampedCrossEntropy(), 5, 0.2, Digits()),
    (SigmoidCrossEntropy(), 6, 5.0, Digits()),
    (SoftmaxCrossEntropy(classes=5), 3, 2.0, Digits()),
    (SquaredError(), 5, 6e-3, Digits()),
    (SquaredError(classes=3), 3, 1e-2, Digits()),
    (SquaredError(reduction=LossReduction.SUM), 5, 0.03, Digits()),
    (NormLike(alpha=4.0), 4, 0.06, Digits()),
    (Mahalanobis(matrix=((2.0, 0.5), (0.5, 1.0))), 4, 0.03, Digits()),
    (ItakuraSaito(clip=ProbabilityFloor(1e-6)), 6, 1.0, Digits()),
    (GeneralizedKL(classes=3), 3, 0.1, Digits()),
    (Bregman(h=lambda v: v * np.log(v)), 3, 0.1, Digits()),
    (linearly_decomposable(lambda t: np.exp(-3 * t)), 3, 0.01, Digits()),
    (ClippedCrossEntropy(), 3, 0.1, PowersOfThree()),
    (ClippedCrossEntropy(classes=3), 2, 0.1, PowersOfThree()),
    (SoftmaxCrossEntropy(classes=3), 2, 1.0, PowersOfThree()),
    (ClippedCrossEntropy(), 4, 0.1, TripledExponents()),
    (SigmoidCrossEntropy(), 4, 0.1, TripledExponents()),
    (ItakuraSaito(), 3, 0.1, TripledExponents()),
]


@pytest.mark.parametrize(("loss", "rows", "tau", "how"), NOISED, ids=lambda v: getattr(type(v), "__name__", str(v)))
def test_constructions_keep_two_tau(loss, rows, tau, how):
    found = separate(loss, rows, tau, construction=how)
    assert found.gap >= 2 * Fraction(tau)
    # Enumerated in binary64, with room for its rounding; a tau one tenth larger fails for digits.
    gap = float(brute_gap(loss, found.predictions, precision=FLOAT64))
    assert gap >= 2 * tau * (1 - 1e-9)
    if isinstance(how, Digits):
        assert gap < 2.2 * tau


@pytest.mark.parametrize(
    "loss", [ClippedCrossEntropy(), SquaredError(), NormLike(alpha=3.0), ClippedCrossEntropy(classes=3)]
)
def test_primes_separate_without_noise(loss):
    found = separate(loss, 4, 0.0, construction=PrimeLogs(), precision=EXACT)
    assert found.gap > 0
    assert float(found.gap) == pytest.approx(float(brute_gap(loss, found.predictions)), rel=1e-12)


def test_prime_gaps_of_the_sheet():
    # g7: t_i = (1 - ln p_i/N)/2, smallest subset gap over N^2.
    for rows, pin in ((5, 1.860801e-3), (10, 4.421844e-6), (15, 2.055620e-9)):
        found = separate(SquaredError(), rows, 0.0, construction=PrimeLogs(), precision=EXACT)
        assert float(found.gap) == pytest.approx(pin, rel=1e-6)
        expected = [(1 - math.log(p) / rows) / 2 for p in first_primes(rows)]
        assert np.allclose([float(t) for t in found.predictions], expected, rtol=1e-12)


def test_corollary_3_for_the_norm_like_loss():
    alpha, rows = 3.5, 6
    theta = separate(NormLike(alpha=alpha), rows, 0.0, construction=PrimeLogs()).predictions
    wanted = np.log(first_primes(rows)) / (rows * alpha)
    assert np.allclose((1 - theta) ** (alpha - 1) - theta ** (alpha - 1), wanted, rtol=1e-10)


def test_many_primes_leave_the_gap_unknown():
    assert separate(SquaredError(), 60, 0.0, construction=PrimeLogs()).gap is None


def test_asked_rows_come_first_and_the_rest_is_neutral():
    loss = ClippedCrossEntropy(classes=3, clip=MachineEpsilon())
    found = separate(loss, 100, 1e-4, asked=7)
    assert found.predictions.shape == (100, 3)
    assert np.allclose(found.predictions[7:], 1 / 3)
    assert np.allclose(found.predictions.sum(axis=1), 1, atol=1e-15)
    assert separate(loss, 7, 1e-4 * 100 / 7).predictions == pytest.approx(found.predictions[:7], rel=1e-9)


@pytest.mark.parametrize(
    ("loss", "pin"),
    [
        (ClippedCrossEntropy(clip=ProbabilityFloor(1e-6)), 10),
        (ClippedCrossEntropy(clip=ProbabilityFloor(1e-15)), 11),
        (SquaredError(), 6),
        (NormLike(alpha=3.0), 8),
        (Mahalanobis(matrix=IDENTITY), 7),
        (ItakuraSaito(clip=ProbabilityFloor(1e-6)), 26),
        (ClippedCrossEntropy(classes=3, clip=ProbabilityFloor(1e-6)), 6),
        (ClippedCrossEntropy(classes=10, clip=ProbabilityFloor(1e-6)), 2),
    ],
)
def test_the_promised_number_of_digits_is_reached_and_no_more(loss, pin):
    # g2 and g5, N = 100, tau = 1e-4, by construction instead of by formula.
    assert separate(loss, 100, 1e-4, asked=pin).gap >= 2 * Fraction(1e-4)
    with pytest.raises(InvalidInput, match="asked must be at most"):
        separate(loss, 100, 1e-4, asked=pin + 1)


def test_refusals_name_their_bound():
    cases = [
        (lambda: separate(SquaredError(), 100, 1e-4, asked=9), "isoperimetric bound"),
        (lambda: separate(SquaredError(classes=3), 100, 1e-4, asked=9), "variance bound"),
        (lambda: separate(ClippedCrossEntropy(clip=ProbabilityFloor(1e-6)), 100, 1e-4, asked=11), "digits tell apart"),
        (lambda: separate(ZeroOne(), 2, 1e-9), "Theorem 11"),
        (lambda: separate(SquaredError(), 2, 0.0), "tau must be a finite number > 0"),
        (lambda: separate(SquaredError(), 2, -1.0), "tau must be a finite number > 0, got -1.0"),
        (lambda: separate(SquaredError(), 2, math.nan), "tau must be a finite number > 0"),
        (lambda: separate(SquaredError(), 2, 0.1, construction=PrimeLogs()), "tau must be 0"),
        (lambda: separate(SquaredError(), 0, 0.1), "rows must be an integer >= 1"),
        (lambda: separate(SquaredError(), 2, 0.1, asked=3), "asked must be at most rows = 2, got 3"),
        (
            lambda: separate(ClippedCrossEntropy(classes=3), 2, 0.1, construction=TripledExponents()),
            "classes must be 2",
        ),
        (
            lambda: separate(ClippedCrossEntropy(clip=MachineEpsilon()), 4, 1e-9, precision=Float32()),
            "rounds these losses",
        ),
    ]
    for call, message in cases:
        with pytest.raises(InvalidInput, match=message):
            call()


def test_one_row_of_the_zero_one_loss_separates():
    found = separate(ZeroOne(), 1, 0.5)
    assert found.gap == 1
    with pytest.raises(InvalidInput, match="Theorem 11"):
        separate(ZeroOne(), 1, 0.51)


def test_a_thousand_labels_in_one_score_of_any_precision():
    found = separate(ClippedCrossEntropy(), 1000, 1e-320, precision=ArbitraryPrecision(bits=1200))
    assert found.gap >= 2 * Fraction(1e-320)


# The printed statements that are false, and what holds.


def linear_loss(differences):
    """Row losses with given differences, as a table."""
    return np.array([[0.0, a] for a in differences])


def test_theorem_4_as_printed_admits_a_collision():
    n_tau, differences = 0.9, (4.0, 4.0)
    assert all(a > 2 ** (i + 1) * n_tau for i, a in enumerate(differences))
    assert gap_of_losses(linear_loss(differences)) == 0


def test_theorem_4_corrected():
    rng = np.random.default_rng(3)
    for _ in range(50):
        need, differences = Fraction(1, 2), []
        for _ in range(8):
            excess = need + Fraction(int(rng.integers(0, 4)), 8)
            differences.append(sum(differences, Fraction(0)) + excess)
        assert gap_of_losses(linear_loss([float(a) for a in differences])) >= need


def test_theorem_5_keeps_the_factor_n():
    loss, rows, asked, tau = SigmoidCrossEntropy(), 10, 3, 0.01
    right = [2**i * rows * tau for i in range(1, asked + 1)]
    wrong = [2**i * asked * tau for i in range(1, asked + 1)]

    def gap(differences):
        predictions = np.concatenate([loss.prediction_for(differences), loss.neutral(rows - asked)])
        return gap_of_losses(loss.row_losses(predictions)[:asked]) / rows

    assert float(gap(right)) == pytest.approx(2 * tau)
    assert float(gap(wrong)) == pytest.approx(2 * tau * asked / rows)


def test_theorem_8_as_printed_collides_and_corrected_holds():
    loss, theta = Mahalanobis(matrix=IDENTITY, halved=True), np.array([0.2, 0.2])
    assert loss.weight == 1
    scores = [loss.score(labels, theta) for labels in ((0, 1), (1, 0))]
    assert scores == [pytest.approx(0.34)] * 2
    tau = 0.2  # inside the printed condition: tau < alpha/N and theta <= (1 - N tau/alpha)/2
    assert tau < loss.weight / 2
    assert max(theta) <= (1 - 2 * tau / loss.weight) / 2
    assert codomain_gap(loss, theta) == 0
    for rows in (2, 3, 5):
        largest = loss.weight / (rows * 2**rows)
        assert largest_noise(loss, rows) == pytest.approx(largest)
        assert separate(loss, rows, largest * 0.999).gap >= 2 * Fraction(largest * 0.999)
        with pytest.raises(InvalidInput, match="asked must be at most"):
            separate(loss, rows, largest * 1.001)
        # No design at all reaches alpha/(2 (2^N - 1)).
        assert labels_per_query(loss, rows, tau=1.001 * loss.weight / (2 * (2**rows - 1))).counting < rows


def test_theorem_3_needs_k_from_1():
    tau, rows, classes = 0.1, 2, 3
    for first, factor in ((1, 2 * math.log(3)), (0, math.log(3))):
        powers = [[2 ** (n * classes + k + first) for k in range(classes)] for n in range(rows)]
        theta = np.array([[3.0 ** (power * rows * tau) for power in row] for row in powers])
        theta /= theta.sum(axis=1, keepdims=True)
        gap = codomain_gap(ClippedCrossEntropy(classes=classes), theta, precision=EXACT)
        assert float(gap) == pytest.approx(factor * tau, rel=1e-9)
        assert (gap >= 2 * tau) == (first == 1)
        if first == 1:
            ours = separate(ClippedCrossEntropy(classes=classes), rows, tau, construction=PowersOfThree())
            assert np.allclose(ours.predictions, theta, rtol=1e-12)


def test_theorem_14_read_literally_collides():
    def theta(x):
        return x / (1 + x)

    rows, tau = 2, 1 / 54
    literal = [theta(3 ** (2**i) * rows * tau) for i in (1, 2)]
    assert np.log(np.array(literal) / (1 - np.array(literal))) == pytest.approx([-1.0986, 1.0986], abs=1e-4)
    assert float(codomain_gap(ClippedCrossEntropy(), literal, precision=EXACT)) < 1e-12
    meant = [theta(3 ** (2**i * rows * tau)) for i in (1, 2)]
    assert float(codomain_gap(ClippedCrossEntropy(), meant, precision=EXACT)) >= 2 * tau
    ours = separate(ClippedCrossEntropy(), rows, tau, construction=TripledExponents())
    assert np.allclose(ours.predictions, meant, rtol=1e-12)


def test_corollary_2_holds():
    rows, tau = 4, 0.05
    theta = [1 / (1 + 3 ** (2**i * rows * tau)) for i in range(1, rows + 1)]
    assert float(brute_gap(ItakuraSaito(), theta)) >= 2 * tau
    ours = separate(ItakuraSaito(), rows, tau, construction=TripledExponents())
    assert np.allclose(ours.predictions, theta, rtol=1e-12)


def test_proposition_2_fails_on_a_grid():
    values = [mpmath.mpf(1) / 2 - mpmath.mpf(10) ** -6, mpmath.mpf(1) / 2 + mpmath.mpf(10) ** -6]
    grid = [int(mpmath.nint(v)) for v in values]
    assert grid[1] - grid[0] == 1  # 1-separable when rounded to integers
    assert values[1] - values[0] < 1e-5  # and not before


def test_proposition_3_fails_in_binary16():
    values, tau = (4096.0, 4096.5), 0.5
    assert values[1] - values[0] >= tau
    assert max(2 * math.log2(tau) + 5, -2 * math.log2(tau) - 1) == 3  # bits that are claimed to be enough
    half = FloatingPoint(exponent_bits=5, fraction_bits=10)
    first, second = half.array(values)
    assert first == second


def test_g3_labels_from_an_exactly_rounded_binary64_mean():
    # N = 1000, neutral rows: 48 labels with clip 1e-15, 47 with 1e-7, 51 from logits; four more fail.
    cases = [
        (ClippedCrossEntropy(clip=ProbabilityFloor(1e-15)), 48),
        (ClippedCrossEntropy(clip=ProbabilityFloor(1e-7)), 47),
        (SigmoidCrossEntropy(), 51),
    ]
    for loss, labels in cases:
        assert recovered(loss, labels) == 1
        assert recovered(loss, labels + 4) < 1


def recovered(loss, asked, *, rows=1000, draws=60):
    largest = min(loss.difference_range() * 0.999, 500.0)
    weights = largest / 2.0 ** np.arange(asked)[::-1]
    predictions = np.concatenate([loss.prediction_for(weights), loss.neutral(rows - asked)])
    table = [[Fraction(v) for v in row] for row in loss.row_losses(predictions).tolist()]
    zero = sum(row[0] for row in table)
    steps = [row[1] - row[0] for row in table[:asked]]
    rng, right = np.random.default_rng(4), 0
    for truth in rng.integers(0, 2, (draws, asked)):
        answer = float((zero + sum(a for a, y in zip(steps, truth, strict=True) if y)) / rows)
        residual, guess = Fraction(answer) * rows - zero, []
        for i in reversed(range(asked)):
            bit = residual > (steps[i] + sum(steps[:i])) / 2
            residual -= steps[i] if bit else 0
            guess.append(int(bit))
        right += guess[::-1] == truth.tolist()
    return right / draws


def test_table_1():
    table = {row.name: row for row in table_1(3)}
    assert len(table) == 8
    for row in table.values():
        assert row.gap >= 2 * Fraction(row.tau)
        assert row.unnoised_gap > 0
    unbounded = {name for name, row in table.items() if math.isinf(row.largest_noise)}
    assert unbounded == {
        "Binary Cross Entropy",
        "K-ary Cross Entropy",
        "Softmax Cross Entropy",
        "Sigmoid Cross Entropy",
        "Itakura-Saito Divergence",
    }
    # "Unnoised" in print, yet some noise is withstood; "noised" for Mahalanobis, yet not any noise.
    assert table["Squared Euclidean"].largest_noise == pytest.approx(1 / 24)
    assert table["Norm-like Divergence"].largest_noise == pytest.approx(3 / 24)
    assert table["Mahalanobis Divergence"].largest_noise == pytest.approx(2 / 24)
