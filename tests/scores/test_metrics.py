import itertools
import math
import pickle
import traceback
from typing import ClassVar

import numpy as np
import pytest
from sklearn import metrics as sk

from tacit.privacy import InvalidInput
from tacit.scores.metrics import F1, Accuracy, Auc, Brier, CustomMetric, LogLoss, Mae, Rmse


def submission(metric, rows, rng):
    if metric.name in ("accuracy", "f1"):
        return rng.integers(0, metric.classes, size=rows)
    if metric.classes > 2:
        return rng.dirichlet(np.ones(metric.classes), size=rows)
    return rng.random(rows).round(int(rng.integers(1, 4)))  # rounded: AUC needs ties


def every_metric(classes):
    floors = {"class_floor": 1}
    kinds = [LogLoss(classes=classes), Brier(classes=classes), Accuracy(classes=classes)]
    kinds += [Auc(classes=classes, **floors), F1(classes=classes, **floors)]
    return kinds + ([Mae(), Rmse()] if classes == 2 else [])


def clipped(p, floor):
    return np.clip(p, floor, 1 - floor)


def one_against_rest(function, y, p, classes):
    return np.mean([function(y == k, p[:, k]) for k in range(classes)])


SKLEARN = {
    "log_loss": lambda y, p, k: (
        -np.mean(np.log(clipped(p, 0.01)[np.arange(len(y)), y]))
        if k > 2
        else sk.log_loss(y, clipped(p, 0.01), labels=[0, 1])
    ),
    "brier": lambda y, p, k: ((np.eye(k)[y] - p) ** 2).sum(axis=1).mean() if k > 2 else sk.brier_score_loss(y, p),
    "accuracy": lambda y, p, k: sk.accuracy_score(y, p),
    "auc": lambda y, p, k: one_against_rest(sk.roc_auc_score, y, p, k) if k > 2 else sk.roc_auc_score(y, p),
    "f1": lambda y, p, k: sk.f1_score(y, p, average="macro" if k > 2 else "binary"),
    "mae": lambda y, p, k: sk.mean_absolute_error(y, p),
    "rmse": lambda y, p, k: sk.root_mean_squared_error(y, p),
}


@pytest.mark.parametrize("classes", [2, 6])
def test_scores_equal_scikit_learn(classes):
    rng = np.random.default_rng(0)
    for metric, _ in itertools.product(every_metric(classes), range(5)):
        y = rng.permutation(np.arange(300) % classes)
        p = submission(metric, 300, rng)
        assert metric.score(y, p) == pytest.approx(SKLEARN[metric.name](y, p, classes), abs=1e-12), metric


def largest_move(metric, rows, classes, submissions):
    """Over all label vectors and all their neighbors: how far one label moves the mean of the terms."""
    worst = 0.0
    for p in submissions:
        value = {y: metric.measure(y, p).terms.mean() for y in itertools.product(range(classes), repeat=rows)}
        for y, row, other in itertools.product(value, range(rows), range(classes)):
            worst = max(worst, abs(value[y] - value[(*y[:row], other, *y[row + 1 :])]))
    return worst


def extreme_submissions(metric, rows, classes):
    if metric.name in ("accuracy", "f1"):
        return [np.array(p) for p in itertools.product(range(classes), repeat=rows)]
    if classes > 2:
        corners = np.eye(classes)
        return [corners[list(p)] for p in itertools.product(range(classes), repeat=rows)]
    return [np.array(p) for p in itertools.product([0.0, 0.5, 1.0], repeat=rows)]


@pytest.mark.parametrize(("classes", "rows", "floor"), [(2, 5, 1), (2, 6, 2), (2, 6, 3), (2, 5, 2), (3, 4, 1)])
def test_one_label_moves_no_score_further_than_stated(classes, rows, floor):
    for metric in every_metric(classes):
        if metric.name in ("auc", "f1"):
            metric = type(metric)(classes=classes, class_floor=floor)
        tried = extreme_submissions(metric, rows, classes)
        tried = tried[:: max(1, len(tried) // 12)] + tried[-3:]
        worst, stated = largest_move(metric, rows, classes, tried), metric.sensitivity(rows)
        assert worst <= stated + 1e-12, metric
        assert worst > 0.5 * stated, f"control: half of what is stated for {metric} is exceeded"
        if metric.additive:
            assert worst == pytest.approx(stated, abs=1e-12), metric


@pytest.mark.parametrize("metric", [Auc(), F1(), Auc(classes=4), F1(classes=4)])
def test_without_a_floor_counts_are_private_and_there_is_no_bound(metric):
    assert metric.sensitivity(100) is None
    assert "class_floor" in metric.no_sensitivity


def test_the_plain_auc_moves_by_half_whatever_the_number_of_rows():
    """Why it is refused: with one positive, moving it from the bottom to the top turns AUC from 0 to 1."""
    p = np.linspace(0, 1, 50)
    first, both, second = (np.isin(np.arange(50), rows).astype(int) for rows in ([0], [0, 49], [49]))
    moves = [abs(Auc().score(a, p) - Auc().score(b, p)) for a, b in ((first, both), (both, second))]
    assert max(moves) >= 0.5
    floored = Auc(class_floor=20)
    assert max(abs(floored.score(a, p) - floored.score(b, p)) for a, b in ((first, both), (both, second))) < 0.05


def test_a_floor_that_the_classes_reach_changes_nothing():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    p = rng.random(200)
    assert Auc(class_floor=100).score(y, p) == Auc().score(y, p)
    assert F1(class_floor=100).score(y, p > 0.5) == F1().score(y, p > 0.5)
    assert Auc(class_floor=100).score(y * 0, p) == 0.5


class Traced(np.ndarray):
    """An array that writes down every operation it or its children take part in."""

    log: ClassVar[list] = []

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [np.asarray(x) if isinstance(x, Traced) else x for x in inputs]
        kwargs = {k: tuple(np.asarray(o) for o in v) if k == "out" else v for k, v in kwargs.items()}
        Traced.log.append((ufunc.__name__, method, tuple(getattr(x, "shape", None) for x in plain)))
        result = getattr(ufunc, method)(*plain, **kwargs)
        return result.view(Traced) if isinstance(result, np.ndarray) else result

    def __array_function__(self, function, types, args, kwargs):
        Traced.log.append((function.__name__, tuple(getattr(x, "shape", None) for x in args)))
        return super().__array_function__(function, types, args, kwargs)


@pytest.mark.parametrize("classes", [2, 6])
def test_the_same_operations_whatever_the_labels_are(classes):
    rng = np.random.default_rng(0)
    for metric in every_metric(classes):
        p = submission(metric, 40, rng)
        traces = []
        for y in (np.zeros(40, int), np.full(40, classes - 1), rng.integers(0, classes, 40)):
            Traced.log = []
            labels = y.astype(np.int64 if metric.classes else np.float64).view(Traced)
            metric._terms(labels, metric.check(p, rows=40))
            traces.append(Traced.log)
        assert traces[0]
        assert traces[0] == traces[1] == traces[2], metric


@pytest.mark.parametrize("metric", [LogLoss(), Brier(), Mae(), Rmse(), Mae(upper=1e6), Rmse(lower=-1e6, upper=1e6)])
def test_no_submission_makes_some_labels_slow(metric):
    """Floats below the normal ones take a processor many times longer, and so does a result that falls among them."""
    tiny = np.array([5e-324, 1e-310, 1e-200, 1e-155, 1e-100, 1e-90, 1e-80, 0.0, 0.5])
    for label in (0, 1):
        with np.errstate(under="raise"):
            terms = metric.measure(np.full(len(tiny), label), tiny).terms
            low, high = metric.term_bounds
            shares = (terms - low) / (high - low)
        for numbers in (terms, shares):
            assert np.abs(numbers[numbers != 0]).min() >= np.finfo(float).tiny


def test_the_trace_sees_a_branch_on_labels():
    """The control: a metric that looks at the positives alone does not have the same operations."""
    own = CustomMetric(function=lambda y, p: p[y == 1].sum(), metric="bad", lower=0, upper=1, lower_is_better=True)
    traces = []
    for y in ([0, 0, 0], [0, 1, 1]):
        Traced.log = []
        own.function(np.array(y).view(Traced), np.array([0.1, 0.2, 0.3]).view(Traced))
        traces.append(Traced.log)
    assert traces[0] != traces[1]


def test_a_measurement_tells_nothing_when_printed_or_raised():
    measured = Accuracy().measure([0, 1, 1, 1, 1, 1, 1], [0, 1, 0, 1, 1, 1, 1])
    score = repr(measured.exact)
    try:
        raise ValueError(measured)
    except ValueError:
        shown = traceback.format_exc()
    for text in (repr(measured), str(measured), f"{measured}", shown):
        assert score not in text
        assert "terms" not in text


def test_an_own_metric_that_quotes_labels_is_not_quoted(caplog):
    def leaky(labels, predictions):
        raise RuntimeError(f"labels are {labels}")

    own = CustomMetric(function=leaky, metric="leaky", lower=0, upper=1, lower_is_better=True)
    assert own.score([1, 0, 1], [0.1, 0.2, 0.3]) == 1.0
    assert "the metric leaky failed with RuntimeError" in caplog.text
    assert "[1 0 1]" not in caplog.text


@pytest.mark.parametrize("lower_is_better", [True, False])
def test_an_own_metric_that_fails_for_some_labels_counts_and_is_not_refused(lower_is_better):
    """Refused, it would tell a label for nothing: this one fails where a row of label 1 is given the probability 0."""

    def unclipped(labels, predictions):
        chosen = np.where(labels == 1, predictions, 1 - predictions)
        return -np.log(chosen).mean() if chosen.all() else np.nan

    bounds = {"lower": 0, "upper": 5, "lower_is_better": lower_is_better}
    own = CustomMetric(function=unclipped, metric="unclipped", **bounds)
    infinite = CustomMetric(function=lambda y, p: np.inf if y[0] else 1.0, metric="infinite", **bounds)
    for label, expected in ((0, np.log(2) / 2), (1, 5 if lower_is_better else 0)):
        assert own.score([label, 0], [0.0, 0.5]) == pytest.approx(expected)
        assert infinite.score([label, 0], [0.0, 0.5]) == (5 if label else 1)


@pytest.mark.parametrize("metric", [*every_metric(2), *every_metric(3)])
def test_wrong_labels_are_not_named(metric):
    with pytest.raises(InvalidInput) as caught:
        metric.check_labels([0, 1, 77])
    assert "77" not in str(caught.value)
    assert "row 2" in str(caught.value)


@pytest.mark.parametrize(
    ("metric", "predictions", "message"),
    [
        (LogLoss(), [0.1, 1.5], r"in \[0, 1\], got 1.5 at row 1"),
        (LogLoss(), [0.1], r"shape \(2,\)"),
        (LogLoss(), ["a", "b"], "must be numbers"),
        (LogLoss(), [[0.5, 0.5], [0.5]], "must be numbers"),
        (LogLoss(), [0.1, math.inf], "finite numbers, got inf at row 1"),
        (LogLoss(), [[1.0, 1.0], [0.5, 0.5]], "sum to 1 in each row, got 2 at row 0"),
        (Brier(classes=3), [[1.0, 1.0, 1.0]] * 2, "sum to 1"),
        (Accuracy(), [0.5, 1], "classes in 0..1, got 0.5 at row 0"),
        (F1(classes=3), [3, 1], "classes in 0..2, got 3.0 at row 0"),
        (Auc(), [math.nan, 1], "finite"),
        (Rmse(), [[1, 2], [3, 4]], "shape"),
    ],
)
def test_wrong_predictions_are_named(metric, predictions, message):
    with pytest.raises(InvalidInput, match=message):
        metric.check(predictions, rows=2)


def test_rows_of_ones_buy_nothing_and_rounded_rows_are_welcome():
    with pytest.raises(InvalidInput):
        LogLoss(classes=3).score([0, 1], np.ones((2, 3)))
    rounded = LogLoss(classes=3).check([[0.33, 0.33, 0.33]], rows=1)
    assert rounded.sum() == pytest.approx(1)


@pytest.mark.parametrize("metric", [*every_metric(2), *every_metric(6), Mae(lower=-2.0, upper=5.0)])
def test_metrics_are_pickled(metric):
    assert pickle.loads(pickle.dumps(metric)) == metric


def test_every_offered_metric_of_two_classes_has_a_plan():
    from tacit.scores.attacks import plan_attack

    for metric in every_metric(2):
        assert plan_attack(metric, rows=50).queries < 100
