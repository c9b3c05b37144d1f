import decimal

import numpy as np
import pyarrow as pa
import pytest

from tacit.data import label_column, numeric_matrix
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


def test_matrix_of_no_columns_has_the_rows():
    assert numeric_matrix(ROWS, columns=[]).shape == (3, 0)


def test_decimals_are_the_nearest_numbers():
    rows = pa.table({"d": [decimal.Decimal("0.3"), decimal.Decimal("0.7")]})
    assert numeric_matrix(rows, columns=["d"]).ravel().tolist() == [0.3, 0.7]
    assert label_column(rows, "d").tolist() == [0.3, 0.7]


def test_text_is_refused():
    with pytest.raises(InvalidInput, match=r"^column 's' is string, not numbers; leave it out, or encode it first$"):
        numeric_matrix(ROWS, columns=["i", "s"])


def test_unknown_column():
    with pytest.raises(InvalidInput, match=r"^columns names no column 'z'"):
        numeric_matrix(ROWS, columns=["z"])
