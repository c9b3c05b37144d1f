"""Learn a model from a release of bags and the features of its rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacit.bags.learners.additive import AdditiveModel
from tacit.bags.learners.parts import BoostedTrees
from tacit.bags.learners.random_bags import RandomBagModel
from tacit.bags.methods import Crosses, LearnMethod, Linear
from tacit.bags.partition import BagTotals
from tacit.bags.releases.release import Release
from tacit.data import open_table
from tacit.data.learned import LearnedModel
from tacit.data.view import TableView
from tacit.leak.model_report import ModelReport
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import read_choice

if TYPE_CHECKING:
    import ibis

__all__ = ["learn", "train_crosses", "train_linear", "train_trees"]

BagLearner = AdditiveModel | RandomBagModel


class _TrainingInputs(NamedTuple):
    totals: BagTotals
    rows: TableView | ibis.Table
    features: tuple[str, ...]
    progress: Progress | None


@checked()
def learn(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    test: object = None,
    features: Sequence[str] = (),
    method: LearnMethod | str | None = None,
    hold_out: float = 0.2,  # noqa: ARG001
    rng: np.random.Generator | None = None,  # noqa: ARG001
    progress: Progress | None = None,
) -> LearnedModel:
    """Train a model from label totals and the features of the rows; labels are not read.

    Parameters
    ----------
    data
        The rows that the bags were made from, in their order for random bags.
    features
        For random bags: the columns that the model sees. Default: all but the label.
    method
        ``crosses`` (default) or ``trees`` for partitions, ``linear`` for random bags.
    hold_out, rng
        Not used: bags cannot be split into rows, so the model is evaluated by the released totals, and training is
        deterministic.

    Returns
    -------
    LearnedModel
        Its ``learner`` is an :class:`AdditiveModel`, or a :class:`RandomBagModel` of random bags.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.bags import Plan, protect
    >>> people = pa.table({"city": ["bonn", "oslo"] * 50, "ill": ["no", "yes"] * 50})
    >>> release = protect(people, Plan(label="ill", epsilon=1, by=["city"]))
    >>> learn(release, data=people).predict(pa.table({"city": ["oslo", "bonn"]}))
    array(['yes', 'no'], dtype='<U3')
    """
    released = Release.open(release)
    if data is None:
        raise InvalidInput("must be given: the rows that the bags were made from, without labels", field="data")
    totals, rows = released.totals, released.used_rows(data).table
    learner: BagLearner = _method(method, totals).train(_TrainingInputs(totals, rows, tuple(features), progress))
    if released.encoding.classes is not None:
        learner.classes_ = np.array(released.encoding.classes)
    fit = learner.calibration(totals, rows)
    report = ModelReport(
        performance=None
        if test is None
        else learner.evaluate(open_table(test), released.encoding.read(test, argument="test")),
        rows=totals.rows,
        remarks=(*map(str, fit), *_risk(learner)),
        details={"risk": learner.risk_, "fit": [{**asdict(one), "p_value": one.p_value} for one in fit]},
    )
    return LearnedModel(learner=learner, guarantee_=released.guarantee, report_=report)


def _risk(learner: BagLearner) -> tuple[str, ...]:
    if learner.risk_ is None:
        return ()
    return (f"Mean squared error per row, estimated from the bags: {learner.risk_:.3f}.",)


def _method(method: LearnMethod | str | None, totals: BagTotals) -> LearnMethod:
    of_random = totals.random is not None
    default = Linear() if of_random else Crosses()
    chosen: LearnMethod = default if method is None else read_choice(LearnMethod, method, field="method")
    if chosen.of_random != of_random:
        fits = "linear for a release of random bags" if of_random else "crosses or trees for a release of partitions"
        raise InvalidInput(f"must be {fits}, got {chosen}", field="method")
    return chosen


def train_crosses(_: LearnMethod, given: _TrainingInputs, *, parts: Sequence[BoostedTrees] | None = None) -> BagLearner:
    """Train a weight per bag, or other parts."""
    if given.features:
        raise InvalidInput("is for random bags: a model of partitions sees the columns of by", field="features")
    return AdditiveModel(parts=parts).fit(given.totals, given.rows, progress=given.progress)


def train_trees(method: LearnMethod, given: _TrainingInputs) -> BagLearner:
    """Train trees on each partition."""
    return train_crosses(method, given, parts=[BoostedTrees(part.columns) for part in given.totals.partitions])


def train_linear(_: LearnMethod, given: _TrainingInputs) -> BagLearner:
    """Train a linear model from random bags."""
    return RandomBagModel(columns=given.features or None).fit(given.totals, given.rows)
