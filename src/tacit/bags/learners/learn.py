"""Learn a model from a release of bags and the features of its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit.bags.learners.additive import AdditiveModel
from tacit.bags.learners.parts import Tree
from tacit.bags.learners.random_bags import RandomBagModel
from tacit.bags.methods import Crosses, LearnMethod, Linear, Trees
from tacit.bags.partition import BagTotals
from tacit.bags.releases.release import Release
from tacit.data import open_table
from tacit.data.view import TableView
from tacit.leak.model_report import ModelReport
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import read_choice

if TYPE_CHECKING:
    import ibis

__all__ = ["learn"]

Model = AdditiveModel | RandomBagModel


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
) -> Model:
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
    AdditiveModel or RandomBagModel
        With ``predict``, ``guarantee_`` and ``report_``.

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
    model = _TRAIN[type(_method(method, totals))](_TrainingInputs(totals, rows, tuple(features), progress))
    if released.encoding.classes is not None:
        model.classes_ = np.array(released.encoding.classes)
    model.guarantee_ = released.guarantee
    fit = model.calibration(totals, rows)
    model.report_ = ModelReport(
        performance=None
        if test is None
        else model.evaluate(open_table(test), released.encoding.read(test, argument="test")),
        rows=totals.rows,
        remarks=(*map(str, fit), *_risk(model)),
        details={"risk": model.risk_, "fit": [{**asdict(one), "p_value": one.p_value} for one in fit]},
    )
    return model


def _risk(model: Model) -> tuple[str, ...]:
    if model.risk_ is None:
        return ()
    return (f"Mean squared error per row, estimated from the bags: {model.risk_:.3f}.",)


def _method(method: LearnMethod | str | None, totals: BagTotals) -> LearnMethod:
    fitting = (Crosses, Trees) if totals.random is None else (Linear,)
    chosen: LearnMethod = fitting[0]() if method is None else read_choice(LearnMethod, method, field="method")
    if not isinstance(chosen, fitting):
        names = " or ".join(one.name for one in fitting)
        kind = "partitions" if totals.random is None else "random bags"
        raise InvalidInput(f"must be {names} for a release of {kind}, got {chosen}", field="method")
    return chosen


def _additive(parts: Sequence[Tree] | None, run: _TrainingInputs) -> Model:
    if run.features:
        raise InvalidInput("is for random bags: a model of partitions sees the columns of by", field="features")
    return AdditiveModel(parts=parts).fit(run.totals, run.rows, progress=run.progress)


_TRAIN: Mapping[type[Any], Callable[[_TrainingInputs], Model]] = {
    Crosses: lambda run: _additive(None, run),
    Trees: lambda run: _additive([Tree(part.columns) for part in run.totals.partitions], run),
    Linear: lambda run: RandomBagModel(columns=run.features or None).fit(run.totals, run.rows),
}
