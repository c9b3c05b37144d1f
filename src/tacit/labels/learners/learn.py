"""From a release of labels and the features of its rows to a model, its guarantee and its accuracy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import Encoder, label_column, open_table, read_rows
from tacit.data.learned import LearnedModel
from tacit.data.names import check_present
from tacit.data.rows import labelled_rows
from tacit.labels.learners.released import take_rows
from tacit.labels.methods import LearnMethod, Regressor, ReleasedLikelihood
from tacit.labels.releases.matching import feature_names, rows_of
from tacit.labels.releases.release import Release
from tacit.leak.model_report import ModelReport, Performance
from tacit.leak.number_performance import judge_numbers
from tacit.leak.performance import judge_classes
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import system_rng
from tacit.privacy.settings import read_choice
from tacit.privacy.words import shown

__all__ = ["learn"]

Rows = NDArray[np.int64]


@checked()
def learn(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    test: object = None,
    features: Sequence[str] = (),
    method: LearnMethod | str | None = None,
    hold_out: float = 0.2,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> LearnedModel:
    """Train on released labels, which costs no further privacy, and evaluate the model.

    Parameters
    ----------
    data
        The rows of the release, in its order, or with a column to match them by where it has none. Default: the
        columns that were released beside the labels.
    test
        Rows with the same columns, and true labels in the private column: the accuracy on them is outside the
        guarantee.
    features
        The columns to learn from. Default: all but labels and the person.
    method
        Default: ``likelihood`` for classes, ``regressor`` for numbers. ``images`` and ``text`` read one column.
    hold_out
        The share of rows to evaluate on without ``test``, by released labels, inside the guarantee. 0: no evaluation.

    Examples
    --------
    >>> from tacit.data import iris
    >>> from tacit.labels import Plan, protect
    >>> plan = Plan(label="species", epsilon=3, features="all")
    >>> release = protect(iris().table, plan, rng=np.random.default_rng(0))
    >>> model = learn(release, test=iris().table, rng=np.random.default_rng(0))
    >>> model.report_.accuracy > 0.9, str(model.guarantee_)
    (True, 'epsilon 3 for one label')
    """
    released = Release.open(release)
    if not 0 <= hold_out < 1:
        raise InvalidInput(f"must be in [0, 1), got {hold_out!r}", field="hold_out")
    generator = system_rng() if rng is None else rng
    chosen = _method(released, method)
    rows = released.table if data is None else rows_of(released, data, field="data")
    names = feature_names(released, rows, features, own=data is None)
    encoder = chosen.columns(rows, names, chosen=bool(features))
    tested = None if test is None else _JudgingRows.tested(test, encoder, released)
    held, kept = _split(released, 0.0 if tested else hold_out, generator)
    X = encoder.scaled(rows)
    learner = chosen.learner(generator, progress)
    learner.fit(X[kept], take_rows(released, kept))
    return LearnedModel(
        learner=learner,
        encoder=encoder,
        guarantee_=learner.guarantee_,
        report_=_report(learner, tested or _JudgingRows.held_out(X, held, released), rows=len(kept)),
    )


def _method(release: Release, method: LearnMethod | str | None) -> LearnMethod:
    numbers = release.asked.mechanism.numbers
    if method is None:
        return Regressor() if numbers else ReleasedLikelihood()
    chosen: LearnMethod = read_choice(LearnMethod, method, field="method")
    if numbers != chosen.numbers:
        fits, has = ("regressor", "numbers") if numbers else ("likelihood, denoised, twins, images or text", "classes")
        raise InvalidInput(f"must be {fits}: the release has {has}, got {chosen}", field="method")
    return chosen


def _split(release: Release, hold_out: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """The rows to evaluate on and those to train on; a row without a label is neither."""
    evidence = release.evidence
    labeled = np.flatnonzero(evidence.present)
    judges = release.asked.mechanism.numbers or evidence.unbiased is not None
    held = np.sort(rng.permutation(labeled)[: round(hold_out * len(labeled))]) if judges else labeled[:0]
    kept = np.setdiff1d(labeled, held, assume_unique=True)
    if not len(kept):
        raise InvalidInput(f"must leave rows to train on, got {hold_out!r} of {len(labeled)}", field="hold_out")
    return held, kept


@dataclass(frozen=True, slots=True, eq=False)
class _JudgingRows:
    """Rows to evaluate on; ``truth`` has a column per class, or numbers and, where known, their squares."""

    X: NDArray[np.float64]
    truth: NDArray[np.float64]
    released: bool
    numbers: bool

    @classmethod
    def tested(cls, test: object, encoder: Encoder, release: Release) -> _JudgingRows:
        """Take rows with true labels."""
        table, label = open_table(test), release.asked.label
        encoder.check(table.columns, field="test")
        check_present(label, table.columns, argument="test's label")
        rows = read_rows(table, columns=[*encoder.columns(), label])
        if release.asked.missing == "public":
            rows = labelled_rows(rows, label)
        y = label_column(rows, label, least_classes=1)
        numbers = release.asked.mechanism.numbers
        truth = y[:, None] if numbers else _one_hot(y, release.evidence.classes)
        return cls(encoder.scaled(rows), truth, released=False, numbers=numbers)

    @classmethod
    def held_out(cls, X: NDArray[np.float64], rows: Rows, release: Release) -> _JudgingRows:
        """Take released labels, or unbiased estimates of the true ones."""
        numbers = release.asked.mechanism.numbers
        truth = _moments(release) if numbers else release.evidence.unbiased
        return cls(X[rows], np.zeros(0) if truth is None else truth[rows], released=True, numbers=numbers)

    def judge(self, learner: Any) -> Performance | None:  # noqa: ANN401
        """Return the performance on these rows; None where there are too few."""
        if self.numbers:
            if len(self.X) < 2:
                return None
            y, *squares = self.truth.T
            second = squares[0] if squares else None
            return judge_numbers(learner.predict(self.X), y, squares=second, released=self.released)
        if not len(self.X):
            return None
        names = learner.classes_.tolist()
        return judge_classes(learner.predict_proba(self.X), self.truth, names=names, released=self.released)


def _moments(release: Release) -> NDArray[np.float64]:
    """Return unbiased estimates of each number and its square; the released numbers alone if there are none."""
    channel, values = release.evidence.channel, np.asarray(release.evidence.classes, dtype=np.float64)
    assert channel is not None  # numbers go through one
    wanted = np.stack([values, values**2], axis=1)
    weights = np.linalg.lstsq(channel.transition, wanted)[0]
    if np.allclose(channel.transition @ weights, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max()):
        return np.asarray(weights[channel.outputs])
    return np.asarray(release.labels.to_numpy(), dtype=np.float64)[:, None]


def _one_hot(labels: NDArray[Any], classes: tuple[Any, ...]) -> NDArray[np.float64]:
    place = {value: code for code, value in enumerate(classes)}
    unknown = [value for value in np.unique(labels).tolist() if value not in place]
    if unknown:
        raise InvalidInput(f"must have labels among the classes {shown(classes)}, got {unknown[0]!r}", field="test")
    return np.eye(len(classes))[[place[value] for value in labels.tolist()]]


def _report(learner: object, judges: _JudgingRows, *, rows: int) -> ModelReport:
    agree = getattr(learner, "consensus_fraction_", None)
    released = "" if agree is None else f"; predictions agree with {agree:.1%} of the released labels"
    return ModelReport(
        performance=judges.judge(learner),
        rows=rows,
        remarks=(f"Trained on {rows:,} rows{released}.",),
        details={} if agree is None else {"consensus_fraction": agree},
    )
