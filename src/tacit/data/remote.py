"""Rows outside local files: standard input, a file in an object store, a table of a database."""

from __future__ import annotations

import re
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import duckdb

from tacit.data.connection import connection, private_folder
from tacit.data.csv_file import MISSING_WORDS, TYPES, fault
from tacit.data.database_file import is_query, read_database_file
from tacit.data.locations import database_file
from tacit.data.view import TableView, literal
from tacit.privacy.endings import ENDINGS
from tacit.privacy.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    import ibis

__all__ = ["open_url", "spooled_stdin"]

_STORES = ("s3", "gs", "gcs", "az", "azure", "r2", "http", "https", "hf")


@cache
def spooled_stdin() -> Path:
    """Return standard input as a file that only this user can read, kept until the process ends: it is read twice."""
    if sys.stdin.isatty():
        raise InvalidInput("- reads a table from standard input; pipe one into the command")
    path = private_folder() / "stdin"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def open_url(text: str) -> TableView | ibis.Table:
    """Return the table at ``URL#TABLE`` or ``URL#SELECT ...``, or the files of an object store or the web."""
    scheme = urlsplit(text).scheme.lower()
    return _from_store(text, scheme) if scheme in _STORES else _from_database(text, scheme)


def _from_store(text: str, scheme: str) -> TableView:
    """A file in an object store or on the web, read by DuckDB's extension for it, which must be installed."""
    extension = "azure" if scheme in ("az", "azure") else "httpfs"
    try:
        connection().execute(f"LOAD {extension}")
    except duckdb.Error:
        raise MissingExtra(
            f"reading {scheme}:// needs DuckDB's extension {extension}; install it once with: "
            f"python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\""
        ) from None
    try:
        return TableView.of_query(f"FROM {_reader(text)}")
    except duckdb.Error as error:
        raise InvalidInput(f"{text} cannot be read: {fault(error)}") from None


def _reader(text: str) -> str:
    name = text.lower().removesuffix(".gz")
    if name.endswith(ENDINGS["CSV"]):
        words, types = literal(MISSING_WORDS), literal(TYPES)
        return (
            f"read_csv({literal(text)}, header = true, nullstr = {words}, auto_type_candidates = {types}, "
            "sample_size = -1)"
        )
    if name.endswith(ENDINGS["JSON"]):
        return f"read_json({literal(text)})"
    return f"read_parquet({literal(text)})"


def _from_database(text: str, scheme: str) -> TableView | ibis.Table:
    """A table or a query of a SQLite or DuckDB file, or of a database that Ibis connects to."""
    url, _, wanted = text.partition("#")
    shown = re.sub(r"://[^/@]*@", "://...@", url)  # no user name or password in a message
    if not wanted.strip():
        raise InvalidInput(f"{shown} is a database; name a table or a query after it: {scheme}://.../DATABASE#TABLE")
    try:
        if (file := database_file(url)) is not None:
            return read_database_file(file, wanted, scheme=scheme)
        import ibis

        backend = ibis.connect(url)
        return backend.sql(wanted) if is_query(wanted) else backend.table(wanted.strip())
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{scheme}:// needs the package {error.name}; install it with: pip install 'ibis-framework[{scheme}]'"
        ) from None
    except InvalidInput as error:
        raise InvalidInput(f"{shown} {error}") from None
    except Exception as error:  # every driver has errors of its own
        raise InvalidInput(f"{shown} cannot be read: {fault(error)}") from None
