"""Risks and learners from random bags: unbiased by enumeration, pinned, and better than what they correct."""

import itertools
import pickle

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from papers.label_bags.theory import BagMeanObjective, PrintedObjective, ProportionLoss, printed_objective
from tacit.bags.learners import BatchTraining, EasyLabels, RandomBagModel, UnbiasedObjective
from tacit.bags.learners.random_bags import (
    BagMoments,
    bag_residuals,
    easy_labels,
    label_variance,
    unbiased_risk,
)
from tacit.bags.losses import CategoricalLoss, LogisticLoss
from tacit.bags.partition import BagTotals, RandomBags
from tacit.privacy import NoGuarantee
from tacit.privacy.errors import InvalidInput

Y = np.array([0.0, 0, 1, 1, 1])[:, None]
H = np.array([0.0, 1, 1, 1, 1])[:, None]
OBJECTIVES = [BagMeanObjective(), PrintedObjective(), UnbiasedObjective(), ProportionLoss()]


def expected(statistic, y, *, size, bags, bernoulli=False):
    """The mean of a statistic over all draws of bags, and of Bernoulli labels, each with its probability."""
    combos = [np.array(c) for c in itertools.combinations(range(len(y)), size)]
    total = 0.0
    for drawn in itertools.product(combos, repeat=bags):
        rows = np.stack(drawn)
        p = y[rows].mean(axis=1)
        if not bernoulli:
            total += statistic(RandomBags(rows=rows, labels=p))
            continue
        for labels in itertools.product([0.0, 1.0], repeat=bags * y.shape[1]):
            b = np.array(labels).reshape(p.shape)
            weight = np.prod(np.where(b == 1, p, 1 - p))
            if weight:
                total += weight * statistic(RandomBags(rows=rows, labels=b, bernoulli=True))
    return total / len(combos) ** bags


def risk_of(h, moments):
    def statistic(bags):
        excess = label_variance(bags, moments) if bags.bernoulli else 0.0
        return unbiased_risk(bag_residuals(bags, h), moments, excess=excess)

    return statistic


@pytest.mark.parametrize("bernoulli", [False, True], ids=["proportions", "Bernoulli"])
def test_the_u_statistic_is_unbiased_and_the_printed_form_is_not(bernoulli):
    """The pin of the formula sheet f4: .2 = the true risk; plug-in .15, at three bags .166667; uncorrected .1."""
    moments = BagMoments(size=2, rows=5)
    assert np.mean((H - Y) ** 2) == pytest.approx(0.2)
    assert expected(risk_of(H, moments), Y, size=2, bags=2, bernoulli=bernoulli) == pytest.approx(0.2, abs=1e-12)
    if not bernoulli:
        plug_in = lambda bags: moments.k * printed_objective(bag_residuals(bags, H), moments)  # noqa: E731
        assert expected(plug_in, Y, size=2, bags=2) == pytest.approx(0.15, abs=1e-12)
        assert expected(plug_in, Y, size=2, bags=3) == pytest.approx(1 / 6, abs=1e-12)
        bag_loss = lambda bags: np.mean(bag_residuals(bags, H) ** 2)  # noqa: E731
        assert expected(bag_loss, Y, size=2, bags=2) == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("bernoulli", [False, True], ids=["proportions", "Bernoulli"])
def test_multilabel_hamming_risk_is_unbiased(size, bernoulli):
    rng = np.random.default_rng(size)
    y = rng.integers(2, size=(5, 2)).astype(float)
    h = rng.integers(2, size=(5, 2)).astype(float)
    hamming = np.mean(np.sum(y != h, axis=1))
    moments = BagMoments(size=size, rows=5)
    assert expected(risk_of(h, moments), y, size=size, bags=2, bernoulli=bernoulli) == pytest.approx(hamming, abs=1e-10)


def test_the_bias_of_the_printed_form_is_the_stated_one():
    """Low by k c E|r - E r|^2/n."""
    rng = np.random.default_rng(0)
    y, h = rng.integers(2, size=(6, 1)).astype(float), rng.random((6, 1))
    moments = BagMoments(size=2, rows=6)
    spread = expected(lambda b: np.var(bag_residuals(b, h)) * 3 / 2, y, size=2, bags=3)  # unbiased variance
    low = np.mean((h - y) ** 2) - expected(
        lambda b: moments.k * printed_objective(bag_residuals(b, h), moments), y, size=2, bags=3
    )
    assert low == pytest.approx(moments.k * moments.c * spread / 3, abs=1e-12)


def test_noise_in_labels_is_subtracted():
    rng = np.random.default_rng(0)
    y, h = rng.integers(2, size=(60, 1)).astype(float), rng.random((60, 1))
    moments = BagMoments(size=5, rows=60)
    rows = np.argsort(rng.random((40_000, 60)), axis=1)[:, :5]
    bags = RandomBags(rows=rows, labels=y[rows].mean(axis=1) + rng.normal(scale=0.3, size=(40_000, 1)), variance=0.09)
    truth = np.mean((h - y) ** 2)
    assert unbiased_risk(bag_residuals(bags, h), moments, excess=0.09) == pytest.approx(truth, abs=0.03)
    assert unbiased_risk(bag_residuals(bags, h), moments) > truth + 0.3, "control: noise left in"


def test_easy_labels_are_unbiased_given_the_label():
    """The pins of the formula sheet f5."""
    p, k = 0.3, 2
    for y in (0, 1):  # of so many rows that those of a bag are independent
        s = [easy_labels(np.array([[(y + o) / k]]), np.array([p]), size=k, rows=10**12)[0, 0] for o in (0, 1)]
        assert (1 - p) * s[0] + p * s[1] == pytest.approx(y, abs=1e-9)
        assert (1 - p) * (s[0] - y) ** 2 + p * (s[1] - y) ** 2 == pytest.approx(0.21)
    labels = np.array([1.0, 1, 0, 0, 0, 0])
    for rows, wanted in ((10**12, (0.733333, 0.133333)), (6, (1.0, 0.0))):
        for row, value in zip((0, 5), wanted, strict=True):
            bags = [c for c in itertools.combinations(range(6), 3) if row in c]
            soft = [
                easy_labels(labels[list(c)].mean()[None, None], np.array([1 / 3]), size=3, rows=rows)[0, 0]
                for c in bags
            ]
            assert np.mean(soft) == pytest.approx(value, abs=1e-6)


def test_the_proportion_loss_is_pinned():
    means = np.array([[np.mean([0.9, 0.2, 0.4])]])
    value, _ = ProportionLoss().value_and_gradient(means, np.array([[1 / 3]]), BagMoments(size=3, rows=9))
    assert value == pytest.approx(0.693147, abs=1e-6)
    two = np.hstack([1 - means, means])
    both, _ = ProportionLoss().value_and_gradient(two, np.array([[2 / 3, 1 / 3]]), BagMoments(size=3, rows=9))
    assert both == pytest.approx(value)


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_gradients_of_objectives(objective, targets):
    rng = np.random.default_rng(0)
    means = rng.dirichlet(np.full(max(targets, 2), 9.0), size=4)[:, :targets]
    labels = rng.dirichlet(np.full(max(targets, 2), 9.0), size=4)[:, :targets]
    moments = BagMoments(size=3, rows=20)
    shape = means.shape
    error = check_grad(
        lambda m: objective.value_and_gradient(m.reshape(shape), labels, moments)[0],
        lambda m: objective.value_and_gradient(m.reshape(shape), labels, moments)[1].ravel(),
        means.ravel(),
    )
    assert error < 1e-5


def make_release(loss, y, rows, **options):
    T = loss.statistic(y)
    bags = RandomBags(rows=rows, labels=T[rows].mean(axis=1), **options)
    return BagTotals(
        random=bags,
        loss=loss,
        guarantee=NoGuarantee(reason="made in a test"),
        seeded=True,
        label="y",
        rows=len(T),
        mechanism={"name": "random bags"},
    )


def data(rng, rows, loss):
    x = rng.normal(size=(rows, 3))
    f = x @ np.array([1.5, -1.0, 0.0])
    table = pa.table({"x0": x[:, 0], "x1": x[:, 1], "s": np.where(x[:, 2] > 0, "up", "down"), "y": np.zeros(rows)})
    if isinstance(loss, CategoricalLoss):
        y = np.argmax(np.stack([f, 0 * f, -f], axis=1) + rng.gumbel(size=(rows, 3)), axis=1)
    else:
        y = (f + rng.logistic(size=rows) > 0).astype(int)
    return table, y


def bags_of(rng, rows, size):
    return rng.permutation(rows)[: rows // size * size].reshape(-1, size)


@pytest.mark.parametrize("loss", [LogisticLoss(), CategoricalLoss(classes=3)], ids=lambda loss: loss.name)
@pytest.mark.parametrize(
    "objective", [PrintedObjective(), UnbiasedObjective(), EasyLabels(), ProportionLoss()], ids=repr
)
def test_a_linear_model_is_learned_from_bags(objective, loss):
    rng = np.random.default_rng(0)
    table, y = data(rng, 6000, loss)
    release = make_release(loss, y, bags_of(rng, 6000, 4))
    model = RandomBagModel(objective).fit(release, table)
    test, truth = data(np.random.default_rng(9), 4000, loss)
    best = RandomBagModel(objective).fit(make_release(loss, y, np.arange(6000)[:, None]), table)
    assert model.score(test, truth) > best.score(test, truth) - 0.05
    assert best.score(test, truth) > 0.65
    assert "y" not in model.encoder_.columns()


def test_at_bags_of_one_easy_labels_are_the_labels():
    """Then the fit is logistic regression."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    table, y = data(rng, 500, LogisticLoss())
    model = RandomBagModel(EasyLabels(), l2=0.002, columns=["x0", "x1"], steps=2000)
    model.fit(make_release(LogisticLoss(), y, np.arange(500)[:, None]), table)
    X = model.encoder_.scaled(table)
    reference = LogisticRegression(C=1 / (0.002 * 500), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(table), reference.predict_proba(X), atol=1e-4)


def test_the_uncorrected_bag_loss_is_worse():
    """On many bags the corrected risk finds the better of two hypotheses; the bag loss prefers the other."""
    rng = np.random.default_rng(1)
    N, size = 400, 30
    y = (rng.random(N) < 0.5).astype(float)[:, None]
    good = np.where(rng.random((N, 1)) < 0.75, y, 1.0)  # wrong often, and always upwards
    poor = np.where(rng.random((N, 1)) < 0.5, y, rng.permutation(y))  # wrong oftener, without a shift
    rows = np.argsort(rng.random((10_000, N)), axis=1)[:, :size]
    bags = RandomBags(rows=rows, labels=y[rows].mean(axis=1))
    moments = BagMoments(size=size, rows=N)
    risks = {name: unbiased_risk(bag_residuals(bags, h), moments) for name, h in (("good", good), ("poor", poor))}
    raw = {name: np.mean(bag_residuals(bags, h) ** 2) for name, h in (("good", good), ("poor", poor))}
    assert risks["good"] < risks["poor"]
    assert raw["good"] > raw["poor"], "control: the order is the other way round without the correction"
    for name, h in (("good", good), ("poor", poor)):
        assert risks[name] == pytest.approx(np.mean((h - y) ** 2), abs=0.03)


def test_bernoulli_labels_teach_too():
    rng = np.random.default_rng(3)
    table, y = data(rng, 8000, LogisticLoss())
    rows = bags_of(rng, 8000, 2)
    release = make_release(LogisticLoss(), y, rows)
    labels = (rng.random(release.random.labels.shape) < release.random.labels).astype(float)
    bags = RandomBags(rows=rows, labels=labels, bernoulli=True)
    noisy = BagTotals(**{f: getattr(release, f) for f in release.__slots__} | {"random": bags})
    model = RandomBagModel().fit(noisy, table)
    assert model.score(table, y) > 0.75
    assert model.risk_ == pytest.approx(np.mean((model.predict_proba(table)[:, 1] - y) ** 2), abs=0.05)


@pytest.mark.parametrize("objective", [UnbiasedObjective(), EasyLabels(), ProportionLoss()], ids=repr)
def test_a_network_is_learned_from_bags(objective):
    pytest.importorskip("torch", reason="needs the extra torch")
    rng = np.random.default_rng(0)
    table, y = data(rng, 4000, LogisticLoss())
    release = make_release(LogisticLoss(), y, bags_of(rng, 4000, 4))
    settings = BatchTraining(epochs=10, batch_rows=256, device="cpu")
    model = RandomBagModel(objective, hidden=(16,), training=settings, random_state=0).fit(release, table)
    assert model.score(table, y) > 0.72
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(table), model.predict(table))


def test_the_estimator_follows_scikit_learns_conventions():
    rng = np.random.default_rng(0)
    table, y = data(rng, 200, LogisticLoss())
    release = make_release(LogisticLoss(), y, bags_of(rng, 200, 2))
    model = RandomBagModel(EasyLabels(), l2=0.1)
    with pytest.raises(NotFittedError):
        model.predict_proba(table)
    assert clone(model).get_params()["objective"] == EasyLabels()
    assert model.fit(release, table.to_pandas()) is model
    assert model.predict_proba(table).shape == (200, 2)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(table), model.predict(table))
    with pytest.raises(InvalidInput, match="data must be the 200 rows"):
        model.fit(release, table.slice(0, 10))


def test_bad_input_is_refused():
    with pytest.raises(
        InvalidInput, match="smaller than the table they are drawn from, got 5 of 5 rows: release bags of fewer rows"
    ):
        BagMoments(size=5, rows=5)
    with pytest.raises(InvalidInput, match="at least 2 bags, got 1: release more of them"):
        unbiased_risk(np.zeros((1, 1)), BagMoments(size=2, rows=5))
    bags = RandomBags(rows=np.array([[0, 1]]), labels=np.array([[1.0]]))
    with pytest.raises(InvalidInput, match=r"shape \(rows, 1\)"):
        bag_residuals(bags, np.zeros((2, 2)))
    with pytest.raises(InvalidInput, match="a row for each row"):
        bag_residuals(bags, np.zeros((1, 1)))
