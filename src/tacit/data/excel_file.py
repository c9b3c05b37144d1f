"""Read an Excel file: its first sheet, whose first row is the header."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from tacit.data.csv_file import fault
from tacit.data.packed import check_unpacked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_excel_file"]


def read_excel_file(path: Path) -> pd.DataFrame:
    """Return the rows of the first sheet; a column of several types, such as numbers and ``unknown``, as text."""
    import pandas as pd

    load_extra("openpyxl", extra="excel")
    try:
        with ZipFile(path) as members:
            check_unpacked(path, unpacked=sum(one.file_size for one in members.infolist()))
        sheet = pd.read_excel(path, dtype=object).infer_objects()  # 00123 stays text
    except InvalidInput:
        raise
    except (ValueError, OSError, KeyError, BadZipFile) as error:
        raise InvalidInput(f"{path} is not a readable Excel file: {fault(error)}") from None
    unnamed = sum(str(name).startswith("Unnamed: ") for name in sheet.columns)
    if unnamed > len(sheet.columns) / 2:
        named = f"names {len(sheet.columns) - unnamed} of {len(sheet.columns)} columns"
        raise InvalidInput(f"{path} must have its header in the first row, which {named}; delete the rows above it")
    for name, column in sheet.items():
        if column.dropna().map(type).nunique() > 1:
            sheet[name] = column.map(str, na_action="ignore")
    return sheet
