"""Find and read a file of the folder that ``TACIT_DATA`` names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.privacy.errors import InvalidInput

__all__ = ["Folder", "read_data_file"]

Folder = str | os.PathLike[str] | None

_VARIABLE = "TACIT_DATA"


def read_data_file(
    file: str,
    *,
    what: str,
    columns: Sequence[str],
    split: str | None = None,
    folder: Folder = None,
) -> pa.Table:
    """Return a Parquet file of the data folder, or raise with the file that belongs there.

    Parameters
    ----------
    columns
        The columns it must have; others are read too.
    split
        Keep the rows with this value in the column ``split``.
    """
    path = _locate(file, what, folder or os.environ.get(_VARIABLE))
    try:
        names = pq.read_schema(path).names
        if absent := [name for name in columns if name not in names]:
            raise InvalidInput(f"{path} has no column {absent[0]!r}; put the file for {what} there")
        rows = pq.read_table(path, filters=None if split is None else [("split", "==", split)])
    except (pa.ArrowException, OSError):
        raise InvalidInput(f"{path} is not a readable Parquet file; put the file for {what} there") from None
    if not rows.num_rows:
        raise InvalidInput(f"{path} has no rows{f' of split {split}' if split else ''}; put the file for {what} there")
    return rows


def _locate(file: str, what: str, folder: Folder) -> Path:
    if not folder:
        raise InvalidInput(f"{_VARIABLE} is not set; set it to the folder with {file} ({what})")
    if not Path(folder).is_dir():
        raise InvalidInput(f"{folder} is no folder; name the folder with {file} ({what}) in {_VARIABLE}")
    path = Path(folder) / file
    if not path.is_file():
        raise InvalidInput(f"{what} is not there; put {file} into {folder}")
    return path
