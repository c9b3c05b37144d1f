"""Keys, buckets, and which bag a row is in: the same in memory as in an engine."""

import datetime

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacit.bags.partition import KeyColumn, Partition, RandomBags, as_features
from tacit.privacy import InvalidInput

EDGES = (-1.0, 0.0, 0.5, 3.0)
NUMBERS = [-5.0, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 2.999, 3.0, 1e300, None, float("nan"), float("inf"), -float("inf")]


def partition(keys, *, edges=None, **given):
    table = pa.table(keys)
    sizes = np.ones(table.num_rows, dtype=np.int64)
    features = tuple(KeyColumn(name, edges=(edges or {}).get(name)) for name in keys)
    return Partition(features=features, keys=table, counts=sizes, totals=np.zeros((len(sizes), 1)), **given)


def test_a_bucket_is_half_open():
    found = KeyColumn("x", edges=EDGES).codes(pa.array(NUMBERS)).to_pylist()
    assert found == [0, 1, 1, 2, 2, 2, 3, 3, 4, 4, None, None, 4, 0]


@pytest.mark.parametrize("edges", [EDGES, (0.0,), (0.0, 0.5)])
@pytest.mark.parametrize("kind", ["float64", "float32", "int64"])
def test_an_engine_makes_the_same_keys_as_memory(edges, kind, engine):
    values = [v if v is None or kind != "int64" else int(np.nan_to_num(v, posinf=9, neginf=-9) // 1) for v in NUMBERS]
    values = [v if v is None or abs(v) < 1e18 else 7 for v in values] if kind == "int64" else values
    column = pa.array(values, pa.from_numpy_dtype(kind))
    feature = KeyColumn("x", edges=edges)
    assert engine(column, lambda x: feature.in_sql(x).text)[0].to_pylist() == feature.codes(column).to_pylist()


@pytest.mark.parametrize("edges", [EDGES, (0.0, 0.5)])
def test_buckets_are_those_of_ibis_with_open_extremes(edges, engine):
    column = pa.array(sorted(v for v in NUMBERS if v is not None and v == v), pa.float64())
    table = ibis.memtable(pa.table({"x": column}))

    def bucket(*, close_extreme):
        made = table.x.bucket(edges, closed="left", close_extreme=close_extreme, include_under=True, include_over=True)
        return table.select("x", key=made.cast("int64")).order_by("x").to_pyarrow()["key"].to_pylist()

    ours = engine(column, lambda x: KeyColumn("x", edges=edges).in_sql(x).text)[0].to_pylist()
    assert ours == bucket(close_extreme=False)
    assert ours != bucket(close_extreme=True), "control: Ibis's default moves the last edge"


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["b", None, "a"]),
        pa.array(["b", None, "a"]).dictionary_encode(),
        pa.array(["b", None], pa.large_string()),
        pa.array([1, None, 3], pa.int8()),
        pa.array([0.0, -0.0, None, float("nan")]),
        pa.array([True, None]),
        pa.array([datetime.date(2020, 1, 2), None]),
    ],
    ids=["text", "dictionary", "large_text", "int8", "float", "bool", "date"],
)
def test_values_are_keys_in_memory_and_in_an_engine(column, engine):
    feature = KeyColumn("x")
    (found,) = engine(column, lambda x: feature.in_sql(x).text)
    assert KeyColumn("x").codes(found).to_pylist() == feature.codes(column).to_pylist()


def test_minus_zero_and_zero_are_one_key():
    found = KeyColumn("x").codes(pa.array([0.0, -0.0]))
    assert [str(v) for v in found.to_pylist()] == ["0.0", "0.0"]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ((), "edges of 'x' must be finite numbers, ascending"),
        ((1, 1), "ascending and different, got [1, 1]"),
        ((2, 1), "ascending and different, got [2, 1]"),
        ((0, float("nan")), "must be finite numbers"),
        ((0, float("inf")), "must be finite numbers"),
    ],
    ids=["none", "equal", "falling", "nan", "infinite"],
)
def test_bad_edges_are_refused(edges, message):
    with pytest.raises(InvalidInput) as caught:
        KeyColumn("x", edges=edges)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["", "bag_count", "BAG_TOTAL_0"])
def test_names_of_the_file_are_refused(name):
    with pytest.raises(InvalidInput, match="must not name a column"):
        KeyColumn(name)


def test_feature_sets_are_checked():
    with pytest.raises(InvalidInput, match="at least one column"):
        as_features(())
    with pytest.raises(InvalidInput, match="different columns"):
        as_features(("a", "a"))
    with pytest.raises(InvalidInput, match="given without edges"):
        KeyColumn("a", edges=(1.0,), values=(1,))


def test_text_cannot_be_cut_at_edges(engine):
    with pytest.raises(InvalidInput, match="must have numbers to be cut at edges"):
        KeyColumn("x", edges=(1.0,)).codes(pa.array(["a"]))
    with pytest.raises(InvalidInput, match="must have numbers to be cut at edges"):
        engine(["a"], KeyColumn("x", edges=(1.0,)).in_sql)
    with pytest.raises(InvalidInput, match="cast it to text"):
        KeyColumn("x").codes(pa.array([[1]]))


def test_rows_find_their_bags():
    bags = partition({"a": pa.array([None, "x", "x"]), "b": pa.array([1, 0, None], pa.int64())}, edges={"b": (0.0,)})
    rows = pa.table({"b": [5.0, -1.0, None, 5.0], "a": [None, "x", "x", "x"], "c": [0, 0, 0, 0]})
    assert bags.assign(rows).tolist() == [0, 1, 2, -1]
    assert bags.assign(rows.to_pandas()).tolist() == [0, 1, 2, -1]
    assert bags.assign(ibis.memtable(rows)).tolist() == [0, 1, 2, -1]


def test_random_rows_find_the_bags_of_a_dictionary():
    rng = np.random.default_rng(0)
    rows = pa.table({name: rng.integers(0, 9, 5000) for name in "abc"})
    found = {key: i for i, key in enumerate({tuple(row.values()) for row in rows.slice(0, 300).to_pylist()})}
    bags = partition({name: [key[j] for key in found] for j, name in enumerate("abc")})
    assert bags.assign(rows).tolist() == [found.get(tuple(row.values()), -1) for row in rows.to_pylist()]


def test_rows_of_no_key_are_in_the_other_bag():
    bags = partition({"a": pa.array([3, None, None], pa.int64())}, other=1)
    assert bags.assign(pa.table({"a": [3, 8, None]})).tolist() == [0, 1, 2], "a NULL key is not the other bag"


def test_whole_numbers_held_as_floats_are_the_same_keys():
    bags = partition({"a": pa.array([1, None], pa.int64())})
    assert bags.assign(pd.DataFrame({"a": [1.0, np.nan, 2.0]})).tolist() == [0, 1, -1]
    with pytest.raises(InvalidInput, match="column 'a' must be of type int64"):
        bags.assign(pd.DataFrame({"a": [1.5]}))
    with pytest.raises(InvalidInput, match="column 'a' must be of type int64 as in the bags' keys, got string"):
        bags.assign(pd.DataFrame({"a": ["x"]}))


def test_features_that_lack_a_key_are_refused():
    with pytest.raises(InvalidInput, match="data names no column 'abc'; did you mean 'abd'"):
        partition({"abc": [1]}).assign(pa.table({"abd": [1]}))


def test_a_partition_without_bags_holds_no_row():
    bags = partition({"a": pa.array([], pa.int64())})
    assert bags.assign(pa.table({"a": [1, 2]})).tolist() == [-1, -1]


def test_shapes_are_checked():
    with pytest.raises(InvalidInput, match="one row for each of 2 bags"):
        Partition(features=(KeyColumn("a"),), keys=pa.table({"a": [1, 2]}), counts=np.ones(1), totals=np.zeros((2, 1)))
    with pytest.raises(InvalidInput, match="keys must have the columns b, got a"):
        Partition(features=(KeyColumn("b"),), keys=pa.table({"a": [1]}), counts=np.ones(1), totals=np.zeros((1, 1)))
    with pytest.raises(InvalidInput, match="other must be the number"):
        partition({"a": [1]}, other=1)
    with pytest.raises(InvalidInput, match="one row per bag"):
        RandomBags(rows=np.zeros((2, 3), dtype=np.int64), labels=np.zeros((1, 1)))
    with pytest.raises(InvalidInput, match="numbers from 0"):
        RandomBags(rows=np.array([[-1]]), labels=np.zeros((1, 1)))


def test_means_of_empty_bags_are_zero():
    bags = Partition(
        features=(KeyColumn("a"),),
        keys=pa.table({"a": [1, 2]}),
        counts=np.array([0.0, 2.0]),
        totals=np.array([[5.0], [1.0]]),
    )
    assert bags.means.tolist() == [[0.0], [0.5]]
