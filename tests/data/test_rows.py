"""Labels in row order, or one sentence that says why they cannot serve."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.data import as_ibis, label_column, open_table, read_rows
from tacit.privacy.errors import InvalidInput

NAN, INF = float("nan"), float("inf")


def both(rows):
    """The same labels from a lazy table and from rows in memory."""
    return [as_ibis(open_table(rows)), rows]


def csv(tmp_path, labels):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    return as_ibis(open_table(path))


def test_read_rows_keeps_the_wanted_order_of_columns():
    table = as_ibis(open_table(pa.table({"a": [1, 2], "b": [3, 4], "c": [5, 6]})))
    assert read_rows(table, columns=["c", "a"]).to_pydict() == {"c": [5, 6], "a": [1, 2]}
    assert read_rows(table).column_names == ["a", "b", "c"]


def test_read_rows_names_an_unknown_column():
    with pytest.raises(InvalidInput, match=r"^columns names no column 'd'; the columns are a$"):
        read_rows(open_table(pa.table({"a": [1]})), columns=["d"])


GOOD = {
    "int64": (pa.array([2, 0, 1]), np.int64),
    "uint8": (pa.array([2, 0, 1], pa.uint8()), np.int64),
    "float64": (pa.array([0.5, 0.0, 1.0]), np.float64),
    "decimal": (pa.array([decimal.Decimal("0.5"), decimal.Decimal(2)]), np.float64),
    "decimals without decimals": (pa.array([decimal.Decimal(-1), decimal.Decimal(2)], pa.decimal128(38, 0)), np.int64),
    "bool": (pa.array([True, False]), np.bool_),
    "string": (pa.array(["b", "a", "b"]), np.str_),
    "large string": (pa.array(["b", "a"], pa.large_string()), np.str_),
    "string view": (pa.array(["b", "a"], pa.string_view()), np.str_),
    "categories": (pa.array(["b", "a", "b"]).dictionary_encode(), np.str_),
    "numbers as text": (pa.array(["1", "2", "007"]), np.str_),
    "codes as text": (pa.array(["1st", "2nd", "E11"]), np.str_),
}


@pytest.mark.parametrize("case", GOOD)
def test_good_labels(case):
    column, kind = GOOD[case]
    for table in both(pa.table({"y": column})):
        labels = label_column(table, "y")
        assert labels.dtype.type is kind
        assert labels.tolist() == [
            type(label)(wanted) for label, wanted in zip(labels.tolist(), column.to_pylist(), strict=True)
        ]


def test_labels_and_features_line_up_in_a_file_of_many_row_groups(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 200_000)
    pa.parquet.write_table(pa.table({"x": labels * 10, "y": labels}), tmp_path / "t.parquet", row_group_size=2_048)
    table = as_ibis(open_table(tmp_path / "t.parquet"))
    features = read_rows(table, columns=["x"])["x"].to_numpy()
    np.testing.assert_array_equal(label_column(table, "y") * 10, features)


BAD = {
    "null": (pa.array([1, None, 2, None]), r"has 2 missing labels of 4, the first in row 2 \(None\); "),
    "NaN": (pa.array([1.0, 2.0, NAN]), r"has 1 missing label of 3, the first in row 3 \(nan\); "),
    "infinite": (pa.array([INF, 2.0]), r"has 1 missing label of 2, the first in row 1 \(inf\); "),
    "null text": (pa.array(["a", None]), r"has 1 missing label of 2, the first in row 2 \(None\)"),
    "a word for missing": (pa.array(["a", "NaN"]), r"has 1 missing label of 2, the first in row 2 \(NaN\)"),
    "empty text": (pa.array(["a", "", "b"]), r"has 1 missing label of 3"),
    "only nulls": (pa.array([None, None], pa.int64()), r"has 2 missing labels of 2"),
    "one class": (pa.array([7, 7]), r"has one value, 7, in all rows; labels need at least 2$"),
    "one word": (pa.array(["no", "no"]), r"has one value, 'no', in all rows; labels need at least 2$"),
    "dates": (pa.array([0, 1], pa.date32()), r"must have numbers, text or truth values, got date32"),
    "lists": (pa.array([[0], [1]]), r"must have numbers, text or truth values, got list"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_labels_are_one_sentence(case):
    column, sentence = BAD[case]
    for table in both(pa.table({"y": column})):
        with pytest.raises(InvalidInput, match=f"^label column 'y' {sentence}") as caught:
            label_column(table, "y")
        assert "\n" not in str(caught.value)


def test_integers_beyond_64_bits_are_text_in_a_table_and_refused_in_bare_rows():
    in_table, bare = both(pa.table({"y": pa.array([0, 2**64 - 1], pa.uint64())}))
    assert label_column(in_table, "y").tolist() == ["0", "18446744073709551615"]
    with pytest.raises(InvalidInput, match=r"^label column 'y' has numbers beyond 64 bits; convert them to text$"):
        label_column(bare, "y")


CSV = {
    "missing": (["1", "", "2"], r"has 1 missing .* row 2"),
    "NA": (["a", "b", "NA"], r"has 1 missing .* row 3"),
    "nan among numbers": (["1", "nan"], r"has 1 missing .* row 2"),
    "one class": (["1", "1"], r"has one value, 1, in all rows"),
    "a word for a gap": (["1", "2", "unknown"], r"has 1 missing label of 3, the first in row 3"),
    "a mark": (["0", "1", "?"], r"has 1 missing label of 3, the first in row 3"),
}


@pytest.mark.parametrize("case", CSV)
def test_bad_labels_of_a_csv_file(tmp_path, case):
    labels, sentence = CSV[case]
    with pytest.raises(InvalidInput, match=f"^label column 'y' {sentence}"):
        label_column(csv(tmp_path, labels), "y")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_missing_labels_of_frames(make):
    with pytest.raises(InvalidInput, match=r"has 1 missing .* row 2"):
        label_column(open_table(make({"y": ["a", None, "b"]})), "y")


def test_missing_column_suggests_the_nearest():
    for table in both(pa.table({"x": [1], "survived": [1]})):
        with pytest.raises(InvalidInput, match=r"^label names no column 'survive'; did you mean 'survived'\?"):
            label_column(table, "survive")


def test_a_constant_passes_where_it_may():
    assert label_column(pa.table({"y": [1.5, 1.5]}), "y", least_classes=1).tolist() == [1.5, 1.5]


def test_too_few_classes():
    with pytest.raises(InvalidInput, match=r"^label column 'y' has 2 values; labels need at least 3$"):
        label_column(pa.table({"y": [0, 1]}), "y", least_classes=3)


def test_codes_and_words_are_classes_together(tmp_path):
    assert label_column(csv(tmp_path, ["250", "E11"]), "y").tolist() == ["250", "E11"]
    assert label_column(csv(tmp_path, ["1", "2", "3+"]), "y").tolist() == ["1", "2", "3+"]


@pytest.mark.parametrize("columns", [[], ["y", "y"]])
def test_columns_are_named_once_and_at_least_one(columns):
    with pytest.raises(InvalidInput, match="columns must be one name or more, each once"):
        read_rows(open_table(pa.table({"x": [1], "y": [2]})), columns=columns)
