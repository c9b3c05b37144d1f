"""Where a table's rows may lie besides one local file: many files, a folder, standard input, a database, a store."""

from __future__ import annotations

import glob
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import ibis
from ibis.common.exceptions import IbisError

from tacit.data.connection import connection
from tacit.data.csv_file import fault
from tacit.privacy.endings import ENDINGS
from tacit.privacy.errors import InvalidInput, MissingExtra

__all__ = ["Reader", "files_of", "is_location", "open_location", "union_files"]

Reader = Callable[[Path], ibis.Table]

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_STORES = ("s3", "gs", "gcs", "az", "azure", "r2", "http", "https", "hf")
_TABLE_ENDINGS = tuple(ending for kind in ("Parquet", "Arrow", "CSV", "JSON") for ending in ENDINGS[kind])
_STDIN = "-"


def is_location(text: str) -> bool:
    """Say whether a name is a URL or standard input rather than a path."""
    return text == _STDIN or _URL.match(text) is not None


def open_location(text: str, *, read_file: Reader) -> ibis.Table:
    """Return the table at a URL, or on standard input.

    Parameters
    ----------
    text
        ``-``; a database as ``URL#TABLE`` or ``URL#SELECT ...``; or a file or pattern in an object store or on the web.
    read_file
        Reads one local file.
    """
    if text == _STDIN:
        return read_file(_spooled_stdin())
    scheme = urlsplit(text).scheme.lower()
    return _from_store(text, scheme) if scheme in _STORES else _from_database(text, scheme)


def files_of(path: Path) -> list[Path]:
    """Return the files of a table in the order of their names: one file, those of a pattern, or those of a folder."""
    if path.is_dir():
        found = [file for file in sorted(path.rglob("*")) if _is_table_file(file, path)]
        if not found:
            raise InvalidInput(
                f"{path} is a folder without a table; it needs files that end in .parquet, .csv or .arrow"
            )
        return found
    if not path.exists() and glob.has_magic(str(path)):
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True) if Path(name).is_file())
        if not found:
            raise InvalidInput(f"{path} matches no file; give the path of a table")
        return found
    return [path]


def union_files(files: Sequence[Path], *, read_file: Reader, folder: Path | None = None) -> ibis.Table:
    """Return the rows of several files, one after the other; ``key=value`` folders become columns.

    Raises
    ------
    InvalidInput
        The files do not have the same columns.
    """
    tables = [_with_partitions(read_file(file), file, folder) for file in files]
    names = tables[0].columns
    for file, table in zip(files, tables, strict=True):
        if set(table.columns) != set(names):
            raise InvalidInput(
                f"{file} must have the columns of {files[0].name}, {', '.join(names)}, got {', '.join(table.columns)}"
            )
    whole = [table.select(*names) for table in tables]
    try:
        return whole[0] if len(whole) == 1 else ibis.union(*whole)
    except (IbisError, ibis.common.exceptions.IbisInputError) as error:
        raise InvalidInput(f"{files[0].parent} has files whose columns differ in type: {fault(error)}") from None


def _is_table_file(file: Path, folder: Path) -> bool:
    inside = file.relative_to(folder).parts
    hidden = any(part.startswith((".", "_")) for part in inside)
    return file.is_file() and not hidden and file.name.lower().removesuffix(".gz").endswith(_TABLE_ENDINGS)


def _with_partitions(table: ibis.Table, file: Path, folder: Path | None) -> ibis.Table:
    """Add the columns that the names of folders state, as Hive writes them."""
    if folder is None:
        return table
    pairs = [part.partition("=") for part in file.relative_to(folder).parts[:-1]]
    stated = {name: value for name, sign, value in pairs if sign and name not in table.columns}
    return table.mutate(**{name: ibis.literal(value) for name, value in stated.items()}) if stated else table


@cache
def _spooled_stdin() -> Path:
    """Standard input as a file that only this user reads, kept until the process ends: it is read more than once."""
    if sys.stdin.isatty():
        raise InvalidInput("- reads a table from standard input; pipe one into the command")
    folder = tempfile.TemporaryDirectory(prefix="tacit-stdin-", ignore_cleanup_errors=True)
    connection().stdin = folder  # removed with the connection, at exit
    path = Path(folder.name) / "stdin"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def _from_store(text: str, scheme: str) -> ibis.Table:
    """A file in an object store or on the web, read by DuckDB's extension for it, which must be installed."""
    extension = "azure" if scheme in ("az", "azure") else "httpfs"
    backend = connection()
    try:
        backend.raw_sql(f"LOAD {extension}")
    except duckdb.Error:
        raise MissingExtra(
            f"reading {scheme}:// needs DuckDB's extension {extension}; install it once with: "
            f"python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\""
        ) from None
    read = backend.read_csv if text.lower().removesuffix(".gz").endswith(ENDINGS["CSV"]) else backend.read_parquet
    try:
        return read(text)
    except (duckdb.Error, IbisError) as error:
        raise InvalidInput(f"{text} cannot be read: {fault(error)}") from None


def _from_database(text: str, scheme: str) -> ibis.Table:
    """A table or a query of a database that Ibis connects to."""
    url, _, wanted = text.partition("#")
    shown = re.sub(r"://[^/@]*@", "://...@", url)  # no user name or password in a message
    if not wanted.strip():
        raise InvalidInput(f"{shown} is a database; name a table or a query after it: {scheme}://.../DATABASE#TABLE")
    try:
        backend = ibis.connect(url)
        is_query = re.match(r"\s*(select|with|from)\s", wanted, re.IGNORECASE)
        return backend.sql(wanted) if is_query else backend.table(wanted.strip())
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{scheme}:// needs the package {error.name}; install it with: pip install 'ibis-framework[{scheme}]'"
        ) from None
    except Exception as error:  # every driver has errors of its own
        raise InvalidInput(f"{shown} cannot be read: {fault(error)}") from None
