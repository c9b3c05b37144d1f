"""The digest sees values, and nothing but values."""

import datetime as dt
import hashlib
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.privacy.canonical import ColumnDigest
from tacit.privacy.errors import InvalidInput


def digest_of(*batches):
    digest = ColumnDigest(hashlib.sha256)
    for batch in batches:
        digest.update(batch)
    return digest.digest()


def column(values, kind=None):
    return pa.table({"x": pa.array(values, kind)})


COLUMNS = {
    "null": column([None] * 5),
    "bool": column([True, None, False, True, True]),
    "int": column([1, None, -(2**63), 2**63 - 1, 0]),
    "uint64": column([1, None, 2**64 - 1, 2**63, 0], pa.uint64()),
    "float": column([1.5, None, float("nan"), -0.0, float("inf")]),
    "decimal": column([Decimal("1.10"), None, Decimal("2.00"), Decimal(0), Decimal(1)]),
    "text": column(["", None, "ab", "é", "c"]),
    "binary": column([b"", None, b"ab", b"\x00", b"c"]),
    "date": column([dt.date(2020, 1, 1), None, dt.date(1, 1, 1), dt.date(2020, 1, 2), dt.date(2020, 1, 3)]),
    "time": column([dt.time(1), None, dt.time(2, 3, 4, 5), dt.time(0), dt.time(4)]),
    "timestamp": column([dt.datetime(2020, 1, 1, 0, 0, 0, 5), None, dt.datetime(1, 1, 1)] * 2),
    "list": column([[1, None], None, [], [3], [4, 5, 6]]),
    "vectors": column([[1.5, 2.0], None, [3.0, None], [4.0, 5.0], [6.0, 7.0]], pa.list_(pa.float32(), 2)),
    "struct": column([{"a": 1, "b": "x"}, None, {"a": None, "b": ""}, {"a": 2, "b": None}, {"a": 3, "b": "y"}]),
    "dictionary": column(["a", None, "b", "a", "c"]).cast(pa.schema({"x": pa.dictionary(pa.int8(), pa.string())})),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_batching_does_not_matter(name):
    table = COLUMNS[name]
    whole = digest_of(table)
    assert digest_of(*(table.slice(i, 1) for i in range(table.num_rows))) == whole
    assert digest_of(table.slice(0, 2), table.slice(2, 0), table.slice(2)) == whole
    assert digest_of(*table.to_batches()) == whole
    assert digest_of(pa.concat_tables([table.slice(0, 3), table.slice(3)])) == whole


@pytest.mark.parametrize("name", COLUMNS)
def test_a_missing_row_changes_the_digest(name):
    table = COLUMNS[name]
    assert digest_of(table.slice(0, 4)) != digest_of(table)
    assert digest_of(table.slice(1)) != digest_of(table)


EQUAL = {
    "integer width": [column([1, -2, None], t) for t in (pa.int8(), pa.int16(), pa.int64())]
    + [column([1, -2, None], pa.int32())],
    "unsigned": [column([1, 2], pa.uint64()), column([1, 2], pa.int8())],
    "float width": [
        column([1.5, -2.0], pa.float32()),
        column([1.5, -2.0]),
        column([1.5, -2.0], pa.float16()),
    ],
    "zero": [column([0.0]), column([-0.0])],
    "nan": [
        column(np.array([0x7FF8000000000000], "u8").view("f8")),
        column(np.array([0xFFF0000000000001], "u8").view("f8")),
    ],
    "text": [column(["a", "b"]), column(["a", "b"], pa.large_string()), column(["a", "b"], pa.string_view())],
    "encoding": [column(["a", "b", "a"]), pa.table({"x": pa.array(["a", "b", "a"]).dictionary_encode()})],
    "resolution": [column([dt.datetime(2020, 1, 1)], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")],
    "clock": [column([dt.time(1, 2, 3)], t) for t in (pa.time32("s"), pa.time32("ms"), pa.time64("ns"))],
    "date width": [column([dt.date(2020, 1, 1)], pa.date32()), column([dt.date(2020, 1, 1)], pa.date64())],
    "list width": [
        column([[1], [2]]),
        column([[1], [2]], pa.large_list(pa.int8())),
        column([[1], [2]], pa.list_(pa.int64(), 1)),
    ],
    "hidden under null": [
        column(["a", None]),
        pa.table(
            {
                "x": pa.StringArray.from_buffers(
                    2, pa.py_buffer(np.array([0, 1, 3], "i4")), pa.py_buffer(b"axx"), pa.py_buffer(b"\x01")
                )
            }
        ),
    ],
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_values_have_equal_digests(name):
    assert len({digest_of(table) for table in EQUAL[name]}) == 1


DIFFERENT = {
    "null and zero": [column([0, 1]), column([None, 1])],
    "null and empty": [column([""]), column([None], pa.string())],
    "null and nan": [column([float("nan")]), column([None], pa.float64())],
    "kinds": [column([1]), column([1.0]), column([True]), column(["1"]), column([b"1"])],
    "wrapped": [column([-1], pa.int64()), column([2**64 - 1], pa.uint64())],
    "text borders": [column(["ab", "c"]), column(["a", "bc"]), column(["abc", ""]), column(["abc"])],
    "list borders": [column([[1, 2], []]), column([[1], [2]]), column([[1, 2]]), column([[1, 2], None])],
    "order": [column([1, 2]), column([2, 1])],
    "names": [column([1]), pa.table({"y": [1]})],
    "columns": [
        pa.table({"x": [1], "y": [2]}),
        pa.table({"x": [2], "y": [1]}),
        column([1]),
        pa.table({"y": [2], "x": [1]}),
    ],
    "struct names": [column([{"a": 1}]), column([{"b": 1}]), column([{"a": 1, "b": None}])],
    "empty": [column([], pa.int64()), column([], pa.string()), pa.table({"y": pa.array([], pa.int64())})],
    "zone": [
        column([dt.datetime(2020, 1, 1)], pa.timestamp("us")),
        column([dt.datetime(2020, 1, 1)], pa.timestamp("us", "UTC")),
    ],
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_values_have_different_digests(name):
    tables = DIFFERENT[name]
    assert len({digest_of(table) for table in tables}) == len(tables)


CELLS = st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=4)


@given(CELLS, CELLS)
def test_digests_are_equal_exactly_when_the_values_are(first, second):
    same = digest_of(column(first, pa.string())) == digest_of(column(second, pa.string()))
    assert same == (first == second)


def test_a_snapshot_is_the_digest_of_the_rows_so_far():
    digest = ColumnDigest(hashlib.sha256)
    digest.update(COLUMNS["list"].slice(0, 2))
    snapshot = digest.copy()
    digest.update(COLUMNS["list"].slice(2))
    assert snapshot.digest() == digest_of(COLUMNS["list"].slice(0, 2))
    assert digest.digest() == digest_of(COLUMNS["list"])


@pytest.mark.parametrize(
    ("batches", "sentence"),
    [
        ([column([1]), column(["a"])], r"columns x \(int\), got x \(text\)"),
        ([column([[1]]), column([["a"]])], r"x \(list of int\), got x \(list of text\)"),
        ([column([1]), pa.table({"y": [1]})], "got y"),
        ([pa.table([[1], [2]], names=["x", "x"])], "different names, got x, x"),
        ([column([[("a", 1)]], pa.map_(pa.string(), pa.int64()))], "have no canonical bytes"),
    ],
)
def test_batches_that_do_not_fit_are_refused(batches, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        digest_of(*batches)
