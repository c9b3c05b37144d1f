"""Load a released model, and evaluate it on rows with true labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tacit.data import Encoder
from tacit.data.classes import Classes
from tacit.data.learned import LearnedModel
from tacit.leak.model_report import ModelReport
from tacit.leak.performance import judge_classes
from tacit.models.methods import LearnMethod, LoadModel
from tacit.models.points import Floats
from tacit.models.releases.encoding import encoder_of_numbers, read_labeled
from tacit.models.releases.members import ModelMember
from tacit.models.releases.release import Release
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import read_choice

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ReleasedClassifier", "learn"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedClassifier:
    """A released model that predicts encoded rows."""

    member: ModelMember
    classes_: NDArray[Any]

    def logits(self, X: Floats) -> Floats:
        """Return a logit per class."""
        return self.member.logits(X, classes=len(self.classes_))

    def predict_proba(self, X: Floats) -> Floats:
        """Return a probability per class."""
        return np.asarray(softmax(self.logits(X), axis=1))

    def predict(self, X: Floats) -> NDArray[Any]:
        """Return a label per row."""
        return np.asarray(self.classes_[self.logits(X).argmax(axis=1)])


@checked(data="a released model is used unchanged")
def learn(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,  # noqa: ARG001
    test: object = None,
    features: Sequence[str] = (),
    method: LearnMethod | str | None = None,
    hold_out: float = 0.2,  # noqa: ARG001  # what was released holds no rows
    rng: np.random.Generator | None = None,  # noqa: ARG001  # nothing is drawn
    progress: Progress | None = None,  # noqa: ARG001
) -> LearnedModel:
    """Load a released model, and evaluate it on test rows.

    Parameters
    ----------
    release
        A release, or the path of a model file, also of one that a learn command wrote. A pickle must be opened with
        ``Release.read(path, trust=True)``.
    features
        The columns that a model from elsewhere takes, in its order; default: all columns of ``test`` but the label.
        A release of tacit names its own.

    Examples
    --------
    >>> import pandas as pd
    >>> from tacit.models.plan import Plan
    >>> from tacit.models.releases.protect import protect
    >>> table = pd.DataFrame({"age": [20, 70, 30, 60] * 20, "ill": ["no", "yes"] * 40})
    >>> release = protect(table, Plan(label="ill", epsilon=None, mechanism="plain"))
    >>> model = learn(release, test=table)
    >>> model.predict(pd.DataFrame({"age": [10, 80]})), model.report_.accuracy
    (array(['no', 'yes'], dtype='<U3'), 1.0)
    """
    read_choice(LoadModel, method or LoadModel(), field="method")
    source = Release.open(release)
    if source.encoder is not None and features:
        raise InvalidInput("must not be given: the release names its own", field="features")
    if source.table_model is not None:
        return _of_tables(source, source.table_model, test)
    if test is None:
        return _loaded(source, source.encoder or Encoder.of_numbers(features), None)
    chosen = source.encoder.columns() if source.encoder is not None else tuple(features)
    rows, labels = _read_test(source, test, features=chosen)
    encoder = source.encoder or encoder_of_numbers(rows)
    model = _loaded(source, encoder, labels)
    logits = model.learner.logits(encoder.scaled(rows))
    return replace(model, report_=_report(logits, labels, model.classes_))


def _of_tables(release: Release, model: LearnedModel, test: object) -> LearnedModel:
    """Return the model that a learn command wrote, evaluated by test rows where there are some."""
    report = ModelReport()
    if test is not None:
        rows, labels = _read_test(release, test, features=())
        report = _report(release.member.logits(rows, classes=len(model.classes_)), labels, model.classes_)
    return replace(model, report_=report)


def _read_test(release: Release, test: object, *, features: Sequence[str]) -> tuple[pa.Table, NDArray[Any]]:
    rows, labels = read_labeled(release, test, features=features, field="test")
    if labels is None:
        column = "its label column" if release.label is None else f"the column {release.label!r}"
        raise InvalidInput(f"must have {column} of true labels; name another one as label", field="test")
    return rows, labels


def _loaded(release: Release, encoder: Encoder, labels: NDArray[Any] | None) -> LearnedModel:
    known = release.classes
    if known is None:  # the file does not say: the labels that occur, sorted
        known = () if labels is None else Classes.of(labels).values
    learner = ReleasedClassifier(member=release.member, classes_=np.asarray(known))
    return LearnedModel(learner=learner, encoder=encoder, guarantee_=release.guarantee, report_=ModelReport())


def _report(logits: Floats, labels: NDArray[Any], classes: NDArray[Any]) -> ModelReport:
    names = tuple(classes.tolist())
    truth = np.eye(len(names))[Classes(values=names).encode(labels)]
    return ModelReport(performance=judge_classes(softmax(logits, axis=1), truth, names=names))
