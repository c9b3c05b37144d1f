"""Refuse files that are small on disk and enormous in memory, before they are read."""

from __future__ import annotations

from pathlib import Path

from tacit.privacy.errors import InvalidInput

__all__ = ["check_cells", "check_unpacked"]

_ROWS, _ROWS_PER_BYTE = 10_000_000, 32  # a quarter of a bit for a row
_CELLS, _CELLS_PER_BYTE = 100_000_000, 1_000
_BYTES, _BYTES_PER_BYTE = 200_000_000, 500  # deflate reaches 1,030


def check_cells(path: Path, *, rows: int, columns: int) -> None:
    """Raise if a file of columns has more rows or cells than its bytes can tell apart."""
    size = path.stat().st_size
    if rows > max(_ROWS, _ROWS_PER_BYTE * size) or rows * columns > max(_CELLS, _CELLS_PER_BYTE * size):
        raise InvalidInput(
            f"{path} has {rows:,} rows of {columns} columns in {size:,} bytes, too few to tell the rows apart; "
            f"write it in files of at most {_ROWS:,} rows, without constant columns"
        )


def check_unpacked(path: Path, *, unpacked: int) -> None:
    """Raise if a compressed file of text becomes enormous."""
    size = path.stat().st_size
    if unpacked > max(_BYTES, _BYTES_PER_BYTE * size):
        raise InvalidInput(
            f"{path} becomes {unpacked:,} bytes of {size:,}, too few to tell rows apart; give it uncompressed"
        )
