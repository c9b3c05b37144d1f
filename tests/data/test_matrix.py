import decimal

import numpy as np
import pyarrow as pa
import pytest

from tacit.data import label_column, numeric_matrix, one_hot_matrix
from tacit.privacy.errors import InvalidInput

ROWS = pa.table(
    {
        "i": pa.array([1, None, 3], pa.int32()),
        "f": [0.5, 1.5, None],
        "b": [True, False, None],
        "d": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal(2)]),
        "s": ["x", None, "w"],
    }
)
NAN = float("nan")


def test_numeric_matrix():
    wanted = [[0.5, 1, 1, 1.5], [1.5, NAN, 0, NAN], [NAN, 3, NAN, 2]]
    np.testing.assert_array_equal(numeric_matrix(ROWS, columns=["f", "i", "b", "d"]), wanted)


@pytest.mark.parametrize("column", [[[1], [2]], [{"x": 1}, {"x": 2}]])
def test_lists_and_structs_are_no_features(column):
    with pytest.raises(InvalidInput, match=r"'a' is .*, neither numbers nor text"):
        one_hot_matrix(pa.table({"a": column}), columns=["a"])


def test_matrix_of_no_columns_has_the_rows():
    assert numeric_matrix(ROWS, columns=[]).shape == (3, 0)


def test_decimals_are_the_nearest_numbers():
    rows = pa.table({"d": [decimal.Decimal("0.3"), decimal.Decimal("0.7")]})
    assert numeric_matrix(rows, columns=["d"]).ravel().tolist() == [0.3, 0.7]
    assert label_column(rows, "d").tolist() == [0.3, 0.7]


def test_text_is_refused():
    with pytest.raises(InvalidInput, match=r"^column 's' is string, not numbers; leave it out or encode it one-hot$"):
        numeric_matrix(ROWS, columns=["i", "s"])


def test_unknown_column():
    with pytest.raises(InvalidInput, match=r"^columns names no column 'z'"):
        numeric_matrix(ROWS, columns=["z"])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_one_hot_matrix(kind):
    rows = ROWS.set_column(4, "s", ROWS["s"].cast(kind))
    encoded = one_hot_matrix(rows, columns=["s", "i"])
    assert encoded.names == ("s=w", "s=x", "i")
    np.testing.assert_array_equal(encoded.values, [[0, 1, 1], [0, 0, NAN], [1, 0, 3]])


def test_identifiers_are_refused():
    rows = pa.table({"id": [str(i) for i in range(11)]})
    assert one_hot_matrix(rows, columns=["id"], most_values=11).values.shape == (11, 11)
    with pytest.raises(InvalidInput, match=r"^column 'id' has 11 values, more than 10; leave it out or hash it"):
        one_hot_matrix(rows, columns=["id"], most_values=10)
