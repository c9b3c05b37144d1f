"""Crosses and trees from bag totals are those of the individual labels; what cannot be learned is refused."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from papers.label_bags.bags import curate
from papers.label_bags.theory import GradientDescent
from tacit.bags.learners import (
    MLP,
    AdditiveModel,
    BoostedTrees,
    Calibration,
    FeatureCross,
    Lbfgs,
    NoiseRidge,
    Ridge,
)
from tacit.bags.learners.cells import cells_of, project
from tacit.bags.learners.core import overall_total
from tacit.bags.learners.crosses import CrossProblem
from tacit.bags.losses import LogisticLoss, SquaredLoss
from tacit.bags.mechanisms.noise import LaplaceTotalsNoise
from tacit.bags.mechanisms.sizes import SizeRule
from tacit.bags.partition import KeyColumn, Partition
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Unit

PLAIN = Ridge(l2=0.0)
BY = [("a", "b"), ("b", "c"), ("c",)]


def one_hot(frame, columns):
    """Each row's cross as a row of a 0/1 matrix."""
    cell = frame.groupby(list(columns), dropna=False).ngroup().to_numpy()
    return (cell[:, None] == np.unique(cell)[None, :]).astype(float)


def row_gradient(loss, designs, labels, tables, intercept):
    """The mean gradient from individual labels, by matrices: the definition."""
    f = intercept + sum(X @ W for X, W in zip(designs, tables, strict=True))
    residual = (loss.mean(f) - loss.statistic(labels)) / len(labels)
    return np.concatenate([residual.sum(axis=0)[None, :], *[X.T @ residual for X in designs]])


def bag_problem(naive, frame, labels, parts, by, loss):
    release = naive.release(frame, labels, by, loss)
    cells = cells_of(parts, release.partitions)
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    assigned = np.stack([one.of_bags(release.partitions[one.source].assign(rows)) for one in cells], axis=1)
    return CrossProblem(
        loss=loss,
        cells=assigned,
        weights=np.ones(len(frame)),
        totals=[one.domain.totals for one in cells],
        total=loss.statistic(labels).sum(axis=0),
        strengths=[np.zeros(len(one)) for one in cells],
    )


def cells_in_order(problem, frame, parts):
    """For each part, the order of its cells among the sorted crosses."""
    return [one_hot(frame, part.columns)[_first(problem.cells[:, j])].argmax(axis=1) for j, part in enumerate(parts)]


def _first(cell):
    return [int(np.argmax(cell == i)) for i in range(cell.max() + 1)]


@pytest.mark.parametrize("by", [BY, [("a", "b", "c")], [("a", "b", "c"), ("c", "b")]], ids=["exact", "finer", "mixed"])
def test_the_gradient_is_that_of_individual_labels(naive, loss, by):
    frame = naive.rows()
    labels = naive.labels(frame, loss)
    parts = [FeatureCross(columns) for columns in (("a", "b"), ("b", "c"), ("c",))]
    problem = bag_problem(naive, frame, labels, parts, by, loss)
    parameters = np.random.default_rng(0).normal(scale=0.3, size=problem.size)
    intercept, tables = problem.split(parameters)
    order = cells_in_order(problem, frame, parts)
    designs = [one_hot(frame, part.columns)[:, at] for part, at in zip(parts, order, strict=True)]
    expected = row_gradient(loss, designs, labels, tables, intercept)
    np.testing.assert_allclose(problem.value_and_gradient(parameters)[1].reshape(expected.shape), expected, atol=1e-10)


def test_a_wrong_total_is_noticed(naive):
    """Control: the comparison above fails when one label is another."""
    frame, loss = naive.rows(), LogisticLoss()
    labels = naive.labels(frame, loss)
    problem = bag_problem(naive, frame, labels, [FeatureCross(("a",))], [("a",)], loss)
    other = labels.copy()
    other[0] = 1 - other[0]
    changed = bag_problem(naive, frame, other, [FeatureCross(("a",))], [("a",)], loss)
    start = np.zeros(problem.size)
    assert np.abs(problem.value_and_gradient(start)[1] - changed.value_and_gradient(start)[1]).max() > 1e-3


def test_the_value_is_the_mean_loss_less_a_constant(naive, loss):
    frame = naive.rows()
    labels = naive.labels(frame, loss)
    problem = bag_problem(naive, frame, labels, [FeatureCross(("a", "b"))], [("a", "b")], loss)
    rng = np.random.default_rng(1)
    one, two = rng.normal(scale=0.3, size=(2, problem.size))
    ours = problem.value_and_gradient(one)[0] - problem.value_and_gradient(two)[0]
    direct = loss.value(problem.predict(one), labels).mean() - loss.value(problem.predict(two), labels).mean()
    assert ours == pytest.approx(direct, abs=1e-12)


def test_the_model_after_1000_steps_is_that_of_the_labels(naive, loss):
    frame = naive.rows()
    labels = naive.labels(frame, loss)
    by = [("a", "b"), ("b", "c")]
    rate = 0.2
    model = AdditiveModel(penalty=PLAIN, solver=GradientDescent(steps=1000, rate=rate))
    model.fit(naive.release(frame, labels, by, loss), frame)
    designs = [one_hot(frame, columns) for columns in by]
    tables = [np.zeros((X.shape[1], loss.targets)) for X in designs]
    intercept = loss.link(loss.statistic(labels).mean(axis=0)[None, :])
    for _ in range(1000):
        gradient = row_gradient(loss, designs, labels, tables, intercept)
        intercept = intercept - rate * gradient[:1]
        ends = np.cumsum([1, *[len(W) for W in tables]])
        tables = [W - rate * gradient[a : a + len(W)] for W, a in zip(tables, ends, strict=False)]
    f = intercept + sum(X @ W for X, W in zip(designs, tables, strict=True))
    np.testing.assert_allclose(model.decision_function(frame).reshape(f.shape), f, atol=1e-6)


def test_the_fit_is_logistic_regression_on_the_rows(naive):
    frame, loss = naive.rows(1000), LogisticLoss()
    labels = naive.labels(frame, loss)
    model = AdditiveModel(penalty=Ridge(l2=1.0)).fit(naive.release(frame, labels, [("a", "b"), ("c",)], loss), frame)
    X = np.hstack([one_hot(frame, ("a", "b")), one_hot(frame, ("c",))])
    reference = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, labels)
    np.testing.assert_allclose(model.predict_proba(frame), reference.predict_proba(X), atol=1e-5)


def test_numeric_columns_are_seen_as_their_buckets(naive):
    frame, loss = naive.rows(), LogisticLoss()
    labels = naive.labels(frame, loss)
    release = naive.release(frame, labels, [("x",)], loss, edges={"x": [-1.0, 0.0, 1.0]})
    model = AdditiveModel(penalty=PLAIN).fit(release, frame)
    bucket = np.searchsorted([-1.0, 0.0, 1.0], frame["x"], side="right")
    rates = np.array([labels[bucket == i].mean() for i in range(4)])
    np.testing.assert_allclose(model.predict_proba(frame)[:, 1], rates[bucket], atol=1e-5)


def test_trees_are_those_of_individual_labels(naive, loss):
    """Bags finer than the part give the same trees as bags of the part alone, and as bags of single rows."""
    frame = naive.rows(300)
    labels = naive.labels(frame, loss)
    frame["row"] = np.arange(len(frame))
    part = BoostedTrees(("a", "c"), rounds=5, depth=2, rate=0.5, least_rows=10)
    fits = [
        AdditiveModel(parts=[part], penalty=Ridge(l2=1.0)).fit(naive.release(frame, labels, [by], loss), frame)
        for by in (("a", "c"), ("a", "b", "c"), ("a", "c", "row"))
    ]
    first = fits[0].decision_function(frame)
    assert np.ptp(first) > 0.5
    for other in fits[1:]:
        np.testing.assert_allclose(other.decision_function(frame), first, atol=1e-8)


def test_a_first_stump_is_the_best_one(naive):
    """One tree of depth 1 makes the split that an exhaustive search over all buckets makes."""
    frame, loss = naive.rows(600), SquaredLoss()
    labels = naive.labels(frame, loss)
    edges = [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5]
    release = naive.release(frame, labels, [("x",)], loss, edges={"x": edges})
    part = BoostedTrees(("x",), rounds=1, depth=1, rate=1.0)
    model = AdditiveModel(parts=[part], penalty=PLAIN).fit(release, frame)
    x = frame["x"].to_numpy()
    errors = {e: sum(np.var(labels[side]) * side.sum() for side in (x < e, x >= e)) for e in edges}
    best = min(errors, key=errors.get)
    expected = np.where(x < best, labels[x < best].mean(), labels[x >= best].mean())
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-6)


def test_trees_beat_no_trees_and_work_beside_crosses(naive):
    frame, loss = naive.rows(2000), LogisticLoss()
    labels = naive.labels(frame, loss)
    release = naive.release(frame, labels, [("a", "c"), ("b",)], loss)
    test = naive.rows(2000, seed=5)
    truth = naive.labels(test, loss, seed=6)
    alone = AdditiveModel(parts=[FeatureCross(("b",))]).fit(release, frame).mean_loss(test, truth)
    seen = []
    both = AdditiveModel(parts=[FeatureCross(("b",)), BoostedTrees(("a", "c"))]).fit(
        release, frame, progress=lambda done, of: seen.append((done, of))
    )
    assert both.mean_loss(test, truth) < alone - 0.01
    assert seen[-1] == (50, 50)


def test_the_exact_partition_is_preferred_then_the_smallest(naive):
    frame, loss = naive.rows(), LogisticLoss()
    release = naive.release(frame, naive.labels(frame, loss), [("a", "b", "c"), ("a", "b"), ("a",)], loss)
    assert [one.source for one in cells_of([FeatureCross(("a",)), FeatureCross(("b",))], release.partitions)] == [2, 1]
    assert cells_of([FeatureCross(("a",), by=("c", "a", "b"))], release.partitions)[0].source == 0


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (
            FeatureCross(("a", "c")),
            r"part FeatureCross\(a, c\) needs a partition with its columns, got the partitions \(a, b\), \(c\)",
        ),
        (
            FeatureCross(("c",), by=("a", "b")),
            r"part FeatureCross\(c\) cannot learn from the partition \(a, b\).* keyed by c",
        ),
        (
            BoostedTrees(("a",), by=("a",)),
            r"part BoostedTrees\(a\) is to learn from the partition \(a\), got only \(a, b\), \(c\)",
        ),
    ],
)
def test_a_partition_that_does_not_cover_a_part_is_refused(naive, part, says):
    frame, loss = naive.rows(), LogisticLoss()
    release = naive.release(frame, naive.labels(frame, loss), [("a", "b"), ("c",)], loss)
    with pytest.raises(InvalidInput, match=says):
        AdditiveModel(parts=[part]).fit(release, frame)


def test_a_coarser_partition_would_give_a_wrong_gradient():
    """The pin of the formula sheet f1: f2 on the partition by x1 alone gives another gradient."""
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    y = np.array([1.0, 0, 1, 1, 0])
    b = np.array([0.3, -0.2, 0.5])
    x1, x2 = x.T
    zero, one = np.zeros(5), np.ones(5)
    jacobians = [np.stack([x1, one, zero], axis=1), np.stack([zero, x1 * x2, x2], axis=1)]
    mean = LogisticLoss().mean(sum(J @ b for J in jacobians))[:, 0]

    def gradient(partitions):
        total = np.zeros(3)
        for J, keys in zip(jacobians, partitions, strict=True):
            for key in {tuple(k) for k in keys}:
                bag = (keys == key).all(axis=1)
                total += J[bag].mean(axis=0) * (mean[bag] - y[bag]).sum()  # equal on the bag, if it is fine enough
        return total

    rows = sum(J.T @ (mean - y) for J in jacobians)
    expected = [-0.277645, -0.055662, 0.771818]
    np.testing.assert_allclose(rows, expected, atol=5e-7)
    np.testing.assert_allclose(gradient([x[:, :1], x]), expected, atol=5e-7)
    np.testing.assert_allclose(gradient([x, x]), expected, atol=5e-7)
    np.testing.assert_allclose(gradient([x[:, :1], x[:, :1]]), [-0.277645, -0.438134, -0.172793], atol=5e-7)


def test_noised_totals_are_learned_with_care(naive):
    """Under noise the noise-aware ridge beats next to none, and both lose to exact totals."""
    frame, loss = naive.rows(3000), LogisticLoss()
    labels = naive.labels(frame, loss)
    test = naive.rows(3000, seed=9)
    truth = naive.labels(test, loss, seed=10)
    by = [("a", "b", "c")]
    exact = AdditiveModel().fit(naive.release(frame, labels, by, loss), frame).mean_loss(test, truth)
    noised = naive.release(frame, labels, by, loss, noise=12.0, rng=np.random.default_rng(0))
    careful = AdditiveModel(penalty=NoiseRidge()).fit(noised, frame)
    careless = AdditiveModel(penalty=Ridge(l2=1e-3)).fit(noised, frame).mean_loss(test, truth)
    assert exact < careful.mean_loss(test, truth) < careless - 0.05
    predicted = careful.predict_proba(frame)[:, 1].sum()
    assert predicted == pytest.approx(overall_total(noised.partitions, [3000], 3000)[0], rel=1e-3)


def test_noised_numbers_are_learned_in_units_of_about_their_deviation():
    """A limit of the default penalty that its docstring states: it is not free of the label's scale."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 20, 4000)
    y = np.clip(rng.normal(size=20)[a] + rng.normal(size=4000), -4, 4)

    def explained(scale):
        frame = pa.table({"a": a, "y": y * scale})
        loss = SquaredLoss(lower=-4.0 * scale, upper=4.0 * scale)
        made = curate(frame, by=["a"], label="y", loss=loss, noise=LaplaceTotalsNoise(epsilon=1.0), rng=rng)
        return AdditiveModel().fit(made, frame).score(frame, y * scale)

    assert explained(1.0) > 0.3
    assert explained(1000.0) < 0.05


def test_noise_that_no_prediction_reaches_is_not_run_after(naive, loss):
    """Noised totals of classes do not add up to the rows; the intercept, without a penalty, ran off to 1e10."""
    frame = naive.rows(3000)
    labels = naive.labels(frame, loss)
    exact = AdditiveModel().fit(naive.release(frame, labels, [("a",)], loss), frame)
    noised = naive.release(frame, labels, [("a",)], loss, noise=5.0, rng=np.random.default_rng(0))
    model = AdditiveModel().fit(noised, frame)
    assert np.abs(model.intercept_).max() < 10
    assert model.mean_loss(frame, labels) == pytest.approx(exact.mean_loss(frame, labels), abs=0.02)


def test_the_best_strength_is_the_noise_ridges():
    """Simulated: the mean squared error of a shrunk cell is least at (1 + v/a)/spread^2."""
    rng = np.random.default_rng(0)
    a, v, spread, draws = 20.0, 60.0, 0.7, 200_000
    w = rng.normal(scale=spread, size=draws)
    z = a * w + rng.normal(scale=np.sqrt(a + v), size=draws)
    best = NoiseRidge(spread=spread).strengths(np.array([a]), np.array([v]))[0]
    error = [np.mean((z / (a + s) - w) ** 2) for s in (best / 2, best, best * 2)]
    assert error[1] < min(error[0], error[2])


def test_the_spread_is_found_where_noise_hides_it():
    """Estimated from totals that noise dominates; a wrong noise variance is noticed."""
    rng = np.random.default_rng(0)
    a, v = np.full(5000, 10.0), np.full(5000, 200.0)
    gaps = (a * rng.normal(scale=0.5, size=5000) + rng.normal(scale=np.sqrt(a + v)))[:, None]
    assert NoiseRidge().fitted(a, v, gaps).spread == pytest.approx(0.5, abs=0.1)
    assert NoiseRidge().fitted(a, v / 2, gaps).spread > 0.9, "control"
    assert NoiseRidge().fitted(a, 4 * v, gaps).spread == 0.05
    assert NoiseRidge(spread=0.3).fitted(a, v, gaps).spread == 0.3


@pytest.mark.parametrize("sizes", [SizeRule(least=20), SizeRule(least=20, small="merge")], ids=["drop", "merge"])
@pytest.mark.parametrize("unit", [Unit.LABEL, Unit.RECORD], ids=["label", "record"])
def test_releases_of_every_kind_are_learned_from(naive, sizes, unit):
    frame, loss = naive.rows(3000), LogisticLoss()
    frame["c"] = frame["c"].fillna(5).astype(int)
    labels = naive.labels(frame, loss)
    by = [("a", "c"), ("b", "x")]
    columns = {"a": range(3), "c": range(6), "b": ["p", "q", "r", "s"]}
    sets = [
        [KeyColumn(n, edges=(-1.0, 0.0, 1.0)) if n == "x" else _feature(n, columns, unit) for n in one] for one in by
    ]
    release = curate(
        frame.assign(y=labels),
        by=sets,
        label="y",
        loss=loss,
        noise=LaplaceTotalsNoise(epsilon=2.0),
        unit=unit,
        sizes=sizes,
        rng=np.random.default_rng(0),
    )
    test = naive.rows(2000, seed=9)
    test["c"] = test["c"].fillna(5).astype(int)
    truth = naive.labels(test, loss, seed=10)
    base = -np.mean(np.where(truth, np.log(labels.mean()), np.log(1 - labels.mean())))
    assert AdditiveModel().fit(release, frame).mean_loss(test, truth) < base - 0.02


def _feature(name, columns, unit):
    return KeyColumn(name, values=tuple(columns[name])) if unit == Unit.RECORD else KeyColumn(name)


def test_rows_of_dropped_bags_get_nothing_from_the_part(naive):
    frame, loss = naive.rows(), LogisticLoss()
    labels = naive.labels(frame, loss)
    whole = naive.group(frame, labels, ("a", "b"), loss)
    kept = np.arange(1, len(whole))
    dropped = Partition(
        features=whole.features,
        keys=whole.keys.take(pa.array(kept)),
        counts=whole.counts[kept],
        totals=whole.totals[kept],
    )
    release = naive.release(frame, labels, [("c",)], loss)
    both = type(release)(
        **{**{f: getattr(release, f) for f in release.__slots__}, "partitions": (dropped, *release.partitions)}
    )
    model = AdditiveModel(penalty=PLAIN).fit(both, frame)
    gone = whole.assign(pa.Table.from_pandas(frame)) == 0
    alone = model.model_.intercept[0] + model.model_.outputs[1].predict(pa.Table.from_pandas(frame[gone]))[:, 0]
    np.testing.assert_allclose(model.decision_function(frame[gone]), alone, atol=1e-12)


def test_merged_bags_are_a_value_of_their_own(naive):
    frame, loss = naive.rows(), LogisticLoss()
    labels = naive.labels(frame, loss)
    whole = naive.group(frame, labels, ("a", "b"), loss)
    totals = np.vstack([whole.totals[2:], whole.totals[:2].sum(axis=0)])
    merged = Partition(
        features=whole.features,
        keys=pa.concat_tables([whole.keys.slice(2), whole.keys.slice(0, 1).cast(whole.keys.schema)]),
        counts=np.append(whole.counts[2:], whole.counts[:2].sum()),
        totals=totals,
        other=len(whole) - 2,
    )
    release = naive.release(frame, labels, [("c",)], loss)
    both = type(release)(**{**{f: getattr(release, f) for f in release.__slots__}, "partitions": (merged,)})
    model = AdditiveModel(penalty=PLAIN).fit(both, frame)
    small = whole.assign(pa.Table.from_pandas(frame)) < 2
    assert model.predict_proba(frame[small])[:, 1] == pytest.approx(labels[small].mean(), abs=1e-5)
    part, cell = project(merged, ["a"])
    assert part.other == cell[merged.other]
    assert part.counts.sum() == len(frame)


def test_rows_that_are_not_the_counted_ones_are_refused(naive):
    frame, loss = naive.rows(), LogisticLoss()
    release = naive.release(frame, naive.labels(frame, loss), [("a",)], loss)
    with pytest.raises(InvalidInput, match=r"must be the rows that the bags were made from"):
        AdditiveModel().fit(release, frame.iloc[:-1])
    with pytest.raises(InvalidInput, match="names no column 'a'"):
        AdditiveModel().fit(release, frame.drop(columns="a"))


def test_the_estimator_follows_scikit_learns_conventions(naive):
    frame, loss = naive.rows(), LogisticLoss()
    labels = naive.labels(frame, loss)
    release = naive.release(frame, labels, [("a", "b")], loss)
    model = AdditiveModel(
        loss, [FeatureCross(("a",)), BoostedTrees(("b",), rounds=2)], penalty=Ridge(l2=1.0), solver=Lbfgs()
    )
    with pytest.raises(NotFittedError):
        model.predict(frame)
    fresh = clone(model)
    assert fresh.get_params()["parts"] == model.parts
    assert fresh.set_params(penalty=PLAIN).penalty == PLAIN
    assert model.fit(release, frame) is model
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert model.predict_proba(frame).shape == (len(frame), 2)
    assert set(model.predict(frame)) <= set(model.classes_)
    assert model.score(frame, labels) == np.mean(model.predict(frame) == labels)
    assert model.decision_function(frame).shape == (len(frame),)


def test_shapes_and_scores_for_each_loss(naive, loss):
    frame = naive.rows()
    labels = naive.labels(frame, loss)
    release = naive.release(frame, labels, [("a", "b"), ("c",)], loss)
    model = AdditiveModel().fit(release, frame)
    assert len(model.predict(frame)) == len(frame)
    assert 0 < model.score(frame, labels) <= 1
    result = model.evaluate(frame, labels)
    fit = model.calibration(release, frame)[0]
    np.testing.assert_allclose(fit.predicted, fit.released, rtol=1e-4)
    if loss.name in ("log", "cross_entropy"):
        np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1)
        assert result.calibration_error < 0.1
        assert result.auc.value > 0.6
        assert result.accuracy.value == model.score(frame, labels)
        assert result.log_loss.value == pytest.approx(model.mean_loss(frame, labels))
    else:
        assert result.r2.value > 0
        with pytest.raises(InvalidInput, match="use predict"):
            model.predict_proba(frame)


def test_calibration_needs_no_labels_and_finds_a_wrong_model(naive):
    frame, loss = naive.rows(2000), LogisticLoss()
    labels = naive.labels(frame, loss)
    release = naive.release(frame, labels, [("a", "b"), ("c",)], loss)
    good = AdditiveModel().fit(release, frame).calibration(release, frame)
    assert min(one.p_value for one in good) > 1e-3
    poor = AdditiveModel(parts=[FeatureCross(("c",))]).fit(release, frame).calibration(release, frame)
    assert poor[0].p_value < 1e-6
    assert isinstance(poor[0], Calibration)


def test_a_wrong_loss_or_random_bags_are_refused(naive):
    frame, loss = naive.rows(), LogisticLoss()
    release = naive.release(frame, naive.labels(frame, loss), [("a",)], loss)
    with pytest.raises(InvalidInput, match="loss must be the release's"):
        AdditiveModel(SquaredLoss()).fit(release, frame)
    with pytest.raises(InvalidInput, match=r"solver must be BatchTraining\(\)"):
        AdditiveModel(parts=[MLP(("a",))], solver=Lbfgs()).fit(release, frame)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FeatureCross(()),
        lambda: FeatureCross(("a", "a")),
        lambda: BoostedTrees(("a",), depth=0),
        lambda: BoostedTrees(("a",), rate=0.0),
        lambda: MLP(("a",), hidden=(0,)),
        lambda: Ridge(l2=-1.0),
        lambda: NoiseRidge(spread=0.0),
        lambda: GradientDescent(rate=0.0),
    ],
)
def test_bad_settings_are_refused(make):
    with pytest.raises(InvalidInput):
        make()
