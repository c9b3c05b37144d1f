"""Totals that agree: the projection against dense linear algebra, and how much noise it takes away."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from papers.label_bags.bags import curate, draw
from tacit.bags.losses import CategoricalLoss, LogisticLoss, SquaredLoss
from tacit.bags.mechanisms import consistency
from tacit.bags.mechanisms.consistency import ConsistencyProjection, make_consistent, tie_by_keys, tie_by_rows
from tacit.bags.mechanisms.noise import GaussianTotalsNoise, LaplaceTotalsNoise
from tacit.bags.mechanisms.sizes import SizeRule
from tacit.bags.partition import BagTotals, KeyColumn, Partition
from tacit.privacy import InvalidInput, NoGuarantee, Unit


def make(rows=300, seed=0, **sizes):
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(size, size=rows) for name, size in sizes.items()}
    return pd.DataFrame({**columns, "y": rng.integers(2, size=rows), "kind": rng.integers(3, size=rows)})


def noisy(frame, by, *, label="y", loss=None, seed=1, **given):
    noise = LaplaceTotalsNoise(epsilon=1.0)
    return curate(
        frame, by=by, label=label, loss=loss or LogisticLoss(), noise=noise, rng=np.random.default_rng(seed), **given
    )


def with_variances(release, factors):
    """The release, its partitions as noisy as the factors say."""
    parts = [
        replace(part, variance=part.variance * factor) for part, factor in zip(release.partitions, factors, strict=True)
    ]
    return replace(release, partitions=tuple(parts))


def dense(parts, frame):
    """A (A'WA)^+ A'W z, as it reads."""
    A = np.concatenate([(part.assign(frame)[None, :] == np.arange(len(part))[:, None]) for part in parts]).astype(float)
    W = np.diag(np.concatenate([np.full(len(part), 1 / part.variance) for part in parts]))
    z = np.concatenate([part.totals for part in parts])
    hat = A @ np.linalg.pinv(A.T @ W @ A, rcond=1e-10, hermitian=True) @ A.T @ W
    return hat @ z, np.diag(hat)


def stacked(release):
    return np.concatenate([part.totals for part in release.partitions])


def test_pinned_example():
    def part(name, totals):
        return Partition(
            features=(KeyColumn(name),),
            keys=pa.table({name: range(len(totals))}),
            variance=1.0,
            counts=np.ones(len(totals), dtype=np.int64),
            totals=np.array(totals)[:, None],
        )

    release = BagTotals(
        partitions=(part("a", [10.4, 19.1, 5.2]), part("b", [16.0, 17.0])),
        loss=SquaredLoss(),
        seeded=True,
        label="y",
        guarantee=NoGuarantee(reason="shown"),
        mechanism={"name": "shown"},
    )
    made = make_consistent(release)
    one, two = made.release.partitions
    np.testing.assert_allclose(one.totals.ravel(), [10.06, 18.76, 4.86], atol=1e-9)
    np.testing.assert_allclose(two.totals.ravel(), [16.34, 17.34], atol=1e-9)
    np.testing.assert_allclose(made.factors, [0.8, 1 - 1 / 2 + 1 / 4 / (1 / 2 + 1 / 3)], atol=1e-12)
    assert made.exact
    assert one.variance == pytest.approx(0.8)


SETS = {
    "disjoint": [("a",), ("b",), ("c",)],
    "nested": [("a",), ("a", "b"), ("a", "b", "c")],
    "overlapping": [("a", "b"), ("b", "c"), ("a", "c")],
}


@pytest.mark.parametrize("factors", [(1, 1, 1), (25, 6, 1)], ids=["equal", "unequal"])
@pytest.mark.parametrize("by", SETS)
def test_rows_give_the_dense_projection(by, factors):
    frame = make(a=3, b=2, c=4)
    release = with_variances(noisy(frame, SETS[by], label="kind", loss=CategoricalLoss(classes=3)), factors)
    made = make_consistent(release, table=frame)
    expected, factors = dense(release.partitions, frame)
    np.testing.assert_allclose(stacked(made.release), expected, atol=1e-7)
    ends = np.cumsum([len(part) for part in release.partitions])[:-1]
    np.testing.assert_allclose(made.factors, [part.mean() for part in np.split(factors, ends)], atol=1e-9)
    assert made.exact
    assert all(factor <= 1 for factor in made.factors)


@pytest.mark.parametrize("factors", [(1, 1, 1), (25, 6, 1)], ids=["equal", "unequal"])
@pytest.mark.parametrize("by", SETS)
def test_keys_give_the_same_where_all_cells_occur(by, factors):
    """Every combination of values occurs in 300 rows of 24: what the keys tie is then all there is, for these sets."""
    frame = make(a=3, b=2, c=4)
    release = with_variances(noisy(frame, SETS[by]), factors)
    made = make_consistent(release)
    expected, _ = dense(release.partitions, frame)
    np.testing.assert_allclose(stacked(made.release), expected, atol=1e-7)


def test_totals_agree_and_children_add_up():
    frame = make(a=5, b=4, c=3)
    release = noisy(frame, [("a",), ("a", "b"), ("c",)])
    before = [part.totals.sum() for part in release.partitions]
    assert max(before) - min(before) > 1, "control: noised totals do not agree"
    one, two, three = make_consistent(release).release.partitions
    assert one.totals.sum() == pytest.approx(three.totals.sum(), abs=1e-8)
    parents = one.assign(two.keys)
    np.testing.assert_allclose(np.bincount(parents, weights=two.totals[:, 0]), one.totals[:, 0], atol=1e-8)
    true = curate(frame, by=[("a",), ("a", "b"), ("c",)], label="y", loss=LogisticLoss())
    assert not np.allclose(np.bincount(parents, weights=release.partitions[1].totals[:, 0]), one.totals[:, 0])
    np.testing.assert_allclose(true.partitions[0].counts, release.partitions[0].counts)


def test_exact_totals_stay_as_they_are():
    frame = make(a=3, b=2)
    exact = curate(frame, by=["a", "b"], label="y", loss=LogisticLoss())
    assert make_consistent(exact).release is exact
    whitened = ConsistencyProjection(matrix=tie_by_rows(exact.partitions, frame), ties=False)
    np.testing.assert_allclose(whitened.apply(stacked(exact)), stacked(exact), atol=1e-9)
    tied = ConsistencyProjection(matrix=tie_by_keys(exact.partitions), ties=True)
    np.testing.assert_allclose(tied.apply(stacked(exact)), stacked(exact), atol=1e-9)


@pytest.mark.parametrize("sizes", [SizeRule(least=8, small="merge"), SizeRule(least=8)], ids=["merge", "drop"])
@pytest.mark.parametrize("known", [True, False], ids=["rows", "keys"])
def test_regrouped_bags_are_tied_by_what_holds(sizes, known):
    """Exact totals of regrouped bags meet every tie that is used."""
    frame = make(a=5, b=4, c=6)
    exact = curate(frame, by=[("a", "b"), ("b", "c"), ("b",)], label="y", loss=LogisticLoss(), sizes=sizes)
    matrix = tie_by_rows(exact.partitions, frame) if known else tie_by_keys(exact.partitions)
    made = ConsistencyProjection(matrix=matrix, ties=not known).apply(stacked(exact))
    np.testing.assert_allclose(made, stacked(exact), atol=1e-8)


def test_the_variance_falls_by_the_factor():
    """2,000 draws of noise: the mean squared error is the factor times the variance; control: it is not 1 times it."""
    frame = make(a=4, b=3)
    by = [("a",), ("a", "b"), ("b",)]
    true = stacked(curate(frame, by=by, label="y", loss=LogisticLoss()))
    release = noisy(frame, by)
    made = make_consistent(release)
    scale = np.concatenate([np.full(len(part), part.variance**0.5) for part in release.partitions])
    matrix = tie_by_keys(release.partitions).toarray() * scale[:, None]
    hat = np.eye(len(scale)) - matrix @ np.linalg.pinv(matrix)
    rng = np.random.default_rng(3)
    noise = np.stack([part.reshape(-1) for part in rng.laplace(size=(2000, len(true))) / 2**0.5])
    errors = (noise @ hat.T) ** 2  # in units of each total's variance
    ends = np.cumsum([len(part) for part in release.partitions])[:-1]
    for factor, part in zip(made.factors, np.split(errors, ends, axis=1), strict=True):
        mean, spread = part.mean(), part.mean(axis=1).std() / 2000**0.5
        assert abs(mean - factor) < 5 * spread
        assert factor < 0.95
        assert abs(mean - 1) > 5 * spread


def test_many_bags_are_estimated_and_near_the_exact_factor(monkeypatch):
    frame = make(rows=6000, a=30, b=25, c=7)
    release = noisy(frame, [("a", "b"), ("a", "c"), ("b",)])
    exact = make_consistent(release)
    monkeypatch.setattr(consistency, "_DENSE", 0)
    made = make_consistent(release, rng=np.random.default_rng(0))
    assert exact.exact
    assert not made.exact
    np.testing.assert_allclose(stacked(made.release), stacked(exact.release), atol=1e-6)
    np.testing.assert_allclose(made.factors, exact.factors, atol=0.02)


def test_a_hundred_thousand_bags_are_made_to_agree():
    rng = np.random.default_rng(0)
    bags, groups = 100_000, 300
    fine = Partition(
        features=(KeyColumn("a"), KeyColumn("b")),
        keys=pa.table({"a": np.arange(bags) % groups, "b": np.arange(bags)}),
        counts=np.full(bags, 20),
        totals=rng.normal(10, 5, size=(bags, 1)),
        variance=25.0,
    )
    coarse = Partition(
        features=(KeyColumn("a"),),
        keys=pa.table({"a": np.arange(groups)}),
        counts=np.full(groups, 20 * bags // groups),
        totals=rng.normal(10 * bags / groups, 5, size=(groups, 1)),
        variance=25.0,
    )
    release = BagTotals(
        partitions=(fine, coarse),
        loss=LogisticLoss(),
        guarantee=NoGuarantee(reason="shown"),
        seeded=True,
        label="y",
        mechanism={"name": "shown"},
    )
    made = make_consistent(release, rng=rng)
    one, two = made.release.partitions
    sums = np.bincount(np.arange(bags) % groups, weights=one.totals[:, 0])
    np.testing.assert_allclose(sums, two.totals[:, 0], atol=1e-6)
    # a group of n children and its parent: hat = I - c c'/(n + 1), so the parent keeps n/(n + 1)
    n = bags / groups
    assert made.factors[1] == pytest.approx(n / (n + 1), abs=0.02)


def test_noised_counts_agree_too():
    frame = make(a=3, b=2)
    sets = [(KeyColumn("a", values=(0, 1, 2)),), (KeyColumn("b", values=(0, 1)),)]
    release = curate(
        frame,
        by=sets,
        label="y",
        loss=LogisticLoss(),
        unit=Unit.RECORD,
        noise=GaussianTotalsNoise(epsilon=1.0, delta=1e-5),
        rng=np.random.default_rng(0),
    )
    one, two = make_consistent(release).release.partitions
    assert one.counts.sum() == pytest.approx(two.counts.sum(), abs=1e-8)
    assert one.totals.sum() == pytest.approx(two.totals.sum(), abs=1e-8)
    assert one.count_variance < release.partitions[0].count_variance
    with pytest.raises(InvalidInput, match="table must not be given for the unit record"):
        make_consistent(release, table=frame)


def test_a_release_says_that_it_was_made_consistent():
    frame = make(a=3, b=2)
    made = make_consistent(noisy(frame, ["a", "b"]))
    assert made.release.mechanism["consistent"]["factors"] == list(made.factors)
    assert made.release.guarantee.epsilon == 1.0, "it costs nothing"


def test_random_bags_are_refused():
    drawn = draw(make(a=2), size=3, bags=2, label="y", loss=LogisticLoss(), rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="random bags share no totals"):
        make_consistent(drawn)
