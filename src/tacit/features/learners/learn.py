"""Fisher's classifier from a release alone: the release states which noise to take out."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.data import numeric_matrix
from tacit.data.classes import Classes
from tacit.data.learned import LearnedModel
from tacit.data.names import check_present
from tacit.features.learners.fisher import FisherClassifier
from tacit.features.learners.rules import RULES, FisherRule
from tacit.features.methods import Fisher, LearnMethod
from tacit.features.releases.outside_table import read_labeled
from tacit.features.releases.release import Release
from tacit.leak.model_report import ModelReport
from tacit.leak.performance import ClassPerformance, judge_classes
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import system_rng
from tacit.privacy.settings import read_choice

__all__ = ["learn"]

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


@checked(data="the release is all that is learned from")
def learn(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,  # noqa: ARG001
    test: object = None,
    features: Sequence[str] = (),
    method: LearnMethod | str | None = None,
    hold_out: float = 0.2,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> LearnedModel:
    """Learn a classifier of clean rows from a release, corrected for its noise.

    Parameters
    ----------
    features
        Some of the released features; default: all. The learner takes a matrix in this order.
    method
        ``Fisher(rule="independence")``, or ``rule="full"``, which needs rows.
    hold_out
        The share of released rows, noisy as they are, that are evaluated by their released labels where there is no
        test; the classifier that is returned learns from them too.

    Returns
    -------
    LearnedModel
        Predicts rows of a table like the private one; its ``learner`` is a :class:`FisherClassifier`.
    """
    if not 0 <= hold_out < 1:
        raise InvalidInput(f"must be in [0, 1), got {hold_out!r}", field="hold_out")
    released = Release.open(release)
    names = _names(released, features)
    chosen = read_choice(LearnMethod, Fisher() if method is None else method, field="method")
    model = _fit(released, names, RULES[chosen.rule])
    performance = (
        _judge_held_out(released, names, RULES[chosen.rule], hold_out, rng=rng or system_rng())
        if test is None
        else _judge_test(model, released, names, test)
    )
    if progress:
        progress(1, 1)
    return LearnedModel(
        learner=model,
        encoder=released.encoder,
        only=names,
        guarantee_=released.guarantee,
        report_=ModelReport(
            performance=performance,
            remarks=(f"Fisher's rule ({chosen.rule}) on {', '.join(names)}.",),
            details={"features": list(names), "rule": chosen.rule},
        ),
    )


def _names(release: Release, features: Sequence[str]) -> tuple[str, ...]:
    for name in features:
        check_present(name, release.features, argument="features")
    return tuple(features) or release.features


def _fit(
    release: Release, names: Sequence[str], rule: FisherRule, *, rows: Mask | None = None, noisy_test: bool = False
) -> FisherClassifier:
    """Learn from totals, or from the rows of a mask, with the noise on labels and features that the release states."""
    places = [release.features.index(name) for name in names]
    noise, totals = release.settled["noise"], release.totals
    if totals is not None:
        return FisherClassifier(rule).fit_totals(
            totals.take(places), box=release.box.take(places), classes=release.classes, squares_noise=noise["squares"]
        )
    values, codes = _rows(release, names)
    kept = np.ones(len(codes), dtype=bool) if rows is None else rows
    model = FisherClassifier(
        rule, noise=np.asarray(noise)[places], noisy_test=noisy_test, transition=release.transition
    )
    return model.fit_codes(values[kept], codes[kept], classes=release.classes)


def _rows(release: Release, names: Sequence[str]) -> tuple[Matrix, NDArray[np.int64]]:
    table = release.rows
    assert table is not None  # a release without totals has rows
    return numeric_matrix(table, columns=names), Classes(values=release.classes).encode(table[release.plan.label])


def _judge_test(model: FisherClassifier, release: Release, names: Sequence[str], test: object) -> ClassPerformance:
    values, truth = read_labeled(release, test, names=names, label=release.plan.label, field="test")
    for value in truth:
        if value not in release.classes:
            raise InvalidInput(f"must have the release's classes, {list(release.classes)}, got {value!r}", field="test")
    codes = [release.classes.index(value) for value in truth]
    return judge_classes(model.predict_proba(values), np.eye(len(release.classes))[codes], names=release.classes)


def _judge_held_out(
    release: Release, names: Sequence[str], rule: FisherRule, hold_out: float, *, rng: np.random.Generator
) -> ClassPerformance | None:
    """Judge by released labels of noisy rows."""
    count = 0 if release.rows is None else release.rows.num_rows
    held = rng.permutation(count) < int(hold_out * count)
    if not held.any():
        return None
    model = _fit(release, names, rule, rows=~held, noisy_test=True)
    values, codes = _rows(release, names)
    return judge_classes(
        model.predict_proba(values[held]),
        np.linalg.inv(release.transition)[codes[held]],
        names=release.classes,
        released=True,
    )
