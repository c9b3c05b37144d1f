"""A plan is a promise: against the real scorer it takes exactly its queries and recovers every label."""

import contextlib
import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from papers.score_attacks.losses import LinearlyDecomposable, ZeroOne
from tacit.data import satellite, titanic
from tacit.privacy.errors import InvalidInput
from tacit.scores.attack import (
    AUC,
    F1,
    Accuracy,
    AttackStopped,
    Bounded,
    Channel,
    DigitDesign,
    Exact,
    JointDesign,
    RootMeanSquaredError,
    Rounded,
    Shifted,
    find_scorer,
    hidden,
    infer_labels,
    plan,
)
from tacit.scores.losses import Float32, SquaredError, sklearn_log_loss
from tacit.scores.theory import labels_per_query

TITANIC = titanic().codes
IRIS = load_iris().target
DATA = {"titanic": (TITANIC, 2), "iris": (IRIS, 3)}


def keep_promise(name, truth, classes, *, decimals=None, tau=None, seed=0, design=None):
    """Plan, attack the real scorer with shuffled rows, and compare."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(truth)
    scorer = find_scorer(name)
    oracle, answers = hidden(scorer.oracle(truth, classes=classes), decimals=decimals, tau=tau, rng=rng)
    metric = scorer.metric(classes)
    planned = plan(metric, rows=len(truth), answers=answers, design=design)
    outcome = infer_labels(oracle, metric, rows=len(truth), plan=planned)
    np.testing.assert_array_equal(outcome.labels, truth)
    if not planned.design.expected:
        assert outcome.queries == planned.queries
    return outcome.queries


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_titanic_float64_in_48_queries(seed):
    assert keep_promise("log_loss", TITANIC, 2, seed=seed) <= 48


@pytest.mark.parametrize("seed", [0, 1])
def test_titanic_at_five_decimals_jointly(seed):
    assert keep_promise("log_loss", TITANIC, 2, decimals=5, seed=seed) == 143


def test_titanic_at_five_decimals_by_digits():
    assert keep_promise("log_loss", TITANIC, 2, decimals=5, design=DigitDesign) == 201


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_iris_float64_in_5_queries(seed):
    assert keep_promise("log_loss", IRIS, 3, seed=seed) == 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_satellite_float64(seed):
    assert keep_promise("log_loss", satellite().codes, 6, seed=seed) <= 397


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 6, 7, 10])
@pytest.mark.parametrize("name", ["log_loss", "brier", "softmax"])
def test_float64_for_many_shapes(name, classes):
    """Every query's top digit stands at the clip, in full or in part: no shape may come out uneven."""
    rng = np.random.default_rng(classes)
    for rows in rng.integers(20, 400, 4):
        truth = np.concatenate([np.arange(classes), rng.integers(0, classes, rows)])
        keep_promise(name, truth, classes, seed=int(rows))


def test_satellite_plan():
    planned = plan(sklearn_log_loss(classes=6), rows=6430)
    assert planned.queries <= 397
    assert min(planned.design.lengths[:-1]) >= 16


@pytest.mark.parametrize("tau", [1e-6, pytest.param(1e-5, marks=pytest.mark.slow), 1e-4])
@pytest.mark.parametrize("data", DATA)
def test_bounded_noise_at_the_digits_rate(data, tau):
    truth, classes = DATA[data]
    queries = keep_promise("log_loss", truth, classes, tau=tau, design=DigitDesign)
    m = labels_per_query(sklearn_log_loss(classes=classes), len(truth), tau=tau).digits
    if classes == 2:
        assert m == 1 + math.floor(math.log2(sklearn_log_loss().difference_range() / (2 * len(truth) * tau)))
    assert queries <= math.ceil(len(truth) / m)


@pytest.mark.parametrize("tau", [1e-6, 1e-5, 1e-4])
def test_the_worst_noise_that_is_allowed(tau):
    """Noise at the very bound, of either sign: still every label."""
    truth = np.random.default_rng(0).permutation(TITANIC)[:600]
    rng = np.random.default_rng(1)
    loss = sklearn_log_loss()
    for design in (DigitDesign, JointDesign):
        planned = plan(loss, rows=len(truth), answers=Bounded(tau=tau), design=design)
        outcome = infer_labels(
            lambda p: log_loss(truth, p) + rng.choice([-tau, tau]), loss, rows=len(truth), plan=planned
        )
        np.testing.assert_array_equal(outcome.labels, truth)


def test_more_noise_than_planned_is_noticed_or_wrong():
    """The control: at three times the planned noise no attack goes through with all labels."""
    truth = np.random.default_rng(0).permutation(TITANIC)[:600]
    rng = np.random.default_rng(1)
    loss = sklearn_log_loss()
    for design in (DigitDesign, JointDesign):
        planned = plan(loss, rows=len(truth), answers=Bounded(tau=1e-5), design=design)
        wrong = True
        with contextlib.suppress(AttackStopped):
            outcome = infer_labels(
                lambda p: log_loss(truth, p) + 3e-5 * rng.choice([-1, 1]), loss, rows=len(truth), plan=planned
            )
            wrong = (outcome.labels != truth).any()
        assert wrong


@pytest.mark.parametrize("name", ["brier", "rmse", "mae", "accuracy", "f1", "auc", "bce", "sigmoid", "softmax"])
@pytest.mark.parametrize("decimals", [None, 5])
def test_every_metric_of_two_classes(name, decimals):
    truth = np.random.default_rng(3).permutation(TITANIC)[:400]
    keep_promise(name, truth, 2, decimals=decimals)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brier", "rmse", "mae", "accuracy", "f1", "auc", "bce", "sigmoid", "softmax"])
@pytest.mark.parametrize("decimals", [None, 5])
def test_every_metric_on_titanic(name, decimals):
    keep_promise(name, TITANIC, 2, decimals=decimals, seed=7)


@pytest.mark.parametrize("name", ["log_loss", "brier", "softmax", "accuracy"])
@pytest.mark.parametrize("decimals", [None, 5])
def test_every_metric_of_three_classes(name, decimals):
    keep_promise(name, IRIS, 3, decimals=decimals)


def test_float32_scores():
    loss, precision = sklearn_log_loss(), Float32()
    truth = np.random.default_rng(0).permutation(TITANIC)[:300]
    planned = plan(loss, rows=300, answers=Exact(precision=precision))
    outcome = infer_labels(lambda p: log_loss(truth, p), loss, rows=300, plan=planned)
    np.testing.assert_array_equal(outcome.labels, truth)
    assert outcome.queries == planned.queries
    assert planned.queries > plan(loss, rows=300).queries


def test_every_submitted_row_sums_to_one():
    for classes, answers in ((3, Exact()), (6, Exact()), (3, Rounded(decimals=4))):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, classes, 200)
        loss = sklearn_log_loss(classes=classes)
        seen = []

        def host(predictions, truth=truth, loss=loss, seen=seen, answers=answers):
            seen.append(predictions)
            score = loss.score(predictions, truth)
            return round(score, 4) if isinstance(answers, Rounded) else score

        infer_labels(host, loss, rows=200, plan=plan(loss, rows=200, answers=answers))
        assert all(np.abs(p.sum(axis=1) - 1).max() < 1e-14 for p in seen)
        assert all(p.min() > 0 for p in seen)


def test_rows_not_asked_are_neutral():
    planned = plan(sklearn_log_loss(classes=3), rows=150, answers=Rounded(decimals=5), design=DigitDesign)
    first = next(planned.steps()).predictions
    m = planned.design.lengths[0]
    assert np.all(first[m + 1 :] == 1 / 3)
    assert np.all(np.abs(first[:m] - 1 / 3).max(axis=1) > 0)


@pytest.mark.parametrize("answers", [Exact(), Exact(growth=8.0), Rounded(decimals=5), Bounded(tau=1e-4)])
@pytest.mark.parametrize("settle", [True, False])
@pytest.mark.parametrize(("name", "classes"), [("log_loss", 2), ("log_loss", 5), ("softmax", 7), ("brier", 10)])
def test_lengths_worked_out_in_runs_are_those_of_the_queries_one_by_one(name, classes, settle, answers):
    loss = find_scorer(name).metric(classes)
    for rows in (1, 5, 51, 141):
        design = DigitDesign(channel=Channel(loss=loss, rows=rows, answers=answers), settle=settle)
        taken = tuple(lengths_one_by_one(design))
        assert design.lengths == taken
        assert design.queries == len(taken)


def lengths_one_by_one(design):
    """Ask every query of labels that are all 0, and yield how many rows are known more after each."""
    truth, steps = np.zeros(design.channel.rows, dtype=np.int64), design.steps()
    query = next(steps)
    while True:
        try:
            following = steps.send(design.channel.score(query.predictions, truth))
        except StopIteration:
            yield (query.recovered < 0).sum()
            return
        yield (query.recovered < 0).sum() - (following.recovered < 0).sum()
        query = following


@pytest.mark.parametrize(
    "metric", [sklearn_log_loss(), sklearn_log_loss(classes=5), Accuracy(), RootMeanSquaredError()]
)
def test_a_thousand_million_rows_are_planned_for_without_going_through_them(metric):
    few, many = plan(metric, rows=10_000_000), plan(metric, rows=1_000_000_000)
    assert 85 < many.queries / few.queries < 150


def test_days_and_ceilings():
    planned = plan(sklearn_log_loss(), rows=2201, answers=Rounded(decimals=5), limit_per_day=5)
    assert planned.days == math.ceil(planned.queries / 5)
    assert planned.labels_per_query < planned.ceilings.entropy < planned.ceilings.counting
    assert plan(sklearn_log_loss(), rows=2201).days is None


@pytest.mark.parametrize(
    "metric", [sklearn_log_loss(), Accuracy(), F1(), AUC(), RootMeanSquaredError(), SquaredError()]
)
@pytest.mark.parametrize("answers", [Exact(), Rounded(decimals=5), Bounded(tau=1e-5)])
def test_no_plan_beats_its_counting_ceiling(metric, answers):
    planned = plan(metric, rows=500, answers=answers)
    assert planned.labels_per_query <= planned.ceilings.counting


def test_json_of_a_plan():
    document = plan(Accuracy(), rows=100, limit_per_day=10).to_json()
    assert document["queries"] == 41
    assert document["days"] == 5
    assert document["ceiling"].startswith("entropy: ")


@pytest.mark.parametrize(
    ("metric", "answers", "words"),
    [
        (sklearn_log_loss(), Rounded(decimals=0), "answers must tell one row's label"),
        (SquaredError(), Rounded(decimals=3), "answers must tell one row's label"),
        (RootMeanSquaredError(), Rounded(decimals=3), "answers must tell one row's label"),
        (Accuracy(), Rounded(decimals=2), "accuracy moves by"),
        (F1(), Rounded(decimals=2), "f1 moves by"),
        (AUC(), Rounded(decimals=3), "auc may move by"),
        (Accuracy(), Shifted(inner=Exact()), "only a loss can be calibrated"),
    ],
)
def test_what_cannot_separate_is_refused_with_the_bound(metric, answers, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        plan(metric, rows=2201, answers=answers)
    assert "\n" not in str(caught.value)


def test_bad_arguments():
    with pytest.raises(InvalidInput, match="rows must be"):
        plan(sklearn_log_loss(), rows=0)
    with pytest.raises(InvalidInput, match="rows must be at most 10,000,000,000 "):
        plan(sklearn_log_loss(), rows=10**20)
    with pytest.raises(InvalidInput, match="limit_per_day"):
        plan(sklearn_log_loss(), rows=5, limit_per_day=0)
    with pytest.raises(InvalidInput, match="tau must be"):
        Bounded(tau=-1.0)
    with pytest.raises(InvalidInput, match="decimals"):
        Rounded(decimals=-1)


def test_losses_whose_differences_cannot_be_chosen_are_refused():
    ungraded = [cls for cls in _subclasses(type(SquaredError()).__mro__[1]) if not cls.graded]
    assert ZeroOne in ungraded
    for cls in ungraded:
        with pytest.raises(InvalidInput, match="cannot separate"):
            plan(cls(), rows=5)
    assert LinearlyDecomposable.graded


def _subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)
