"""The same values are the same data, whatever holds them."""

from decimal import Decimal

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.data import as_ibis, open_table
from tacit.privacy.errors import InvalidInput
from tacit.privacy.ledger.fingerprint import fingerprints

KEY = b"a secret of the ledger"


def one(data, *, secret=KEY):
    prints = fingerprints(data, secret=secret)
    return prints[max(prints)]


INTEGERS = [3, 1, 2, 250]
COLUMN = {
    "list": INTEGERS,
    "tuple": tuple(INTEGERS),
    "int8": np.array(INTEGERS, dtype=np.uint8),
    "int64": np.array(INTEGERS),
    "big-endian": np.array(INTEGERS, dtype=">i4"),
    "strided": np.repeat(INTEGERS, 2)[::2],
    "one column": np.array(INTEGERS)[:, None],
    "series": pd.Series(INTEGERS, index=[9, 8, 7, 6], name="y"),
    "nullable series": pd.Series(INTEGERS, dtype="Int16"),
    "frame": pd.DataFrame({"any name": INTEGERS}),
    "polars series": pl.Series(INTEGERS),
    "polars frame": pl.DataFrame({"x": INTEGERS}),
    "array": pa.array(INTEGERS),
    "chunked array": pa.chunked_array([INTEGERS[:1], INTEGERS[1:]]),
    "table": pa.table({"x": INTEGERS}),
    "batch": pa.RecordBatch.from_pydict({"x": INTEGERS}),
    "mapping": {"x": INTEGERS},
    "ibis": ibis.memtable(pd.DataFrame({"x": INTEGERS})),
}


@pytest.mark.parametrize("name", COLUMN)
def test_integers_in_any_container(name):
    assert one(COLUMN[name]) == one(INTEGERS)


def test_a_reader_is_read_once():
    batches = [pa.RecordBatch.from_pydict({"x": [value]}) for value in INTEGERS]
    assert one(pa.RecordBatchReader.from_batches(batches[0].schema, batches)) == one(INTEGERS)


@pytest.mark.parametrize(
    "data",
    [
        ["a", None, "b"],
        np.array(["a", None, "b"], dtype=object),
        np.array(["a", np.nan, "b"], dtype=object),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="category"),
        pl.Series(["a", None, "b"]),
        pl.Series(["a", None, "b"], dtype=pl.Categorical),
        pa.array(["a", None, "b"]).dictionary_encode(),
    ],
)
def test_texts_in_any_container(data):
    assert one(data) == one(["a", None, "b"])


@pytest.mark.parametrize(
    "data",
    [
        [1.5, None, 0.0],
        [1.5, float("nan"), -0.0],
        np.array([1.5, np.nan, 0.0], dtype=np.float32),
        pd.Series([1.5, None, 0.0]),
        pd.Series([1.5, None, 0.0], dtype="Float64"),
        pl.Series([1.5, float("nan"), 0.0]),
        pl.Series([1.5, None, 0.0]),
        pa.array([1.5, float("nan"), 0.0]),
    ],
)
def test_missing_is_missing(data):
    assert one(data) == one([1.5, None, 0.0])
    assert one([1.5, 0.0, 0.0]) != one(data)  # control


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_a_file_is_the_frame_it_was_written_from(tmp_path, suffix):
    frame = pd.DataFrame({"x": [1, 2, 3], "y": ["a", "b", None], "z": [0.5, None, 2.0]})
    file = tmp_path / f"data.{suffix}"
    match suffix:
        case "csv":
            frame.to_csv(file, index=False)
        case "parquet":
            frame.to_parquet(file)
        case "arrow":
            frame.to_feather(file)
    assert one(as_ibis(open_table(file))) == one(frame)
    assert one(as_ibis(open_table(file)).select("x", "z")) == one(frame[["x", "z"]])
    assert one(as_ibis(open_table(file)).select("z", "x")) != one(frame[["x", "z"]])


@pytest.mark.parametrize(
    "data",
    [
        [0, 1, 1, 0, 1],
        [1, 0, 1],
        [0, 1],
        [0.0, 1.0, 1.5],
        ["no", "yes", "yes"],
        ["0", "1", "1x"],
        [[0], [1], [1]],
        [0, 1, None],
        np.array([0, 1, 1], dtype="datetime64[s]"),
    ],
)
def test_other_data_have_other_fingerprints(data):
    assert one(data) != one([0, 1, 1])


@pytest.mark.parametrize(
    "data",
    [
        [0.0, 1.0, None],
        np.array([-0.0, 1.0, np.nan], dtype=np.float16),
        pd.Series([0, 1, None]),
        [False, True, None],
        pd.Series([False, True, None], dtype="boolean"),
        [Decimal("0.00"), Decimal(1), None],
        pa.array([Decimal(0), Decimal(1), None], pa.decimal128(38, 0)),
        ["0", "1", None],
        ["0.0", "1.0", None],
        ["0", " 1 ", ""],
        [" false", "true", ""],
        ["false", "true", None],
        pl.Series(["False", "True", None]),
        pl.Series(["0", "1", None], dtype=pl.Categorical),
        pa.array(["0", "1", None], pa.string_view()),
    ],
)
def test_equal_numbers_are_equal_whatever_their_type(data):
    assert one(data) == one([0, 1, None])
    assert one([0, 2, None]) != one(data)  # control


@pytest.mark.parametrize(
    "data", [[Decimal("0.30"), Decimal("-1.5")], ["0.3", "-1.5"], np.array([0.3, -1.5]), ["3e-1", "-1.50"]]
)
def test_so_are_fractions(data):
    assert one(data) == one([0.3, -1.5])
    assert one([0.30000000000000004, -1.5]) != one(data)  # control: the next float


def test_integers_beyond_the_floats_are_told_apart():
    assert one([2**53, 0]) == one([2.0**53, 0.0])
    assert one([2**53 + 1, 0]) != one([2.0**53, 0.0])
    assert one([str(2**53 + 1), "0"]) == one([2**53 + 1, 0]) != one([str(2**53), "0"])
    assert one(np.array([2**64 - 1], dtype=np.uint64)) != one([-1])


def test_columns_without_a_value_are_equal():
    nothing = [pa.nulls(2), pa.nulls(2, pa.string()), pa.nulls(2, pa.float64()), pa.nulls(2, pa.int8())]
    assert len({one(column) for column in nothing}) == 1
    assert one(pa.nulls(3)) != one(pa.nulls(2))  # control


@pytest.mark.parametrize("later", [[0.5], ["a"], ["0.5"], [Decimal("0.5")]])
def test_a_later_row_may_change_the_type_of_the_column(later):
    longer = pa.array([type(later[0])(value) for value in INTEGERS] + later)
    at_once = fingerprints(longer, secret=KEY, at=[4])
    one_by_one = fingerprints(pa.chunked_array([longer.slice(i, 1) for i in range(5)]), secret=KEY, at=[4])
    assert at_once == one_by_one
    assert at_once[4] == one(INTEGERS)
    assert at_once[5] != one([*INTEGERS, 0])


def test_the_key_matters():
    assert one([0, 1, 1], secret=b"another") != one([0, 1, 1])


def test_the_first_rows_have_the_fingerprint_they_had_alone():
    data = list(range(1000))
    prints = fingerprints(
        pa.Table.from_batches([pa.RecordBatch.from_pydict({"x": data[i : i + 7]}) for i in range(0, 1000, 7)]),
        secret=KEY,
        at=[1, 6, 7, 8, 500, 999, 1000, 1001, 5000],
    )
    assert sorted(prints) == [1, 6, 7, 8, 500, 999, 1000]
    for count, found in prints.items():
        assert found == one(data[:count])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([], "at least one row"),
        (pd.DataFrame(), "at least one row"),
        (np.empty((0, 3)), "at least one row"),
        (pa.table({"x": pa.array([], pa.int64())}), "at least one row"),
        ([1, "a"], "columns of one type each, got list"),
        ("adult.csv", "open it with tacit.data.open_table"),
        (5, "columns of one type each, got int"),
        (None, "columns of one type each, got NoneType"),
        (np.zeros((2, 2, 2)), "columns of one type each"),
        ([object()], "columns of one type each"),
        ({"x": [1, 2], "y": [1]}, "columns of one type each"),
    ],
)
def test_what_is_not_a_table_is_refused_in_one_sentence(data, sentence):
    with pytest.raises(InvalidInput, match=sentence) as caught:
        one(data)
    assert "\n" not in str(caught.value)
