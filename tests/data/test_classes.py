import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.data.classes import Classes, as_column
from tacit.privacy import InvalidInput


def there_and_back(labels, classes=None):
    """Labels as codes, and codes as labels."""
    coding = Classes.of(labels, declared=classes)
    return coding.decode(coding.encode(labels))


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", "a"],
        [True, False, True],
        [3, 1, 3],
        np.array([3, 1, 3], dtype=np.uint8),
        np.array(["a", "b", "a"]),
        pd.Series(["x", "y", "x"], dtype="category"),
        pa.chunked_array([["a"], ["b", "a"]]),
        np.array([3, 1, 3], dtype=">i4"),
        np.array([0.5, 1, 0.5], dtype=np.float16),
        [Decimal("0.50"), Decimal("2"), Decimal("0.50")],
        pa.array(["a", "b", "a"], pa.string_view()),
    ],
    ids=[
        "text",
        "boolean",
        "integer",
        "uint8",
        "numpy text",
        "category",
        "arrow",
        "swapped",
        "half",
        "decimal",
        "view",
    ],
)
def test_any_type_comes_back_as_it_was(labels):
    expected = labels.to_pylist() if hasattr(labels, "to_pylist") else list(labels)
    assert there_and_back(labels).to_pylist() == expected
    assert not Classes.of(labels).declared


def test_minus_zero_is_zero():
    """Rounding makes it: one class, not two that are equal."""
    assert Classes.of([-0.0, 0.0, 1.5]).values == (0.0, 1.5)


@pytest.mark.parametrize("labels", [["a", None, "b"], pd.Series(["a", np.nan, "b"]), [1.0, math.nan, 0.0]])
def test_missing_labels_stay_missing(labels):
    assert there_and_back(labels).is_null().to_pylist() == [False, True, False]


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        (["a", "a"], None, "classes must be declared, two or more, where the label has one class"),
        (["a", "c"], ["a", "b"], "labels must be among the declared classes"),
        ([1, "a"], None, "labels must be of one type"),
        ([1, 2], ["a", "b"], "labels must be of the classes' type"),
        (["a", "b"], ["a", "a"], "classes must be different"),
        (["a", "b"], ["a", "b", None], "classes must not be missing"),
        ([1, 2**63], None, "integers below 2\\^63"),
    ],
)
def test_bad_labels(labels, classes, message):
    with pytest.raises(InvalidInput, match=message):
        there_and_back(labels, classes)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"y": [1, 0]}),
        pl.DataFrame({"y": [1, 0]}),
        pa.table({"y": [1, 0]}),
        pa.record_batch({"y": [1, 0]}),
        np.array([[1], [0]]),
    ],
    ids=["pandas", "polars", "table", "batch", "array"],
)
def test_a_table_of_one_column_is_that_column(table):
    assert as_column(table).to_pylist() == [1, 0]


def test_a_decimal_is_the_nearest_number():
    assert as_column([Decimal("0.3"), None, Decimal("12345678.9")]).to_pylist() == [0.3, None, 12345678.9]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (pd.DataFrame({"y": [0], "z": [1]}), "labels must be one column, got a table of 2: take one of them"),
        (np.array([[0, 1]]), r"labels must be one value per row, got shape \(1, 2\)"),
        ("abc", "labels must be a column, such as a list or a series, got str"),
        (None, "such as a list or a series, got NoneType"),
        ({"a", "b"}, "such as a list or a series, got set"),
        ([Fraction(1, 2)], "labels must be numbers, text or truth values, got others"),
        (np.array([1j]), "labels must be numbers, text or truth values, got complex128"),
        ([datetime.date(2020, 1, 1)], r"got date32\[day\]; convert them to text"),
        ([b"a"], "got binary; convert them to text"),
        ([1.0, math.inf], "labels must be finite"),
        ([Decimal("0.1"), Decimal("0.10000000000000000001")], "labels must be different as numbers of 64 bits"),
    ],
)
def test_what_is_no_column_of_labels_is_refused_in_one_sentence(labels, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        as_column(labels)
    assert "\n" not in str(caught.value)


def test_codes_follow_the_declared_order():
    classes = Classes.of(["low"], declared=["low", "mid", "high"])
    assert classes.encode(["high", "low"]).tolist() == [2, 0]


@pytest.mark.parametrize("labels", [[[1], [2]], [{"x": 1}, {"x": 2}]])
def test_lists_and_structs_are_no_labels(labels):
    with pytest.raises(InvalidInput, match=r"labels must be one value per row, got (list|struct)"):
        there_and_back(pa.array(labels))
