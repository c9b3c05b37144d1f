"""Rows with labels, and their bags by a plain group-by: what the surface is compared with."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacit.bags.losses import CategoricalLoss, LogisticLoss, PoissonLoss, SquaredLoss
from tacit.bags.partition import BagTotals, Partition, as_features
from tacit.data.queries import SqlValue, column_of, select
from tacit.data.view import TableView
from tacit.privacy import NoGuarantee

LOSSES = {
    "squared": SquaredLoss(lower=-50.0, upper=50.0),
    "log": LogisticLoss(),
    "cross_entropy": CategoricalLoss(classes=3),
    "poisson": PoissonLoss(most=40),
}


def make_rows(rows=400, *, seed=0):
    """Columns a (3 values), b (4), c (5, with missing ones) and numeric x, all informative."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.integers(3, size=rows),
            "b": rng.choice(["p", "q", "r", "s"], size=rows),
            "c": rng.integers(5, size=rows).astype(float),
            "x": rng.normal(size=rows),
        }
    )
    frame.loc[rng.random(rows) < 0.1, "c"] = np.nan
    return frame


def make_labels(frame, loss, *, seed=1):
    rng = np.random.default_rng(seed)
    f = (frame["a"] - 1) * 0.8 + frame["b"].isin(["p", "q"]) * 1.0 - 0.3 * frame["c"].fillna(6) + 0.5 * frame["x"]
    f = f.to_numpy()
    if isinstance(loss, LogisticLoss):
        return (rng.random(len(f)) < 1 / (1 + np.exp(-f))).astype(int)
    if isinstance(loss, CategoricalLoss):
        return np.argmax(np.stack([f, 0 * f, -f], axis=1) + rng.gumbel(size=(len(f), 3)), axis=1)
    if isinstance(loss, PoissonLoss):
        return rng.poisson(np.exp(0.5 * f))
    return f + rng.normal(size=len(f))


def group(frame, labels, by, loss, *, edges=None, noise=0.0, rng=None):
    """One partition, by pandas."""
    features = as_features(by, edges=edges)
    keys = {one.name: one.codes(pa.array(frame[one.name], from_pandas=True)).to_pandas() for one in features}
    bag = pd.DataFrame(keys).groupby([one.name for one in features], dropna=False, sort=True).ngroup().to_numpy()
    T = loss.statistic(labels)
    totals = np.zeros((bag.max() + 1, loss.targets))
    np.add.at(totals, bag, T)
    if noise:
        totals += rng.normal(scale=noise, size=totals.shape)
    first = [int(np.argmax(bag == i)) for i in range(len(totals))]
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    return Partition(
        features=features,
        keys=pa.table({one.name: one.codes(rows[one.name]).take(pa.array(first)) for one in features}),
        counts=np.bincount(bag),
        totals=totals,
        variance=noise**2,
    )


def make_release(frame, labels, by, loss, **options):
    return BagTotals(
        partitions=tuple(group(frame, labels, one, loss, **options) for one in by),
        loss=loss,
        guarantee=NoGuarantee(reason="made in a test"),
        seeded=True,
        label="y",
        rows=len(frame),
        mechanism={"name": "group by"},
    )


def in_engine(column, make):
    """The columns that DuckDB makes of a column x by the SQL that ``make`` writes for it, a string or a list."""
    table = TableView.of_arrow(pa.table({"x": column}))
    written = make(column_of(table, "x"))
    named = {f"v{k}": SqlValue(one, None) for k, one in enumerate([written] if isinstance(written, str) else written)}
    return select(table, named).to_arrow(list(named)).columns


@pytest.fixture(params=sorted(LOSSES))
def loss(request):
    return LOSSES[request.param]


@pytest.fixture(scope="session")
def naive():
    """The plain makers of rows, labels and bags."""
    return SimpleNamespace(rows=make_rows, labels=make_labels, group=group, release=make_release, losses=LOSSES)


@pytest.fixture(scope="session")
def engine():
    """What DuckDB makes of a column by the SQL that a function writes for it."""
    return in_engine
