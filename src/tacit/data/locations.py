"""The meaning of a table's name: a path, a pattern, a folder, standard input or a URL; nothing is opened."""

from __future__ import annotations

import glob
import re
from os import PathLike
from pathlib import Path

from tacit.privacy.endings import ENDINGS, PICTURES
from tacit.privacy.errors import InvalidInput

__all__ = ["BUNDLED", "STDIN", "check_source", "database_file", "files_of", "files_read", "is_location"]

BUNDLED = "bundled:"
STDIN = "-"

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_CACHE = re.compile(r"cache-[0-9a-f]+(_\d+_of_\d+)?\.arrow")  # beside the data of HuggingFace datasets
_NOTES = (".txt", ".json")  # in a folder that has other tables: a readme, or what a library says of its data
_TABLE_ENDINGS = tuple(ending for kind in ("Parquet", "Arrow", "CSV", "JSON") for ending in ENDINGS[kind])


def is_location(text: str) -> bool:
    """Return whether a name is a URL or standard input rather than a path."""
    return text == STDIN or _URL.match(text) is not None


def check_source(source: object) -> None:
    """Raise if a table's name is a path that does not exist; nothing is opened."""
    if isinstance(source, list | tuple):
        for one in source:
            check_source(one)
    elif source == "":
        raise InvalidInput("must not be empty; give the path of a table")
    elif isinstance(source, str | PathLike) and not str(source).startswith(BUNDLED):
        if not is_location(str(source)):
            files_of(Path(source))
        elif "#" in str(source):
            database_file(str(source))


def database_file(url: str) -> Path | None:
    """Return the file of a SQLite or DuckDB URL, or None for another one; raise unless it exists.

    A path after three slashes is one from the root, as Ibis has it, or else from here, as SQLAlchemy has it.
    """
    scheme, _, path = url.partition("#")[0].partition("://")
    if scheme.lower() not in ("sqlite", "duckdb"):
        return None
    named = [Path(path.replace("//", "/", 1)), Path(path.removeprefix("/"))]
    found = next((file for file in named if path.strip("/") and file.is_file()), None)
    if found is None:
        raise InvalidInput(f"{named[-1] if path.strip('/') else url} does not exist; give {scheme}:///FILE#TABLE")
    return found


def files_read(*sources: object) -> list[Path]:
    """Return the files that tables are read from, none of which may be replaced; a table in memory or a URL has none.

    A name that does not exist has none either: reading it raises.

    Examples
    --------
    >>> files_read("-", "https://example.org/visits.parquet", {"age": [31]})
    [PosixPath('/dev/stdin')]
    """
    found: list[Path] = []
    for source in sources:
        if isinstance(source, list | tuple):
            found += files_read(*source)
        elif isinstance(source, str | PathLike):
            found += _files_named(str(source))
    return found


def _files_named(name: str) -> list[Path]:
    if name == STDIN:
        return [Path("/dev/stdin")]  # the file that the shell opened with <, if any
    try:
        if is_location(name):
            return [file] if (file := database_file(name)) is not None else []
        return files_of(Path(name))
    except InvalidInput:
        return []


def files_of(path: Path) -> list[Path]:
    """Return the files of a table in the order of their names: one file, those of a pattern, or those of a folder."""
    if path.is_dir():
        found = [file for file in sorted(path.rglob("*")) if _is_table_file(file, path, _TABLE_ENDINGS)]
        if not found:
            pictures = [file for file in sorted(path.rglob("*")) if _is_table_file(file, path, PICTURES)]
            if pictures:
                return pictures
            raise InvalidInput(
                f"{path} is a folder without a table; it needs files that end in .parquet, .csv or .arrow, or images"
            )
        return [file for file in found if file.suffix.lower() not in _NOTES] or found
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True) if Path(name).is_file())
        if not found:
            raise InvalidInput(f"{path} matches no file; give the path of a table")
        return found
    raise InvalidInput(f"{path} does not exist; give the path of a table")


def _is_table_file(file: Path, folder: Path, endings: tuple[str, ...]) -> bool:
    inside = file.relative_to(folder).parts
    hidden = any(part.startswith((".", "_")) for part in inside) or _CACHE.fullmatch(file.name)
    return file.is_file() and not hidden and file.name.lower().removesuffix(".gz").endswith(endings)
