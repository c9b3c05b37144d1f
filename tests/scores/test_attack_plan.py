"""A plan is a guarantee: against the real scorer it takes exactly its queries and recovers every label."""

import contextlib
import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    mean_absolute_error,
    roc_auc_score,
    root_mean_squared_error,
)

from papers.score_attacks.bounds import labels_per_query
from papers.score_attacks.losses import LinearlyDecomposable, ZeroOne
from tacit.data import satellite, titanic
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import read_choice
from tacit.scores.attacks import (
    AttackStopped,
    DigitDesign,
    HostAnswers,
    JointDesign,
    LossChannel,
    infer_labels,
    plan_attack,
)
from tacit.scores.losses import Float32, InvertibleLoss
from tacit.scores.metrics import F1, SKLEARN_FLOOR, Accuracy, Auc, Brier, HostMetric, LogLoss, Rmse, UnboundedLoss
from tacit.scores.policies import Bounded, Exact, Rounded

TITANIC = titanic().codes
IRIS = load_iris().target
DATA = {"titanic": (TITANIC, 2), "iris": (IRIS, 3)}


LOG_LOSS = LogLoss(floor=SKLEARN_FLOOR)
REAL = {
    "log_loss": lambda y, p, k: log_loss(y, p, labels=range(k)),
    "brier": lambda y, p, k: brier_score_loss(y, p, **({} if k == 2 else {"labels": range(k)})),
    "accuracy": lambda y, p, _: accuracy_score(y, p),
    "f1": lambda y, p, _: f1_score(y, p, zero_division=0.0),
    "auc": lambda y, p, _: roc_auc_score(y, p),
    "rmse": lambda y, p, _: root_mean_squared_error(y, p),
    "mae": lambda y, p, _: mean_absolute_error(y, p),
}


def metric_of(name, classes):
    """Return a metric as scikit-learn and torch compute it."""
    return read_choice(HostMetric, f"log_loss:floor={SKLEARN_FLOOR!r}" if name == "log_loss" else name).for_classes(
        classes
    )


def keep_guarantee(name, truth, classes, *, decimals=None, tau=None, seed=0, design=None):
    """Plan, attack the real scorer with shuffled rows, and compare."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(truth)
    metric = metric_of(name, classes)
    policy = Exact() if decimals is None else Rounded(decimals=decimals)
    policy = policy if tau is None else Bounded(tau=tau)
    real = REAL.get(name, lambda y, p, _: metric.score(y, p))

    def host(predictions):
        score = real(truth, predictions, classes)
        score = score if decimals is None else round(score, decimals)
        return score if tau is None else score + rng.uniform(-tau, tau)

    planned = plan_attack(metric, rows=len(truth), policy=policy, design=design)
    outcome = infer_labels(host, planned)
    np.testing.assert_array_equal(outcome.labels, truth)
    if not planned.design.expected:
        assert outcome.queries == planned.queries
    return outcome.queries


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_titanic_float64_in_48_queries(seed):
    assert keep_guarantee("log_loss", TITANIC, 2, seed=seed) <= 48


@pytest.mark.parametrize("seed", [0, 1])
def test_titanic_at_five_decimals_jointly(seed):
    assert keep_guarantee("log_loss", TITANIC, 2, decimals=5, seed=seed) == 143


def test_titanic_at_five_decimals_by_digits():
    assert keep_guarantee("log_loss", TITANIC, 2, decimals=5, design=DigitDesign) == 201


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_iris_float64_in_5_queries(seed):
    assert keep_guarantee("log_loss", IRIS, 3, seed=seed) == 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_satellite_float64(seed):
    assert keep_guarantee("log_loss", satellite().codes, 6, seed=seed) <= 397


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 6, 7, 10])
@pytest.mark.parametrize("name", ["log_loss", "brier", "softmax"])
def test_float64_for_many_shapes(name, classes):
    """Every query's top digit stands at the clip, in full or in part: no shape may come out uneven."""
    rng = np.random.default_rng(classes)
    for rows in rng.integers(20, 400, 4):
        truth = np.concatenate([np.arange(classes), rng.integers(0, classes, rows)])
        keep_guarantee(name, truth, classes, seed=int(rows))


def test_satellite_plan():
    planned = plan_attack(LogLoss(classes=6, floor=SKLEARN_FLOOR), rows=6430)
    assert planned.queries <= 397
    assert min(planned.design.lengths[:-1]) >= 16


@pytest.mark.parametrize("tau", [1e-6, pytest.param(1e-5, marks=pytest.mark.slow), 1e-4])
@pytest.mark.parametrize("data", DATA)
def test_bounded_noise_at_the_digits_rate(data, tau):
    truth, classes = DATA[data]
    queries = keep_guarantee("log_loss", truth, classes, tau=tau, design=DigitDesign)
    m = labels_per_query(LogLoss(classes=classes, floor=SKLEARN_FLOOR).loss, len(truth), tau=tau).digits
    if classes == 2:
        assert m == 1 + math.floor(math.log2(LOG_LOSS.loss.difference_range() / (2 * len(truth) * tau)))
    assert queries <= math.ceil(len(truth) / m)


@pytest.mark.parametrize("tau", [1e-6, 1e-5, 1e-4])
def test_the_worst_noise_that_is_allowed(tau):
    """Noise at the very bound, of either sign: still every label."""
    truth = np.random.default_rng(0).permutation(TITANIC)[:600]
    rng = np.random.default_rng(1)
    loss = LOG_LOSS
    for design in (DigitDesign, JointDesign):
        planned = plan_attack(loss, rows=len(truth), policy=Bounded(tau=tau), design=design)
        outcome = infer_labels(lambda p: log_loss(truth, p) + rng.choice([-tau, tau]), planned)
        np.testing.assert_array_equal(outcome.labels, truth)


def test_more_noise_than_planned_is_noticed_or_wrong():
    """The control: at three times the planned noise no attack goes through with all labels."""
    truth = np.random.default_rng(0).permutation(TITANIC)[:600]
    rng = np.random.default_rng(1)
    loss = LOG_LOSS
    for design in (DigitDesign, JointDesign):
        planned = plan_attack(loss, rows=len(truth), policy=Bounded(tau=1e-5), design=design)
        wrong = True
        with contextlib.suppress(AttackStopped):
            outcome = infer_labels(lambda p: log_loss(truth, p) + 3e-5 * rng.choice([-1, 1]), planned)
            wrong = (outcome.labels != truth).any()
        assert wrong


@pytest.mark.parametrize("name", ["brier", "rmse", "mae", "accuracy", "f1", "auc", "bce", "sigmoid", "softmax"])
@pytest.mark.parametrize("decimals", [None, 5])
def test_every_metric_of_two_classes(name, decimals):
    truth = np.random.default_rng(3).permutation(TITANIC)[:400]
    keep_guarantee(name, truth, 2, decimals=decimals)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["brier", "rmse", "mae", "accuracy", "f1", "auc", "bce", "sigmoid", "softmax"])
@pytest.mark.parametrize("decimals", [None, 5])
def test_every_metric_on_titanic(name, decimals):
    keep_guarantee(name, TITANIC, 2, decimals=decimals, seed=7)


@pytest.mark.parametrize("name", ["log_loss", "brier", "softmax", "accuracy"])
@pytest.mark.parametrize("decimals", [None, 5])
def test_every_metric_of_three_classes(name, decimals):
    keep_guarantee(name, IRIS, 3, decimals=decimals)


def test_float32_scores():
    coarse = LogLoss(floor=2.0**-23)  # what scikit-learn makes of 32-bit predictions
    truth = np.random.default_rng(0).permutation(TITANIC)[:300]
    planned = plan_attack(coarse, rows=300, policy=HostAnswers(precision=Float32()))
    outcome = infer_labels(lambda p: log_loss(truth, p), planned)
    np.testing.assert_array_equal(outcome.labels, truth)
    assert outcome.queries == planned.queries
    assert planned.queries > plan_attack(LOG_LOSS, rows=300).queries


def test_every_submitted_row_sums_to_one():
    for classes, answers in ((3, Exact()), (6, Exact()), (3, Rounded(decimals=4))):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, classes, 200)
        loss = LogLoss(classes=classes, floor=SKLEARN_FLOOR)
        seen = []

        def host(predictions, truth=truth, loss=loss, seen=seen, answers=answers):
            seen.append(predictions)
            score = loss.score(truth, predictions)
            return round(score, 4) if isinstance(answers, Rounded) else score

        infer_labels(host, plan_attack(loss, rows=200, policy=answers))
        assert all(np.abs(p.sum(axis=1) - 1).max() < 1e-14 for p in seen)
        assert all(p.min() > 0 for p in seen)


def test_rows_not_asked_are_neutral():
    planned = plan_attack(
        LogLoss(classes=3, floor=SKLEARN_FLOOR), rows=150, policy=Rounded(decimals=5), design=DigitDesign
    )
    first = next(planned.steps()).predictions
    m = planned.design.lengths[0]
    assert np.all(first[m + 1 :] == 1 / 3)
    assert np.all(np.abs(first[:m] - 1 / 3).max(axis=1) > 0)


@pytest.mark.parametrize("answers", [Exact(), HostAnswers(growth=8.0), Rounded(decimals=5), Bounded(tau=1e-4)])
@pytest.mark.parametrize("settle", [True, False])
@pytest.mark.parametrize(("name", "classes"), [("log_loss", 2), ("log_loss", 5), ("softmax", 7), ("brier", 10)])
def test_lengths_worked_out_in_runs_are_those_of_the_queries_one_by_one(name, classes, settle, answers):
    metric = metric_of(name, classes)
    for rows in (1, 5, 51, 141):
        design = DigitDesign(channel=LossChannel.of(metric, rows=rows, policy=answers), settle=settle)
        taken = tuple(lengths_one_by_one(design))
        assert design.lengths == taken
        assert design.queries == len(taken)


def lengths_one_by_one(design):
    """Ask every query of labels that are all 0, and yield how many rows are known more after each."""
    truth, steps = np.zeros(design.channel.rows, dtype=np.int64), design.steps()
    query = next(steps)
    while True:
        try:
            following = steps.send(design.channel.score(truth, query.predictions))
        except StopIteration:
            yield (query.recovered < 0).sum()
            return
        yield (query.recovered < 0).sum() - (following.recovered < 0).sum()
        query = following


@pytest.mark.parametrize("metric", [LOG_LOSS, LogLoss(classes=5, floor=SKLEARN_FLOOR), Accuracy(), Rmse()])
def test_a_thousand_million_rows_are_planned_for_without_going_through_them(metric):
    few, many = plan_attack(metric, rows=10_000_000), plan_attack(metric, rows=1_000_000_000)
    assert 85 < many.queries / few.queries < 150


def test_days_and_upper_bounds():
    planned = plan_attack(LOG_LOSS, rows=2201, policy=Rounded(decimals=5), per_day=5)
    assert planned.days == math.ceil(planned.queries / 5)
    assert planned.labels_per_query < planned.bounds.entropy < planned.bounds.counting
    assert plan_attack(LOG_LOSS, rows=2201).days is None


@pytest.mark.parametrize("metric", [LOG_LOSS, Accuracy(), F1(), Auc(), Rmse(), Brier()])
@pytest.mark.parametrize("answers", [Exact(), Rounded(decimals=5), Bounded(tau=1e-5)])
def test_no_plan_beats_its_counting_upper_bound(metric, answers):
    planned = plan_attack(metric, rows=500, policy=answers)
    assert planned.labels_per_query <= planned.bounds.counting


def test_json_of_a_plan():
    document = plan_attack(Accuracy(), rows=100, per_day=10).to_json()
    assert document["queries"] == 41
    assert document["days"] == 5
    assert document["upper_bound"].startswith("entropy: ")


@pytest.mark.parametrize(
    ("metric", "answers", "words"),
    [
        (LOG_LOSS, Rounded(decimals=0), "answers must reveal one row's label"),
        (Brier(), Rounded(decimals=3), "answers must reveal one row's label"),
        (Rmse(), Rounded(decimals=3), "answers must reveal one row's label"),
        (Accuracy(), Rounded(decimals=2), "accuracy moves by"),
        (F1(), Rounded(decimals=2), "f1 moves by"),
        (Auc(), Rounded(decimals=3), "auc may move by"),
    ],
)
def test_what_cannot_separate_is_refused_with_the_bound(metric, answers, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        plan_attack(metric, rows=2201, policy=answers)
    assert "\n" not in str(caught.value)


def test_bad_arguments():
    with pytest.raises(InvalidInput, match="rows must be"):
        plan_attack(LOG_LOSS, rows=0)
    with pytest.raises(InvalidInput, match="rows must be at most 10,000,000,000 "):
        plan_attack(LOG_LOSS, rows=10**20)
    with pytest.raises(InvalidInput, match="metric must have at most 1,000 classes "):
        plan_attack(LogLoss(floor=1e-300, classes=10**12), rows=5)
    with pytest.raises(InvalidInput, match="rows must be at most 100,000,000 "):
        infer_labels(lambda _: 0.0, plan_attack(LOG_LOSS, rows=10**10))
    with pytest.raises(InvalidInput, match="per_day"):
        plan_attack(LOG_LOSS, rows=5, per_day=0)
    with pytest.raises(InvalidInput, match="tau must be"):
        Bounded(tau=-1.0)
    with pytest.raises(InvalidInput, match="decimals"):
        Rounded(decimals=-1)


def test_losses_whose_differences_cannot_be_chosen_are_refused():
    ungraded = [cls for cls in _subclasses(InvertibleLoss) if not cls.graded]
    assert ZeroOne in ungraded
    for cls in ungraded:
        with pytest.raises(InvalidInput, match="cannot separate"):
            plan_attack(UnboundedLoss(loss=cls()), rows=5)
    assert LinearlyDecomposable.graded


def _subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)
