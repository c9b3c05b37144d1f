"""Submissions as CSV: any order, any pieces, any quoting; each mistake is one short sentence."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.privacy.errors import InvalidInput
from tacit.server.errors import TooLarge
from tacit.server.prediction_file import PredictionReader

COLUMNS = ("id", "prediction")
WIDE = ("id", "class_0", "class_1", "class_2")


def read(pieces, *, rows=3, columns=COLUMNS, longest=64):
    reader = PredictionReader(columns=columns, index={f"r{row}": row for row in range(rows)}, longest=longest)
    for piece in pieces:
        reader.feed(piece)
    return reader.finish()


def cut(content, places):
    bounds = [0, *sorted(place % (len(content) + 1) for place in places), len(content)]
    return [content[start:stop] for start, stop in itertools.pairwise(bounds)]


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30),
    order=st.randoms(use_true_random=False),
    places=st.lists(st.integers(0, 10**6), max_size=6),
    newline=st.sampled_from(["\n", "\r\n"]),
    quoted=st.booleans(),
    last=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_pieces_order_quotes_and_line_ends_do_not_matter(values, order, places, newline, quoted, last):
    mark = '"' if quoted else ""
    lines = [f"{mark}r{row}{mark},{mark}{value!r}{mark}" for row, value in enumerate(values)]
    order.shuffle(lines)
    content = newline.join(["id,prediction", *lines]) + (newline if last else "")
    assert read(cut(content.encode(), places), rows=len(values)).tolist() == values


@given(
    table=st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=10), places=st.lists(st.integers(0, 10**6))
)
@settings(max_examples=50, deadline=None)
def test_tables(table, places):
    lines = [",".join([f"r{row}", *map(repr, values)]) for row, values in enumerate(table)]
    content = "\n".join([",".join(WIDE), *lines]).encode()
    assert read(cut(content, places), rows=len(table), columns=WIDE).tolist() == [list(values) for values in table]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty; it must have the columns id,prediction"),
        (b"id,p\n", "line 1: the columns must be id,prediction, got 'id,p'"),
        (b"\n\n", "line 1: the columns must be id,prediction, got ''"),
        (b"id,prediction\n", "the file has 0 of 3 rows; the first missing one has id 'r0'"),
        (b"id,prediction\nr0,1\nr2,1\n", "the file has 2 of 3 rows; the first missing one has id 'r1'"),
        (b"id,prediction\nr0,1\nr1,nan\n", "line 3: a prediction must be a finite number, got 'nan'"),
        (b"id,prediction\nr0,1\nr1,-inf\n", "line 3: a prediction must be a finite number, got '-inf'"),
        (b"id,prediction\nr0,1\nr1,1e999\n", "line 3: a prediction must be a finite number, got '1e999'"),
        (b"id,prediction\nr0,one\n", "line 2: a prediction must be a number, got 'one'"),
        (b"id,prediction\nr0,\n", "line 2: a prediction must be a number, got ''"),
        (b"id,prediction\nr0,1_0\n", "line 2: a prediction must be a number, got '1_0'"),
        (b"id,prediction\nr0,0x1p3\n", "line 2: a prediction must be a number, got '0x1p3'"),
        (b"id,prediction\nr0,1\nr0,1\n", "line 3: id 'r0' appears twice"),
        (b"id,prediction\nr9,1\n", "line 2: id 'r9' is not among the features' ids"),
        (b"id,prediction\nr0,1,2\nr1\n", "line 2: there must be 2 cells, got 3"),
        (b"id,prediction\nr0\n", "line 2: there must be 2 cells, got 1"),
        (b"id,prediction\nr0,1\nr1,1\nr2,1\nr3,1\n", "the file must have 3 rows, got more"),
        (b'id,prediction\n"r0,1\n', "line 2: the quotation marks of a cell do not match"),
        (b"id,prediction\rr0,1\rr1,1\rr2,1\r", "line 1: a carriage return must be followed by a line feed"),
        (b"id,prediction\nr0,\xff\n", "the file must be text in UTF-8"),
        (b"\x00\x01\x02", "line 1: the columns must be id,prediction, got '\\x00\\x01\\x02'"),
        (b"id,prediction\nr0," + b"1" * 65 + b"\nr1,1\n", "line 2: a cell must have at most 64 characters"),
    ],
)
def test_each_mistake_is_one_sentence(content, said):
    with pytest.raises(InvalidInput) as whole:
        read([content])
    assert str(whole.value) == said
    with pytest.raises(InvalidInput) as bytewise:
        read([bytes([byte]) for byte in content])
    assert str(bytewise.value) == said


def test_what_was_sent_is_quoted_briefly():
    with pytest.raises(InvalidInput) as refused:
        read([b"id,prediction\nr0,=HYPERLINK(http://example.invalid/steal-everything)\n"])
    assert str(refused.value) == "line 2: a prediction must be a number, got '=HYPERLINK(http://ex'..."


def test_a_line_without_an_end_is_not_collected():
    reader = PredictionReader(columns=COLUMNS, index={"a": 0}, longest=64)
    reader.feed(b"id,prediction\n")
    reader.feed(b"9" * 64)
    reader.feed(b"9" * 64)
    with pytest.raises(TooLarge, match="line 2: a line must not be longer"):
        reader.feed(b"9" * 64)


def test_blank_lines_marks_and_spaces_are_harmless():
    assert read([b"\xef\xbb\xbfid, prediction\n\nr2, 1\n r1 ,+0.5\n\n\nr0,1e-3\n\n"]).tolist() == [0.001, 0.5, 1.0]


def test_fast_and_careful_paths_agree():
    rows = 500
    values = np.random.default_rng(0).standard_normal(rows) * 10.0 ** np.random.default_rng(1).integers(-300, 300, rows)
    plain = "id,prediction\n" + "".join(f"r{row},{value!r}\n" for row, value in enumerate(values.tolist()))
    careful = plain.replace("r0,", '"r0",', 1)
    assert (read([plain.encode()], rows=rows) == values).all()
    assert (read([careful.encode()], rows=rows) == values).all()


def test_ids_that_come_in_order_and_then_do_not():
    assert read([b"id,prediction\nr0,0\nr1,1\n", b"r3,3\nr2,2\n"], rows=4).tolist() == [0, 1, 2, 3]
    with pytest.raises(InvalidInput, match="line 5: id 'r0' appears twice"):
        read([b"id,prediction\nr0,0\nr1,1\n", b"r3,3\n", b"r0,2\n"], rows=4)
