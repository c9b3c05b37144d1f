"""Scores: every label from the real scorers, in how many queries and how fast; the host's own time beside it."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from benchmarks.timing import timed_row
from papers.score_attacks.attacks import (
    TwoColumnLogLoss,
    exhaustive_labels,
    labels_from_one_score,
    precision_for,
    prior_design,
)
from papers.score_attacks.bounds import labels_per_query
from tacit.data import iris, satellite, titanic
from tacit.privacy.settings import read_choice
from tacit.scores.attacks import (
    AttackPlan,
    CrowdedDesign,
    DigitDesign,
    HostAnswers,
    LossChannel,
    infer_labels,
    plan_attack,
)
from tacit.scores.attacks.packing import read_digits
from tacit.scores.losses import ClippedCrossEntropy
from tacit.scores.metrics import SKLEARN_FLOOR, HostMetric, LogLoss, UnboundedLoss
from tacit.scores.policies import Bounded, Exact, Rounded

HOST = "the host's own scoring of the same submissions"


def run(*, quick: bool) -> list[dict]:
    """Return one row a case."""
    rows = [*_float64(quick), *_five_decimals(quick), *_noise(quick), *_other_metrics(quick)]
    return [*rows, *_decoding(quick), _one_score(quick), *_prior(quick), _rounding(quick)]


def _float64(quick: bool) -> list[dict]:
    cases = [(titanic(), 48, seed) for seed in range(1 if quick else 3)] + [(iris(), 6, 0)]
    if not quick:
        cases += [(satellite(), 397, seed) for seed in range(2)]
    return [
        _attack(f"{data.name}, log loss, float64, order {seed}", "log_loss", data, seed=seed, must=must)
        for data, must, seed in cases
    ]


def _five_decimals(quick: bool) -> list[dict]:
    data, cases = titanic(), []
    for seed in range(1 if quick else 3):
        name = f"Titanic, log loss, 5 decimals, order {seed}"
        cases += [
            _attack(f"{name}, digits", "log_loss", data, decimals=5, seed=seed, must=201, design=DigitDesign),
            _attack(f"{name}, joint", "log_loss", data, decimals=5, seed=seed, must=149),
            _attack(f"{name}, crowded", "log_loss", data, decimals=5, seed=seed, must=149, design=CrowdedDesign),
            _attack(
                f"{name}, crowded, two columns",
                "log_loss",
                data,
                decimals=5,
                seed=seed,
                must=149,
                design=CrowdedDesign,
                metric=UnboundedLoss(loss=TwoColumnLogLoss()),
            ),
        ]
    return cases


def _noise(quick: bool) -> list[dict]:
    rows = []
    for data in (titanic(), iris()) if quick else (titanic(), iris(), satellite()):
        classes = len(data.classes)
        for tau in (1e-4,) if quick else (1e-6, 1e-5, 1e-4):
            m = labels_per_query(_log_loss(classes).loss, len(data), tau=tau).digits
            case = f"{data.name}, log loss, noise {tau:g}, digits"
            must = math.ceil(len(data) / m)
            rows.append(_attack(case, "log_loss", data, tau=tau, must=must, design=DigitDesign))
    return rows


def _other_metrics(quick: bool) -> list[dict]:
    names = ("accuracy", "auc") if quick else ("brier", "accuracy", "f1", "auc", "rmse", "mae")
    return [_attack(f"Titanic, {name}, 5 decimals", name, titanic(), decimals=5) for name in names]


def _attack(
    case: str,
    name: str,
    data,
    *,
    decimals: int | None = None,
    tau: float | None = None,
    seed: int = 0,
    must: int | None = None,
    design=None,
    metric=None,
) -> dict:
    rng = np.random.default_rng(seed)
    truth = rng.permutation(data.codes)
    words = f"log_loss:floor={SKLEARN_FLOOR!r}" if name == "log_loss" else name
    real = read_choice(HostMetric, words).for_classes(len(data.classes))
    policy = Exact() if decimals is None else Rounded(decimals=decimals)
    policy = policy if tau is None else Bounded(tau=tau)
    timed = _Timed(lambda p: policy.release(real.measure(truth, p), state={}, rng=rng).released)
    planned = plan_attack(metric or real, rows=len(truth), policy=policy, design=design)
    outcome = infer_labels(timed, planned)
    ours = outcome.seconds - timed.seconds
    row = timed_row(case, ours, HOST, timed.seconds)
    right = int((outcome.labels == truth).sum())
    return row | {
        "rows": len(truth),
        "recovered": right / len(truth),
        "queries": outcome.queries,
        "planned": planned.queries,
        "must": must,
        "labels_per_query": round(len(truth) / outcome.queries, 2),
        "upper_bound_labels_per_query": round(planned.bounds.entropy, 2),
    }


def _decoding(quick: bool) -> list[dict]:
    """Labels a second: digits against the paper's search, one query each."""
    rows = []
    for classes, few in ((2, 16), (6, 6)):
        rng = np.random.default_rng(0)
        channel = LossChannel.of(_log_loss(classes), rows=2201)
        loss = channel.loss
        labels = DigitDesign(channel=channel).lengths[0]
        steps = [1e-12 * classes**i for i in range(labels)]
        levels = [[step * digit for digit in range(classes)] for step in steps]
        truth = rng.integers(0, classes, (200 if quick else 5000, labels))
        residuals = (truth * np.array(steps)).sum(axis=1).tolist()
        start = time.process_time()  # one core's time, whatever else runs
        found = [read_digits(residual, levels=levels)[0] for residual in residuals]
        ours = (time.process_time() - start) / truth.size
        assert (np.array(found) == truth).all()
        start = time.process_time()
        p = loss.prediction_for(np.array(steps[:few]) * 5e8)
        answer = loss.score(truth[0, :few], p)
        assert (exhaustive_labels(answer, loss, p) == truth[0, :few]).all()
        theirs = (time.process_time() - start) / few
        case = f"decoding a label, {classes} classes"
        row = timed_row(case, ours, f"the paper's search over {classes}^{few} labelings, a label", theirs)
        rows.append(row | {"labels_per_second": round(1 / ours), "must": 1_000_000})
    return rows


def _one_score(quick: bool) -> dict:
    count = 200 if quick else 1000
    loss, truth = ClippedCrossEntropy(), np.random.default_rng(0).integers(0, 2, count)
    precision = precision_for(loss, rows=count)
    host = _Timed(lambda p: loss.score(truth, p, precision=precision))
    start = time.perf_counter()
    found = labels_from_one_score(host, loss, rows=count)
    seconds = time.perf_counter() - start
    row = timed_row(f"{count} labels from one score", seconds - host.seconds, HOST, host.seconds)
    return row | {"recovered": float((found == truth).mean()), "queries": 1, "bits": precision.bits, "must_seconds": 10}


def _prior(quick: bool) -> list[dict]:
    """What a model of the features saves."""
    rows = []
    for data in (titanic(),) if quick else (titanic(), satellite()):
        rng = np.random.default_rng(0)
        order = rng.permutation(len(data))
        truth, classes = data.codes[order], len(data.classes)
        model = RandomForestClassifier(n_estimators=100, random_state=0)
        belief = cross_val_predict(model, data.X[order], truth, cv=5, method="predict_proba")
        belief = np.clip(belief, 1e-2, None)
        belief /= belief.sum(axis=1, keepdims=True)
        metric = _log_loss(classes)
        without = plan_attack(metric, rows=len(truth))
        design = prior_design(LossChannel.of(metric, rows=len(truth)), belief)
        planned = AttackPlan(
            metric=metric, rows=len(truth), answers=HostAnswers(), design=design, bounds=without.bounds
        )
        host = _Timed(lambda p, y=truth, metric=metric: metric.score(y, p))
        outcome = infer_labels(host, planned)
        row = timed_row(
            f"{data.name}, log loss, float64, with a forest's beliefs",
            outcome.seconds - host.seconds,
            HOST,
            host.seconds,
        )
        rows.append(
            row
            | {
                "recovered": float((outcome.labels == truth).mean()),
                "queries": outcome.queries,
                "without_beliefs": without.queries,
                "model_accuracy": round(float((belief.argmax(axis=1) == truth).mean()), 3),
            }
        )
    return rows


def _rounding(quick: bool) -> dict:
    """The rounding of scikit-learn's mean that depends on the labels, in units of 2^-53 times the score."""
    rng = np.random.default_rng(0)
    worst = float_seconds = exact_seconds = 0.0
    for rows, classes in ((150, 3), (2201, 2), (6430, 6)):
        channel = LossChannel.of(_log_loss(classes), rows=rows)
        loss = channel.loss
        p = next(DigitDesign(channel=channel).steps()).predictions
        table = loss.row_losses(p)
        offs = []
        for _ in range(5 if quick else 50):
            labels = rng.integers(0, classes, rows)
            start = time.perf_counter()
            score = loss.score(labels, p)
            middle = time.perf_counter()
            exact = sum(map(Fraction, table[np.arange(rows), labels].tolist())) / rows
            float_seconds, exact_seconds = (
                float_seconds + middle - start,
                exact_seconds + time.perf_counter() - middle,
            )
            offs.append(float(Fraction(score) - exact) / (score * 2**-53))
        worst = max(worst, max(offs) - min(offs))
    row = timed_row(
        "rounding of the mean that labels change", float_seconds, "the same means in rationals", exact_seconds
    )
    return row | {"growth": round(worst, 2), "reckoned_with": 2 * HostAnswers().growth}


def _log_loss(classes: int) -> LogLoss:
    return LogLoss(classes=classes, floor=SKLEARN_FLOOR)


class _Timed:
    """A host whose time is counted apart."""

    def __init__(self, oracle) -> None:
        self.oracle = oracle
        self.seconds = 0.0

    def __call__(self, predictions) -> float:
        start = time.perf_counter()
        answer = self.oracle(predictions)
        self.seconds += time.perf_counter() - start
        return answer
