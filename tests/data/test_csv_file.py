"""Delimited text: what is read, as which types, and what is refused with which sentence."""

import datetime
import gzip
import os

import duckdb
import pytest

from tacit.data import as_ibis, csv_file, open_table
from tacit.privacy.errors import InvalidInput


@pytest.fixture(params=["small", "large"], autouse=True)
def size(request, monkeypatch):
    """A small file is read once and kept, a large one is read again: both give the same."""
    if request.param == "large":
        monkeypatch.setattr(csv_file, "_KEPT", -1)
        monkeypatch.setattr(csv_file, "_KEPT_ZIPPED", -1)


@pytest.fixture
def write(tmp_path):
    def write_bytes(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_bytes


def rows_of(path):
    return as_ibis(open_table(path)).to_pyarrow().to_pydict()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_delimiters_and_newlines(write, delimiter, newline):
    content = newline.join([delimiter.join(row) for row in [("a", "y"), ("1", "x"), ("2", "z")]])
    assert rows_of(write(content)) == {"a": [1, 2], "y": ["x", "z"]}


@pytest.mark.parametrize("name", ["t.csv.gz", "t.tsv.gz", "t.csv", "t"])
def test_gzip_is_known_by_its_content(write, name):
    assert rows_of(write(gzip.compress(b"a\ty\n1\tx\n"), name)) == {"a": [1], "y": ["x"]}


def test_quotes_byte_order_mark_and_one_column(write):
    assert rows_of(write(b'\xef\xbb\xbfa,"b, c"\n1,"x, ""y""\nz"\n')) == {"a": [1], "b, c": ['x, "y"\nz']}
    assert rows_of(write("a\n1\n2\n")) == {"a": [1, 2]}


def test_types(write):
    table = rows_of(
        write("i,f,d,t,w,z\n1,1.5,2020-01-31,2020-01-31 10:00:00,Yes,007\n-2,1e3,2020-02-01,2020-02-01 11:00:00,f,08\n")
    )
    assert table["i"] == [1, -2]
    assert table["f"] == [1.5, 1000.0]
    assert table["d"] == [datetime.date(2020, 1, 31), datetime.date(2020, 2, 1)]
    assert table["t"] == [datetime.datetime(2020, 1, 31, 10), datetime.datetime(2020, 2, 1, 11)]
    assert table["w"] == ["Yes", "f"]
    assert table["z"] == ["007", "08"]


def test_words_for_missing_values(write):
    words = ["", "NA", "N/A", "NaN", "nan", "NULL", "null"]
    table = rows_of(write("a,s\n" + "".join(f"{word},{word}\n" for word in words) + "1,None\n"))
    assert table["a"] == [None] * 7 + [1]
    assert table["s"] == [None] * 7 + ["None"]


def test_a_late_word_makes_the_whole_column_text(write):
    """DuckDB's own sample of 20,480 rows would call the column a number and fail at the word."""
    path = write("a,y\n" + "1,1\n" * 50_000 + "1,word\n")
    with pytest.raises(duckdb.ConversionException):
        duckdb.read_csv(str(path)).fetchall()
    labels = rows_of(path)["y"]
    assert labels[0] == "1"
    assert labels[-1] == "word"


@pytest.mark.parametrize(
    "name", ["a[1].csv", "it's.csv", "a b é.csv", *(["*.csv", "a?.csv", 'a"b.csv'] if os.name == "posix" else [])]
)
def test_odd_names_are_not_patterns(write, name):
    for other in ("a1.csv", "ab.csv"):
        write("other\n1\n", other)
    assert rows_of(write("x,y\n1,2\n", name)) == {"x": [1], "y": [2]}


def test_unnamed_column_is_kept(write):
    """What pandas writes for its index."""
    assert open_table(write(",a\n0,5\n1,6\n")).columns == ("column0", "a")


NOT_A_TABLE = {
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "is not a table: it is not text; give a CSV,"),
    "zeros": (bytes(1000), "is not a table: it is not text; give a CSV,"),
    "JSON object": ('{"a": 1, "b": [1, 2]}', "is not a table: it looks like JSON; give"),
    "JSON array": ('[\n  {"a": 1},\n  {"a": 2}\n]', "is not a table: it looks like JSON; give"),
    "a web page": ("<!DOCTYPE html>\n<p>a,b</p>", "is not a table: it looks like markup; give"),
    "white space": ("\n \n\n", "is empty; a table needs a header line and at least one row"),
    "a header alone": ("a,y\n", "has no rows; a table needs at least one"),
    "a header without end": ("a,y", "has no rows; a table needs at least one"),
    "twice the same name": ("x,y,x\n1,2,3\n", "has two columns named 'x'; rename one of them"),
    "names apart by spaces": ("x,y, x\n1,2,3\n", "has two columns named 'x'; rename one of them"),
    "names apart by case": ("x,y,X\n1,2,3\n", "has columns 'x' and 'X', the same but for case"),
    "a long row": (
        "a,y\n1,2\n1,2,3\n",
        r"is not a table: line 3 has 3 fields and the header has 2 \(split by ','\)$",
    ),
    "a short row": ("a,y\n1,2\n3\n", r"is not a table: line 3 has 1 field and the header has 2 \(split by"),
    "an open quote": ('a,y\n1,2\n3,"4\n5,6\n', "is not a table: line 3 opens a quote that is never closed$"),
    "a title": ("Report of 2025\n\na,y\n1,2\n", r"is not a table: line 3 .* \(split by ','\); the first line must be"),
    "a comment": ("# of 2025\na,y\n1,2\n", r"is not a table: line 2 .* \(split by ','\); the first line must be"),
}


@pytest.mark.parametrize("case", NOT_A_TABLE)
def test_not_a_table_is_one_sentence(write, case):
    content, sentence = NOT_A_TABLE[case]
    path = write(content)
    with pytest.raises(InvalidInput, match=rf"t\.csv {sentence}") as caught:
        open_table(path)
    assert "\n" not in str(caught.value)


def test_the_delimiter_that_excel_states_and_mixed_line_ends(write):
    assert rows_of(write("sep=;\nx;y, z\n1;a\n2;b\n")) == {"x": [1, 2], "y, z": ["a", "b"]}
    mixed = 'x,y\r\n1,a\n2,"b\n c"\r\n3,d\n'
    for text in (mixed, gzip.compress(mixed.encode())):
        assert rows_of(write(text)) == {"x": [1, 2, 3], "y": ["a", "b\n c", "d"]}


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_encodings_of_excel(write, encoding, packed):
    text = "a\ty\r\n1\té, x\r\n2\t€\r\n".encode(encoding)
    assert rows_of(write(packed(text))) == {"a": [1, 2], "y": ["é, x", "€"]}


def test_bytes_that_windows_leaves_undefined_are_latin(write):
    assert rows_of(write(b"a,y\n1,\xe9\x81\n")) == {"a": [1], "y": ["é\x81"]}


def test_numbers_between_spaces_are_numbers(write):
    assert rows_of(write("a,y\n1 , -0.5\n2 , 1.5\n")) == {"a": [1, 2], "y": [-0.5, 1.5]}


def test_brackets_in_a_header_are_not_json(write):
    assert open_table(write("[id],[name]\n1,x\n")).columns == ("[id]", "[name]")


def test_damaged_gzip(write):
    whole = gzip.compress(b"a,y\n" + b"1,2\n" * 1000)
    for damaged in (whole[: len(whole) // 2], whole[:10] + b"\xff" * 50):
        with pytest.raises(InvalidInput, match=r"t\.csv cannot be read: "):
            open_table(write(damaged))


def test_a_long_row_far_down_is_one_sentence(write):
    path = write("a,y\n" + "1,2\n" * 60_000 + "1,2,3\n")
    with pytest.raises(InvalidInput, match=r"t\.csv is not a table: line 60002 has 3 fields and the header has 2 "):
        open_table(path)


def test_another_encoding_far_down(write):
    """Where a start in ASCII fits both encodings, the rest decides; a start in UTF-8 has decided."""
    rows = b"1,2\n" * 60_000 + b"1,\xe9\n"
    assert rows_of(write(b"a,y\n" + rows))["y"][-1] == "é"
    path = write("a,é\n".encode() + rows)
    with pytest.raises(InvalidInput, match=r"t\.csv is not a table: line 60002 is not text in UTF-8$"):
        open_table(path)


def test_a_character_cut_by_the_end_of_the_first_block(write):
    content = ("ab,y\n" + "é,1\n" * 20_000).encode()
    assert content[65_536] & 0xC0 == 0x80
    assert as_ibis(open_table(write(content))).count().execute() == 20_000
