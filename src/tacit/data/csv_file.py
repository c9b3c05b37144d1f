"""Read a CSV or TSV file lazily: one header line, one type per column for the whole file."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import re
import tempfile
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from tacit.data.connection import connection, private_folder
from tacit.data.names import check_names
from tacit.data.view import TableView, literal
from tacit.privacy.errors import InvalidInput

__all__ = ["ACCEPTED", "MISSING_WORDS", "TYPES", "fault", "read_csv_file"]

ACCEPTED = "give a CSV, TSV, Parquet, Arrow, JSON lines or Excel file"

_DELIMITERS = (",", ";", "\t", "|")
MISSING_WORDS = ["", "NA", "N/A", "NaN", "nan", "NULL", "null"]
# No BOOLEAN: DuckDB would turn the words Yes, No, t and f into truth values.
TYPES = ["BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "VARCHAR"]
_OTHER_TEXT = {"JSON": re.compile(r'\s*[\[{]\s*["{\[\]}\d-]'), "markup": re.compile(r"\s*<[!?a-zA-Z]")}
_DATABASES = {"sqlite": b"SQLite format 3\0", "duckdb": b"DUCK"}
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1f]")
_DECIMALS = re.compile(r'(?:^|[;\t|"])[+-]?\d+([.,])\d+(?=[;\t|"\r\n])', re.MULTILINE)
_HEAD = 1 << 16


def read_csv_file(path: Path) -> TableView:
    r"""Return a view of a delimited text file, plain or gzipped.

    The delimiter is the one of ``, ; tab |`` that splits the header line most often. Types are decided by
    reading the whole file once, so that a late value cannot break a later query; a column of numbers and words
    is text. Numbers have a decimal comma if the first ones do. Text that is not UTF-8 is read as Windows-1252, in
    which Excel and older systems write western languages.
    """
    zipped = _is_gzip(path)
    text, is_utf8 = _read_head(path, zipped=zipped)
    header, delimiter = _split_header(text)
    check_names(filter(None, map(str.strip, header)), source=str(path))
    dialect: dict[str, Any] = {
        "header": True,
        "delim": delimiter,
        "quote": '"',
        "escape": '"',
        "skip": 0,
        "nullstr": MISSING_WORDS,
        "decimal_separator": _decimal_separator(text, delimiter),
        "compression": "gzip" if zipped else "none",
    }
    if is_utf8:
        return _read_utf8(path, dialect, name=path)
    return _read_utf8(_as_utf8(path, zipped=zipped), {**dialect, "compression": "none"}, name=path)


def _read_utf8(path: Path, dialect: dict[str, Any], *, name: Path) -> TableView:
    pattern = glob.escape(str(path))  # DuckDB reads *, ? and [ in a name as a pattern
    settled = {**dialect, **_settle_types(pattern, path, dialect, name=name), "auto_detect": False}
    return TableView.of_query(f"FROM read_csv({literal(pattern)}, {_arguments(settled)})")


def _as_utf8(path: Path, *, zipped: bool) -> Path:
    """Return a copy in UTF-8 that only this user can read, kept until the process ends."""
    handle, name = tempfile.mkstemp(dir=private_folder().name)
    with gzip.open(path) if zipped else path.open("rb") as file, os.fdopen(handle, "wb") as copy:
        for line in file:
            copy.write(_decode_western(line).encode())
    return Path(name)


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _read_head(path: Path, *, zipped: bool) -> tuple[str, bool]:
    """Return the file's first characters, and whether they are UTF-8."""
    try:
        with gzip.open(path) if zipped else path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    if not head.strip():
        raise InvalidInput(f"{path} is empty; a table needs a header line and at least one row")
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise InvalidInput(f"{path} is text in UTF-16; save it in UTF-8")
    text, is_utf8 = _decode(head)
    if _BINARY.search(text):
        if kind := next((kind for kind, mark in _DATABASES.items() if mark in head[:16]), None):
            raise InvalidInput(f"{path} is a database; name a table in it: {kind}:///{path}#TABLE")
        raise InvalidInput(f"{path} is not a table: it is not text; {ACCEPTED}")
    if kind := next((kind for kind, start in _OTHER_TEXT.items() if start.match(text)), None):
        raise InvalidInput(f"{path} is not a table: it looks like {kind}; {ACCEPTED}")
    return text, is_utf8


def _split_header(text: str) -> tuple[list[str], str]:
    splits = {d: next(csv.reader(io.StringIO(text, newline=None), delimiter=d), []) for d in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda d: len(splits[d]))
    return splits[delimiter], delimiter


def _decimal_separator(text: str, delimiter: str) -> str:
    """Return a comma if the first numbers with decimals have one, and no number has a point."""
    return "," if delimiter != "," and {found[1] for found in _DECIMALS.finditer(text)} == {","} else "."


def _decode(head: bytes) -> tuple[str, bool]:
    try:
        return head.decode("utf-8-sig"), True
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 4 and len(head) == _HEAD:  # a character cut by the end of the block
            return head[: error.start].decode("utf-8-sig"), True
    return _decode_western(head), False


def _decode_western(text: bytes) -> str:
    try:
        return text.decode("cp1252")
    except UnicodeDecodeError:  # one of five bytes that Windows-1252 leaves undefined
        return text.decode("latin-1")


def _settle_types(pattern: str, path: Path, dialect: dict[str, Any], *, name: Path) -> dict[str, dict[str, str] | str]:
    options = dialect | {"sample_size": -1, "auto_type_candidates": TYPES}
    try:
        found = connection().execute(f"FROM sniff_csv({literal(pattern)}, {_arguments(options)})")
        row = dict(zip((d[0] for d in found.description), found.fetchone() or (), strict=True))
    except duckdb.Error as error:
        reason = _ragged_line(path, dialect) or fault(error)
        split = f" (split by {dialect['delim']!r})" if "fields" in reason else ""
        raise InvalidInput(f"{name} is not a table: {reason}{split}") from None
    columns = {column["name"]: column["type"] for column in row["Columns"]}
    formats = {"dateformat": row["DateFormat"], "timestampformat": row["TimestampFormat"]}
    return {"columns": columns} | {key: value for key, value in formats.items() if value}


def _ragged_line(path: Path, dialect: dict[str, Any]) -> str | None:
    """Return which line has another number of fields than the header; None if there is none."""
    opened = gzip.open if dialect["compression"] == "gzip" else open
    with opened(path, "rt", encoding="utf-8", errors="replace", newline="") as file:
        lines = csv.reader(file, delimiter=dialect["delim"])
        with suppress(csv.Error):
            header = next(lines)
            for fields in lines:
                if fields and len(fields) != len(header):
                    return f"line {lines.line_num} has {len(fields)} fields and the header has {len(header)}"
    return None


def _arguments(options: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {literal(value)}" for key, value in options.items())


def fault(error: Exception) -> str:
    """Return in one clause what a reader found wrong in a file."""
    text = re.sub(r"^.*get_next failed\(\): (\w+: )+", "", str(error))
    line = re.search(r"CSV Error on Line: (\d+)", text)
    where = f"line {line[1]}" if line else "a line"
    if "nicode" in text:
        return f"{where} is not text in UTF-8"
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
        return f"{where} has {fields[2]} fields and the header has {fields[1]}"
    if "sniffing" in text:
        return "its rows do not all have as many fields as its header"
    return text.strip().partition("\n")[0].partition(". ")[0].rstrip(".")
