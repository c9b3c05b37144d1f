"""Read an Excel file: its first sheet, whose header may have a title above it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from tacit.data.csv_file import fault
from tacit.data.names import check_names
from tacit.data.packed import check_unpacked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_excel_file"]

_LEAST_NAMED = 0.5  # of the columns; a title names fewer


def read_excel_file(path: Path) -> pd.DataFrame:
    """Return the rows of the first sheet; a column of several types, such as numbers and ``unknown``, as text.

    The header is the first row that fills half of the columns.
    """
    import pandas as pd

    load_extra("openpyxl", extra="excel")
    try:
        with ZipFile(path) as members:
            check_unpacked(path, unpacked=sum(one.file_size for one in members.infolist()))
        cells = pd.read_excel(path, header=None, dtype=object)  # 00123 stays text
    except InvalidInput:
        raise
    except (ValueError, OSError, KeyError, BadZipFile) as error:
        raise InvalidInput(f"{path} is not a readable Excel file: {fault(error)}") from None
    filled = cells.notna().mean(axis="columns") >= _LEAST_NAMED
    if len(cells) and not filled.any():
        raise InvalidInput(f"{path} must have a header, a row that names at least half of its columns, got none")
    sheet = _below_header(path, cells, int(filled.argmax())) if len(cells) else cells
    for name, column in sheet.items():
        if column.dropna().map(type).nunique() > 1:
            sheet[name] = column.map(str, na_action="ignore")
    return sheet


def _below_header(path: Path, cells: pd.DataFrame, row: int) -> pd.DataFrame:
    """Return the rows below the header, with its names; a column without one has its place, as in a CSV file."""
    header = cells.iloc[row]
    names = [
        f"column{k}" if blank else str(name) for k, (name, blank) in enumerate(zip(header, header.isna(), strict=True))
    ]
    check_names(names, source=str(path))
    return cells.iloc[row + 1 :].set_axis(names, axis="columns").infer_objects()
