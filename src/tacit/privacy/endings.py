"""The format that the ending of a file's name implies."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from tacit.privacy.errors import InvalidInput

__all__ = ["ARRAYS", "ENDINGS", "PICTURES", "check_ending", "format_of"]

ENDINGS = {
    "Parquet": (".parquet", ".pq"),
    "Arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "CSV": (".csv", ".tsv", ".txt"),
    "JSON": (".json", ".jsonl", ".ndjson"),
    "HTML": (".html", ".htm"),
    "Excel": (".xlsx", ".xls"),
    "TOML": (".toml",),
    "Markdown": (".md",),
    "Python": (".py", ".ipynb"),
    "a database": (".db", ".sqlite", ".sqlite3", ".duckdb", ".db-wal", ".db-journal"),
}
"""The formats that a file name can have, each with its endings; the first one is suggested."""

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
"""The endings of image files."""

ARRAYS = ".npz"
"""The ending of a file of arrays."""


def check_ending(path: str | PathLike[str], *, written: str) -> None:
    """Reject a name with the ending of another format than the one that will be written; allow unknown endings."""
    endings = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in {".gz", ".zip"}]
    named = next((kind for kind, known in ENDINGS.items() if endings and endings[-1] in known), written)
    if named != written:
        plain = Path(path).name[: Path(path).name.lower().rindex(endings[-1])]
        better = f"call it {plain}{ENDINGS[written][0]}" if written in ENDINGS else "choose another name"
        raise InvalidInput(f"{path} has the ending of {named}, but {written} is written; {better}")


def format_of(suffix: str) -> str:
    """Return the format of a file's ending, or the ending itself if it is of no common format.

    Examples
    --------
    >>> format_of(".pq"), format_of(".safetensors")
    ('Parquet', 'safetensors')
    """
    return next((kind for kind, known in ENDINGS.items() if suffix in known), suffix.removeprefix("."))
