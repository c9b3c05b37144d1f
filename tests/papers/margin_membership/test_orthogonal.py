"""Theorem 4.2 and its lemmas: pins, networks that refute the printed constants, and bounds held to exact KKT points."""

import math

import numpy as np
import pytest

from papers.margin_membership.theory.orthogonal import Orthogonality, least_margin, measure_orthogonality
from tacit.models.margin.coverage import MarginCoverage, bound_outputs, effective_dimension, judge_coverage
from tacit.models.network import TwoLayerReLU
from tacit.privacy import InvalidInput


def sphere(rng, rows, dimension):
    X = rng.normal(size=(rows, dimension))
    return X * np.sqrt(dimension) / np.linalg.norm(X, axis=1, keepdims=True)


def at_kkt_point(X, y, multipliers, v, s):
    """The network that the multipliers and derivatives determine, with the equations (2) to (5) asserted."""
    lifted = np.c_[X, np.ones(len(X))]
    hidden = v[:, None] * (s.T @ ((multipliers * y)[:, None] * lifted))
    network = TwoLayerReLU(weights=hidden[:, :-1], biases=hidden[:, -1], outputs=v)
    before = network.preactivations(X)
    assert np.allclose(v, np.maximum(before, 0).T @ (multipliers * y))
    assert np.all((s == 1) <= (before > -1e-12))
    assert np.all((s == 0) <= (before < 1e-12))
    assert np.all((s > 0) & (s < 1) <= (np.abs(before) < 1e-12))
    assert np.all(multipliers >= 0)
    margins = y * network(X)
    assert np.allclose(margins[multipliers > 0], margins.min())
    return network, float(margins.min())


def weights_of(multipliers, v, s):
    """A+ and A- of every point."""
    return np.stack([(multipliers[:, None] * s) @ (v**2 * (sign * v > 0)) for sign in (1, -1)])


def opposed_pair(square):
    """Two orthogonal points of opposite labels, each on the kink of the other's neuron."""
    other = 1 / (square + 1)  # the derivative at the kink that makes the other's preactivation 0
    X, s = math.sqrt(square) * np.eye(2), np.array([[1.0, other], [other, 1.0]])
    return X, np.array([1.0, -1.0]), np.full(2, (square + 1 - other) ** -0.5), np.array([1.0, -1.0]), s


def one_neuron(squares):
    """Orthogonal points of one label on one neuron."""
    X = np.diag(np.sqrt(squares))
    sums = np.linalg.solve(X @ X.T + 1, np.ones(len(squares)))
    multipliers = sums / math.sqrt(sums.sum())
    return X, np.ones(len(squares)), multipliers, np.array([sums.sum() ** 0.25]), np.ones((len(squares), 1))


def test_pins():
    points = Orthogonality(squares=[100.0] * 5, delta=3.0)
    assert points.upper(margin=1) == pytest.approx(0.014493, abs=1e-6)
    assert points.fresh(4.0, margin=1) == pytest.approx(0.362319, abs=1e-6)
    assert points.lower(margin=1) == pytest.approx([(1 - 16 / 69) / 101] * 5)
    assert points.holds
    assert not Orthogonality(squares=[46.0] * 5, delta=3.0).holds  # 3 * 4 * 4 < 47 fails
    assert Orthogonality(squares=[48.0] * 5, delta=3.0).holds


def test_lemma_b1_as_printed_is_false():
    parts = opposed_pair(4.0)
    _, margin = at_kkt_point(*parts)
    points = measure_orthogonality(parts[0])
    largest = weights_of(*parts[2:]).max()
    printed = margin / (points.least_square + 1 - 2 * points.delta * (points.rows - 1))
    assert largest == pytest.approx(0.456435, abs=1e-6)
    assert printed == pytest.approx(0.438178, abs=1e-6)
    assert points.upper(margin=margin) == pytest.approx(0.730297, abs=1e-6)
    assert printed < largest <= points.upper(margin=margin)


def test_lemma_b2_as_printed_is_false():
    parts = one_neuron([10.0, 1000.0])
    _, margin = at_kkt_point(*parts)
    assert margin == pytest.approx(1.0)
    second = weights_of(*parts[2:])[0, 1]
    printed = (1 - 1 / 11) / 11
    assert second == pytest.approx(0.000908, abs=1e-6)
    assert printed == pytest.approx(0.082645, abs=1e-6)
    assert measure_orthogonality(parts[0]).lower(margin=1.0)[1] <= second < printed


def test_theorem_42_needs_the_one_beside_delta():
    X, y, multipliers, v, s = one_neuron([100.0])
    X = np.c_[X, 0.0]
    network, margin = at_kkt_point(X, y, multipliers, v, s)
    output = abs(network([[0.0, 3.0]])[0])
    points = measure_orthogonality(X)
    assert output == pytest.approx(margin / 101)  # the printed n m delta/Delta is 0
    assert points.fresh(0.0, margin=margin) == pytest.approx(output), "and the corrected bound is attained"


def random_kkt_points(rng, *, count):
    """Exact KKT points with all preactivations decided: one neuron a sign, active on some points."""
    found = 0
    while found < count:
        X = sphere(rng, int(rng.integers(2, 7)), int(rng.integers(3, 60)))
        y = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
        kernel = X @ X.T + 1
        s = np.stack([y > 0, y < 0], axis=1).astype(float)
        # each neuron holds its own label's points, which then weigh as on one neuron alone
        sums = np.zeros(len(X))
        for sign in (1, -1):
            mine = y == sign
            sums[mine] = np.linalg.solve(kernel[np.ix_(mine, mine)], np.ones(mine.sum()))
        before = np.stack([kernel @ (sums * (y > 0)), kernel @ (sums * (y < 0))], axis=1)
        if (sums <= 0).any() or (before[y < 0, 0] > 0).any() or (before[y > 0, 1] > 0).any():
            continue
        totals = np.array([sums[y > 0].sum(), sums[y < 0].sum()])
        multipliers = sums / np.sqrt(totals)[np.where(y > 0, 0, 1)]
        v = totals**0.25 * np.array([1, -1])
        found += 1
        yield X, y, multipliers, v, s


def test_bounds_hold_at_exact_kkt_points():
    rng = np.random.default_rng(0)
    printed_fails = spoke = sharp = 0
    for X, y, multipliers, v, s in random_kkt_points(rng, count=150):
        network, margin = at_kkt_point(X, y, multipliers, v, s)
        points, bounds = measure_orthogonality(X), bound_outputs(X, y)
        sums = weights_of(multipliers, v, s)
        own = sums[np.where(y > 0, 0, 1), np.arange(len(y))]
        fresh = sphere(rng, 50, X.shape[1])
        outputs = np.abs(network(fresh))
        overlaps = np.abs(fresh @ X.T).max(axis=1)
        assert sums.max() <= points.upper(margin=margin) * (1 + 1e-9)
        assert np.all(points.lower(margin=margin) <= own * (1 + 1e-9))
        assert np.all(outputs <= points.fresh(overlaps, margin=margin) * (1 + 1e-9))
        assert np.all(sums <= bounds.upper * margin * (1 + 1e-9))
        assert np.all(bounds.lower * margin <= own * (1 + 1e-9))
        assert np.all(outputs <= bounds.fresh(fresh) * margin * (1 + 1e-9))
        spoke, sharp = spoke + points.holds, sharp + bounds.holds
        printed_fails += bool((outputs > len(X) * margin * overlaps / points.least_square).any())
    assert spoke > 5
    assert sharp > 2 * spoke, "labels and all products prove more than the largest product"
    assert printed_fails, "control: n m delta/Delta without the 1 and the gap is exceeded"


def test_sharper_bounds_are_never_looser():
    rng = np.random.default_rng(1)
    for _ in range(50):
        X = sphere(rng, 5, int(rng.integers(50, 2000)))
        y = rng.choice([-1, 1], 5)
        points, bounds = measure_orthogonality(X), bound_outputs(X, y)
        if points.gap > 0:
            assert bounds.upper.max() <= points.upper(margin=1.0)
            assert np.all(bounds.lower >= points.lower(margin=1.0))
        assert bounds.holds >= points.holds


def test_where_twenty_points_on_the_sphere_are_proved():
    """3 (delta + 1)(n - 1) < Delta + 1 at d about 30,000, not at n^2 = 400; with labels and all products, at 500."""
    rng = np.random.default_rng(2)
    corrected = {d: sum(measure_orthogonality(sphere(rng, 20, d)).holds for _ in range(10)) for d in (10_000, 40_000)}
    assert corrected[10_000] == 0
    assert corrected[40_000] >= 8
    assert sum(measure_orthogonality(sphere(rng, 20, 30_000)).holds for _ in range(10)) >= 5
    sharp = {
        d: sum(bound_outputs(sphere(rng, 20, d), rng.choice([-1, 1], 20)).holds for _ in range(10)) for d in (200, 600)
    }
    assert sharp[200] <= 1
    assert sharp[600] >= 9


def test_coverage():
    rng = np.random.default_rng(3)
    X, y = sphere(rng, 20, 1000), rng.choice([-1, 1], 20)
    assert judge_coverage(X, y, fresh=sphere(rng, 200, 1000)) is MarginCoverage.PROVED
    assert judge_coverage(X) is MarginCoverage.EXPECTED, "without labels only Theorem 4.2 is left"
    assert judge_coverage(X, y, fresh=X[:1]) is MarginCoverage.EXPECTED, "a training point is not below the margin"
    assert judge_coverage(10 * np.eye(3)) is MarginCoverage.PROVED
    assert judge_coverage(10 * np.eye(3), fresh=[[10.0, 0, 0]]) is MarginCoverage.EXPECTED
    assert judge_coverage(np.eye(3)[:1], [1]) is MarginCoverage.PROVED
    assert judge_coverage(sphere(rng, 20, 1000) + 30, y) is MarginCoverage.NOT_COVERED, (
        "one direction that all points share"
    )


def test_effective_dimension_of_a_sphere_is_its_dimension():
    rng = np.random.default_rng(4)
    assert effective_dimension(sphere(rng, 200, 50)) == pytest.approx(50, rel=0.1)
    assert effective_dimension(np.eye(3)) == math.inf


def test_remarks_b5_and_b6():
    assert least_margin(1 / (2 * math.e)) == pytest.approx(0.810428, abs=1e-6)
    assert least_margin(1 / (2 * math.e)) > 1 / math.e, "sharper than printed"
    m = least_margin(0.1, on_margin=0.25)
    assert 0.25 * math.log1p(math.exp(-m)) == pytest.approx(0.1), "attained by a quarter of points at m"
    step, z = 1e-6, 1.7
    slope = (math.log1p(math.exp(-(z - step))) - math.log1p(math.exp(-(z + step)))) / (2 * step)
    assert 1 / (1 + math.exp(z)) == pytest.approx(slope, rel=1e-6)
    printed = 0.2 * math.exp(-0.2) / (1 + math.exp(-0.2))
    assert 1 / (1 + math.exp(0.2)) > printed, "control: with the factor z the printed bound is below the slope"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bound_outputs(np.eye(3), [0, 1, 2]), "y must have two values, got 3"),
        (lambda: bound_outputs(np.eye(3), [0, 1]), "y must have one label for each of 3 rows"),
        (lambda: bound_outputs(np.eye(3), [0, 1, 1]).fresh([[1.0]]), "X must have 3 columns"),
        (lambda: measure_orthogonality([[math.nan]]), "finite"),
        (lambda: effective_dimension([[1.0]]), "two rows or more"),
        (lambda: least_margin(0.0), "mean_loss must be > 0"),
        (lambda: least_margin(0.1, on_margin=0.0), "on_margin must be a share"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
