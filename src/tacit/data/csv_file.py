"""Read a CSV or TSV file lazily: one header line, one type per column for the whole file."""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import os
import re
import shutil
import tempfile
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import IO, Any

import duckdb

from tacit.data.connection import connection, private_folder
from tacit.data.names import check_names
from tacit.data.packed import check_unpacked
from tacit.data.view import TableView, literal
from tacit.privacy.errors import InvalidInput
from tacit.privacy.words import counted

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
_STATED = re.compile(r"sep=([,;|\t])\r?\n", re.IGNORECASE)
_HEAD = 1 << 16
_LINE_END = re.compile(rb"[\r\n]")
_BUFFER = 1 << 21  # a look at the first rows of a file costs one
_LONGEST_LINE = 1 << 21
_KEPT, _KEPT_ZIPPED = 1 << 25, 1 << 22  # a file up to this size is read once, and kept in DuckDB's memory or on disk
_WESTERN, _UNDEFINED = "cp1252", "tacit-latin-1"
_START, _SHRUNK = 1 << 24, 50  # of a gzip file: text shrinks less


def read_csv_file(path: Path, *, mended: bool = False) -> TableView:
    r"""Return a view of a delimited text file, plain or gzipped, whose columns are text.

    The delimiter is the one of ``, ; tab |`` that splits the header line most often. Numbers have a decimal comma if
    the first ones do. Text that is not UTF-8 is read as UTF-16 if it starts with that mark, and else as Windows-1252,
    in which Excel and older systems write western languages. The rows of a small file are read here, and kept.

    Parameters
    ----------
    mended
        Whether to read the file from end to end first, and to read a copy where its encoding changes or its line ends
        are mixed; raise if it cannot be read then.
    """
    zipped = _is_gzip(path)
    if zipped:
        check_unpacked(path, unpacked=_unpacked_size(path))
    text, encoding = _read_head(path, zipped=zipped)
    stated = _STATED.match(text)  # Excel writes the delimiter so, above the header
    header, delimiter = _split_header(text) if stated is None else _header_after(text[stated.end() :], stated[1])
    check_names(filter(None, map(str.strip, header)), source=str(path))
    names = [name.strip() or f"column{at}" for at, name in enumerate(header)]
    dialect: dict[str, Any] = {
        "header": True,
        "delim": delimiter,
        "quote": '"',
        "escape": '"',
        "skip": 0 if stated is None else 1,
        "comment": "",
        "nullstr": MISSING_WORDS,
        "compression": "gzip" if zipped else "none",
        "columns": dict.fromkeys(names, "VARCHAR"),
        "auto_detect": False,
        "buffer_size": _BUFFER,
    }
    source = path if encoding == "utf-8" else _in_utf8(path, dialect, encoding)
    if mended and source is path:
        source = _mended(path, dialect, doubtful=text.isascii())
    marks = dict.fromkeys(names, _decimal_mark(text, delimiter))
    view = TableView.of_query(_query(source, dialect, copied=source is not path), decimal_marks=marks)
    try:
        return view.stored(names) if path.stat().st_size <= (_KEPT_ZIPPED if zipped else _KEPT) else view
    except duckdb.Error as error:
        if mended:
            raise _no_table(path, source, dialect, error) from None
        return read_csv_file(path, mended=True)


def _query(path: Path, dialect: dict[str, Any], *, copied: bool) -> str:
    """Return the query of a file, or of a copy in UTF-8 with one kind of line end, which is not packed."""
    options = {**dialect, "compression": "none"} if copied else dialect
    arguments = ", ".join(f"{key} = {literal(value)}" for key, value in options.items())
    return f"FROM read_csv({_pattern(path)}, {arguments})"


def _mended(path: Path, dialect: dict[str, Any], *, doubtful: bool) -> Path:
    """Return a file that can be read to its end: this one, or a copy whose encoding or line ends are mended.

    Parameters
    ----------
    doubtful
        Whether the file may be in another encoding, because its start has no character that would tell.
    """
    try:
        connection().execute(f"SELECT count(COLUMNS(*)) {_query(path, dialect, copied=False)}").fetchall()
    except duckdb.Error as error:
        if doubtful and "UTF-8" in fault(error):
            return _in_utf8(path, dialect, _WESTERN)
        if _mixes_line_ends(path, dialect):
            return _in_utf8(path, dialect, "utf-8")
        raise _no_table(path, path, dialect, error) from None
    return path


def _no_table(name: Path, path: Path, dialect: dict[str, Any], error: duckdb.Error) -> InvalidInput:
    packed = dialect if name == path else {**dialect, "compression": "none"}
    return InvalidInput(f"{name} is not a table: {_wrong_line(path, packed) or fault(error)}")


def _pattern(path: Path) -> str:
    """Return a path as DuckDB reads it: it takes *, ? and [ in a name for a pattern."""
    return literal(glob.escape(str(path)))


def _in_utf8(path: Path, dialect: dict[str, Any], encoding: str) -> Path:
    """Return a copy that only this user can read, kept until the process ends."""
    handle, name = tempfile.mkstemp(dir=private_folder())
    errors = "surrogateescape" if encoding == "utf-8" else _UNDEFINED  # which keeps what is not UTF-8 as it is
    with (
        io.TextIOWrapper(_opened(path, dialect), encoding, errors=errors) as text,  # ends every line in \n
        os.fdopen(handle, "w", encoding="utf-8", errors=errors, newline="\n") as copy,
    ):
        shutil.copyfileobj(text, copy)
    return Path(name)


def _opened(path: Path, dialect: dict[str, Any]) -> IO[bytes]:
    return gzip.open(path) if dialect["compression"] == "gzip" else path.open("rb")  # type: ignore[return-value]


def _mixes_line_ends(path: Path, dialect: dict[str, Any]) -> bool:
    """Return whether some lines end as on Windows and some do not, which DuckDB refuses."""
    with _opened(path, dialect) as file:
        return len({line.endswith(b"\r\n") for line in file if line.endswith(b"\n")}) > 1


def _is_gzip(path: Path) -> bool:
    with path.open("rb", buffering=0) as file:
        return file.read(2) == b"\x1f\x8b"


def _unpacked_size(path: Path) -> int:
    """Return the size that a gzip file ends with, or of its start where that shrank as text does."""
    with path.open("rb") as file, gzip.open(file) as unpacked:
        try:
            start = len(unpacked.read(_START))
        except (OSError, EOFError, zlib.error):
            return 0  # whatever reads it next says so
        if start < _SHRUNK * file.tell():
            return start
        file.seek(path.stat().st_size - 4)
        return int.from_bytes(file.read(4), "little")


def _read_head(path: Path, *, zipped: bool) -> tuple[str, str]:
    """Return the file's first characters, and their encoding."""
    try:
        with gzip.open(path) if zipped else path.open("rb") as file:
            head = file.read(_HEAD)
            if not _LINE_END.search(head):  # the header goes on
                head += file.readline(_LONGEST_LINE)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    if not head.strip():
        raise InvalidInput(f"{path} is empty; a table needs a header line and at least one row")
    text, encoding = _decode(head)
    if _BINARY.search(text):
        if kind := next((kind for kind, mark in _DATABASES.items() if mark in head[:16]), None):
            raise InvalidInput(f"{path} is a database; name a table in it: {kind}:///{path}#TABLE")
        raise InvalidInput(f"{path} is not a table: it is not text; {ACCEPTED}")
    if kind := next((kind for kind, start in _OTHER_TEXT.items() if start.match(text)), None):
        raise InvalidInput(f"{path} is not a table: it looks like {kind}; {ACCEPTED}")
    return text, encoding


def _split_header(text: str) -> tuple[list[str], str]:
    splits = {d: next(csv.reader(io.StringIO(text, newline=None), delimiter=d), []) for d in _DELIMITERS}
    delimiter = max(_DELIMITERS, key=lambda d: len(splits[d]))
    return splits[delimiter], delimiter


def _header_after(text: str, delimiter: str) -> tuple[list[str], str]:
    return next(csv.reader(io.StringIO(text, newline=None), delimiter=delimiter), []), delimiter


def _decimal_mark(text: str, delimiter: str) -> str:
    """Return a comma if the first numbers with decimals have one, and no number has a point."""
    return "," if delimiter != "," and {found[1] for found in _DECIMALS.finditer(text)} == {","} else "."


def _decode(head: bytes) -> tuple[str, str]:
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return head.decode("utf-16", errors="replace"), "utf-16"
    try:
        return head.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 4 and len(head) == _HEAD:  # a character cut by the end of the block
            return head[: error.start].decode("utf-8-sig"), "utf-8"
    return head.decode(_WESTERN, errors=_UNDEFINED), _WESTERN


def _as_latin(error: UnicodeError) -> tuple[str, int]:
    """Read as Latin-1 a byte that Windows-1252 leaves undefined, of which there are five."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_UNDEFINED, _as_latin)


def _wrong_line(path: Path, dialect: dict[str, Any]) -> str | None:
    """Return which line has another number of fields than the header, or an open quote; None if there is none."""
    opened = gzip.open if dialect["compression"] == "gzip" else open
    with opened(path, "rt", encoding="utf-8", errors="replace", newline="") as file:
        lines = csv.reader(file, delimiter=dialect["delim"], strict=True)
        header, start = list[str](), 0
        try:
            for _ in range(dialect["skip"] + 1):
                header = next(lines)
            start = lines.line_num + 1
            for fields in lines:
                if fields and len(fields) != len(header):
                    return _ragged(lines.line_num, len(fields), len(header), dialect["delim"])
                start = lines.line_num + 1
        except csv.Error as error:
            return f"line {start} opens a quote that is never closed" if "end of data" in str(error) else None
    return None


def _ragged(line: int, fields: int, header: int, delimiter: str) -> str:
    remedy = "; the first line must be the header" if header == 1 else ""
    return f"line {line} has {counted(fields, 'field')} and the header has {header} (split by {delimiter!r}){remedy}"


def fault(error: Exception) -> str:
    """Return in one clause what a reader found wrong in a file."""
    text = re.sub(r"^(.*get_next failed\(\): (\w+: )+|[A-Z][\w ]* Error: )", "", str(error))
    line = re.search(r"CSV Error on Line: (\d+)", text)
    where = f"line {line[1]}" if line else "a line"
    if "nicode" in text:
        return f"{where} is not text in UTF-8"
    if fields := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
        return f"{where} has {fields[2]} fields and the header has {fields[1]}"
    if "maximum line size" in text.lower():
        return f"{where} is longer than 2 MB, so it may lack line ends or close a quote late"
    if "sniffing" in text:
        return "its rows do not all have as many fields as its header"
    return text.strip().partition("\n")[0].partition(". ")[0].rstrip(".")
