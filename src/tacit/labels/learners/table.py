"""From a table with a private label column to a model, its guarantee and its accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tacit.data import label_column, read_rows
from tacit.data.classes import Classes
from tacit.data.names import check_present
from tacit.labels.fitting.denoise import Denoise
from tacit.labels.fitting.encode import FeatureEncoder
from tacit.labels.learners.classifier import LabelPrivateClassifier, generator_from
from tacit.labels.learners.retrain import Retrain
from tacit.labels.learners.validate import AccuracyEstimate, debiased_accuracy
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.labels.releases.labels import release_labels
from tacit.labels.releases.source import LABEL
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Promise
from tacit.privacy.ledger import Receipt, Version
from tacit.privacy.release import Release

__all__ = ["LearnedTable", "learn_table"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LearnedTable:
    """A fitted model, what is promised about the labels it saw, and how good it is.

    Parameters
    ----------
    model, encoder
        ``model.predict(encoder.encode(rows))`` predicts rows of a table with the same columns.
    guarantee
        Of the labels that were released to train and judge the model.
    accuracy
        On the true labels of a test table, outside the guarantee; None without one.
    clean_accuracy
        Of the same estimator trained on the true labels, where it was asked for; outside the guarantee.
    estimate
        The unbiased estimate from released labels of held-out rows, inside the guarantee; None with a test table.
    consensus_fraction
        Share of training rows whose predicted label is the released one, after the first fit.
    rows, judged_rows
        Rows trained on, and rows that the accuracy is of.

    Examples
    --------
    >>> from tacit.data import iris, load_table
    >>> learner = LabelPrivateClassifier(mechanism=RandomizedResponse(epsilon=3.0), random_state=0)
    >>> learned = learn_table(load_table(iris().table), iris().label, learner=learner)
    >>> learned.rows, learned.judged_rows, learned.accuracy
    (120, 30, None)
    """

    model: LabelPrivateClassifier
    encoder: FeatureEncoder
    guarantee: Promise
    accuracy: float | None
    clean_accuracy: float | None
    estimate: AccuracyEstimate | None
    consensus_fraction: float
    rows: int
    judged_rows: int

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON; ``accuracy`` is the estimate where no true labels were given.

        Examples
        --------
        >>> from tacit.data import iris, load_table
        >>> learner = LabelPrivateClassifier(mechanism=RandomizedResponse(epsilon=3.0), random_state=0)
        >>> learned = learn_table(load_table(iris().table), iris().label, learner=learner)
        >>> sorted(learned.to_json())[:2]
        ['accuracy', 'accuracy_inside_guarantee']
        """
        judged = self.accuracy if self.estimate is None else self.estimate.value
        return {
            "accuracy": judged,
            "accuracy_inside_guarantee": self.estimate is not None,
            "accuracy_standard_error": None if self.estimate is None else self.estimate.standard_error,
            "clean_accuracy": self.clean_accuracy,
            "charge": self.model.receipt_ and self.model.receipt_.id,
            "consensus_fraction": self.consensus_fraction,
            "guarantee": self.guarantee.to_json(),
            "seeded": self.model.release_.seeded,
            "rows": self.rows,
            "judged_rows": self.judged_rows,
        }


def learn_table(
    table: ibis.Table,
    labels: str | Release,
    *,
    learner: LabelPrivateClassifier,
    features: Sequence[str] | None = None,
    test: ibis.Table | None = None,
    test_label: str | None = None,
    hold_out: float = 0.2,
    compare: bool = False,
    progress: Progress | None = None,
) -> LearnedTable:
    """Train on the features and the privately released labels of a table, and judge the model.

    With a test table the accuracy is that on its true labels. Without one, a random part of the rows is held out and
    judged by its released labels. Where these are released here, they are by randomized response at the same
    epsilon: every label is released once, so the guarantee of the whole is that of one label's release (parallel
    composition).

    Parameters
    ----------
    table
        What ``load_table`` returned.
    labels
        The private column, or a release of labels in the order of the rows, which costs nothing more.
    learner
        Fitted here. Its ledger, if it has one, is charged once, before the first label is randomized.
    features
        Public columns; default all but the labels.
    test
        A table with the same columns and true labels.
    test_label
        The column with the true labels there; default: the private column's name, which a release says too.
    hold_out
        Share of rows to judge by where there is no test table; 0 judges nothing. Must be 0 with a release by another
        mechanism than randomized response.
    compare
        Also train on the true labels, to see what privacy costs; needs them, and a test table.
    progress
        Called with the number of the fit that begins and the number of fits in all.

    Examples
    --------
    >>> from tacit.data import iris, load_table
    >>> learner = LabelPrivateClassifier(mechanism=RandomizedResponse(epsilon=3.0), random_state=0)
    >>> table = load_table(iris().table)
    >>> learn_table(table, iris().label, learner=learner, test=table).accuracy > 0.9
    True
    """
    if compare and (test is None or isinstance(labels, Release)):
        raise InvalidInput("compare needs the true labels, to train on, and a test table, to measure both models by")
    if not 0 <= hold_out < 1:
        raise InvalidInput(f"hold_out must be in [0, 1), got {hold_out!r}")
    if isinstance(labels, Release) and test is None and hold_out:
        _check_judges(labels)
    private = labels.mechanism.get("column", LABEL) if isinstance(labels, Release) else labels
    rows = read_rows(table)
    if isinstance(labels, Release) and len(labels.value) != rows.num_rows:
        raise InvalidInput(f"labels must be of the table's {rows.num_rows} rows, got a release of {len(labels.value)}")
    least = 2 if learner.classes is None or compare else 1
    given = labels if isinstance(labels, Release) else label_column(rows, labels, least_classes=least)
    whole = None if isinstance(labels, Release) else _Whole(learner.ledger, rows[labels])
    hidden = _private_columns(labels, test_label) if isinstance(labels, Release) else {labels}
    if features is None and isinstance(labels, Release) and "column" not in labels.mechanism:
        raise InvalidInput("features must be named: this release does not say which column of the table is private")
    encoder = FeatureEncoder.of(rows, columns=_features(rows, hidden, features))
    judges = None if test is None else _Judges.read(test, encoder, label=test_label or private)
    X = encoder.encode(rows)
    del rows  # the matrix is as large
    rng = generator_from(learner.random_state).spawn(1)[0]  # not the stream that randomizes
    held, kept = _split(given, len(X), hold_out=0.0 if judges else hold_out, rng=rng)
    coding = None if isinstance(given, Release) else _coding(given, learner.classes)
    if judges is not None:
        said = labels.mechanism if isinstance(labels, Release) else {}
        judges.check(said.get("classes") if coding is None else coding.values)
    _fit(learner, X if len(kept) == len(X) else X[kept], _take(given, kept), coding, whole, progress)
    return LearnedTable(
        model=learner,
        encoder=encoder,
        guarantee=learner.guarantee_,
        accuracy=None if judges is None else judges.score(learner),
        clean_accuracy=judges.score(_clean(learner, X, given)) if judges and compare else None,
        estimate=_estimate(learner, X[held], _take(given, held), rng) if len(held) else None,
        consensus_fraction=learner.consensus_fraction_,
        rows=len(kept),
        judged_rows=len(judges.y) if judges else len(held),
    )


def _check_judges(release: Release) -> None:
    said = release.mechanism
    if said["name"] != RandomizedResponse.name or said.get("stages", 1) > 1:
        raise InvalidInput(
            f"hold_out must be 0 for a release by {said['name']}: only plain randomized response judges a model "
            "without bias; or give a test table"
        )


def _split(
    given: Release | NDArray[Any], rows: int, *, hold_out: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows to judge by and those to train on; a row without a released label is neither."""
    missing = np.zeros(rows, bool) if not isinstance(given, Release) else np.asarray(given.value[LABEL].is_null())
    labelled = np.flatnonzero(~missing)
    held = np.sort(rng.permutation(labelled)[: round(hold_out * len(labelled))])
    kept = np.setdiff1d(labelled, held, assume_unique=True)
    if len(held) and not len(kept):
        raise InvalidInput(f"hold_out must leave rows to train on, got {hold_out!r} of {len(labelled)} rows")
    return held, kept


@dataclass(frozen=True, slots=True, eq=False)
class _Judges:
    """Rows with true labels."""

    X: NDArray[np.float64]
    y: NDArray[Any]

    @classmethod
    def read(cls, test: ibis.Table, encoder: FeatureEncoder, *, label: str) -> _Judges:
        encoder.check(test.columns, argument="test")
        rows = read_rows(test, columns=[*(column.name for column in encoder.columns), _in_test(test, label)])
        return cls(encoder.encode(rows), label_column(rows, label, least_classes=1))

    def check(self, classes: Sequence[Any] | None) -> None:
        """Raise if no true label is a class: words against numbers would make an accuracy of 0."""
        if classes is not None and not set(classes) & set(self.y.tolist()):
            raise InvalidInput(
                f"test must have labels among the classes {list(classes)!r}, got none, but {self.y[0].item()!r}"
            )

    def score(self, model: Any) -> float:  # noqa: ANN401
        return float(np.mean(model.predict(self.X) == self.y))


@dataclass(frozen=True, slots=True)
class _Watched:
    """Denoising and retraining that say when they begin; a fit follows each."""

    denoise: Denoise
    retrain: Retrain
    begin: Callable[[], None]

    def targets(self, *arguments: Any, **options: Any) -> NDArray[np.float64]:  # noqa: ANN401
        self.begin()
        return self.denoise.targets(*arguments, **options)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """What only some ways of denoising have: their own check, their own fit."""
        if name not in ("check", "fit"):
            raise AttributeError(name)
        return getattr(self.denoise, name)

    def choose(self, probabilities: NDArray[np.float64], *, given: NDArray[np.int64]) -> NDArray[np.int64]:
        self.begin()
        return self.retrain.choose(probabilities, given=given)


@dataclass(frozen=True, slots=True, eq=False)
class _Whole:
    """The ledger, charged for the whole column where only part of it is fitted: the rest is released to judge."""

    ledger: Any
    labels: pa.ChunkedArray

    def identify(self, _part: object) -> Version:
        found: Version = self.ledger.identify(self.labels)
        return found

    def charge(self, *arguments: Any, **options: Any) -> Receipt:  # noqa: ANN401
        receipt: Receipt = self.ledger.charge(*arguments, **options)
        return receipt


def _coding(labels: NDArray[Any], declared: Any) -> Classes:  # noqa: ANN401
    """The classes of all rows: a held-out label may be the only one of its class, or outside the declared ones."""
    if labels.dtype.kind == "f" and (labels % 1).any():
        raise InvalidInput(
            f"labels must be classes, got numbers with fractions such as {labels[labels % 1 != 0][0]:g}; round them, "
            "or release them on bins and fit a LabelPrivateRegressor"
        )
    coding = declared if isinstance(declared, Classes) else Classes.of(labels, declared=declared)
    coding.encode(labels)
    return coding


def _fit(
    learner: LabelPrivateClassifier,
    X: NDArray[np.float64],
    given: Release | NDArray[Any],
    coding: Classes | None,
    whole: _Whole | None,
    progress: Progress | None,
) -> None:
    """Fit on the kept rows, with the classes, and at the cost, of all rows."""
    chosen = {name: getattr(learner, name) for name in ("denoise", "retrain", "classes", "ledger")}
    fits = (1 if isinstance(given, Release) else learner.stages) + learner.rounds
    begun = iter(range(1, fits + 1))

    def begin() -> None:
        if progress is not None:
            progress(next(begun), fits)

    watched = _Watched(learner._denoise(), learner._retrain(), begin)
    charged = None if learner.ledger is None else whole
    try:
        learner.set_params(denoise=watched, retrain=watched, classes=coding, ledger=charged).fit(X, given)
    finally:
        learner.set_params(**chosen)


def _estimate(
    model: LabelPrivateClassifier, X: NDArray[np.float64], given: Release | NDArray[Any], rng: np.random.Generator
) -> AccuracyEstimate:
    """Judge by released labels; private ones are released here, each once, under the guarantee already charged."""
    coding = Classes(values=tuple(model.classes_.tolist()))
    epsilon = model.release_.mechanism["epsilon"]
    response = RandomizedResponse(epsilon=epsilon, classes=len(coding))
    if not isinstance(given, Release):
        given = release_labels(given, mechanism=response, classes=coding.values, rng=rng)
    noisy = coding.encode(given.value[LABEL])
    return debiased_accuracy(coding.encode(model.predict(X)), noisy, transition=response.transition())


def _clean(learner: LabelPrivateClassifier, X: NDArray[np.float64], labels: Any) -> Any:  # noqa: ANN401
    base = LogisticRegression(max_iter=1000) if learner.estimator is None else clone(learner.estimator)
    if learner._representation is not None:
        base = make_pipeline(FrozenEstimator(learner._representation), base)
    return base.fit(X, labels)


def _take(given: Release | NDArray[Any], rows: NDArray[np.int64]) -> Any:  # noqa: ANN401
    if not isinstance(given, Release):
        return given[rows]
    return replace(given, value=pa.table(given.value).take(pa.array(rows)))


def _private_columns(release: Release, test_label: str | None) -> set[str]:
    """The columns that a model learning from a release must not see, whatever table it is given."""
    return {name for name in (LABEL, release.mechanism.get("column"), test_label) if name is not None}


def _features(rows: pa.Table, private: set[str], wanted: Sequence[str] | None) -> list[str]:
    if wanted is None:
        return [name for name in rows.column_names if name not in private]
    if private & set(wanted):
        raise InvalidInput(f"features must not name the private column {min(private & set(wanted))!r}")
    if len(set(wanted)) < len(wanted):
        raise InvalidInput(f"features must name each column once, got {', '.join(wanted)}")
    return list(wanted)


def _in_test(test: ibis.Table, label: str) -> str:
    return check_present(label, test.columns, argument="test's label")
