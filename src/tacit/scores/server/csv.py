"""Submissions as CSV, read piece by piece: what is wrong is one sentence, and nothing large is kept or quoted."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.scores.server.errors import TooLarge

__all__ = ["PredictionReader", "quote"]

_SHOWN = 20
_BOM = b"\xef\xbb\xbf"


def quote(cell: str) -> str:
    r"""Return a short, printable beginning of what someone sent.

    Examples
    --------
    >>> quote("=HYPERLINK(" + "x" * 100), quote("a\\x00")
    ("'=HYPERLINK(xxxxxxxxx'...", "'a\\\\x00'")
    """
    return ascii(cell[:_SHOWN]) + ("..." if len(cell) > _SHOWN else "")


class PredictionReader:
    r"""Read predictions from pieces of a CSV file, in any order of ids.

    Parameters
    ----------
    columns
        The header: ``id``, then one column a predicted number.
    index
        From an id to its row.
    longest
        Characters of one cell.

    Examples
    --------
    >>> reader = PredictionReader(columns=("id", "prediction"), index={"a": 0, "b": 1})
    >>> reader.feed(b"id,prediction\\nb,0.2")
    >>> reader.feed(b"5\\na,0.5\\n")
    >>> reader.finish()
    array([0.5 , 0.25])
    """

    def __init__(self, *, columns: Sequence[str], index: Mapping[str, int], longest: int = 1024) -> None:
        self._columns, self._index, self._longest = list(columns), index, longest
        self._rest = b""
        self._line = 0
        self._started = False
        self._values = np.full((len(index), len(columns) - 1), np.nan)
        self._found = 0

    def feed(self, piece: bytes) -> None:
        r"""Take the next bytes.

        Examples
        --------
        >>> PredictionReader(columns=("id", "prediction"), index={"a": 0}).feed(b"id,score\\n")
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: line 1: the columns must be id,prediction, got 'id,score'
        """
        whole, newline, self._rest = (self._rest + piece).rpartition(b"\n")
        if len(self._rest) > (self._longest + 3) * len(self._columns):
            raise TooLarge(f"line {self._line + 2}: a line must not be longer than {self._longest} characters a column")
        if newline:
            self._take(whole)

    def finish(self) -> NDArray[np.float64]:
        """Return the predictions in the order of the rows, a list or a table, after the last piece.

        Examples
        --------
        >>> PredictionReader(columns=("id", "prediction"), index={"a": 0}).finish()
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: the file is empty; it must have the columns id,prediction
        """
        if self._rest:
            self._take(self._rest)
        if not self._started:
            raise InvalidInput(f"the file is empty; it must have the columns {','.join(self._columns)}")
        if self._found < len(self._index):
            missing = next(name for name, row in self._index.items() if np.isnan(self._values[row, 0]))
            raise InvalidInput(
                f"the file has {self._found} of {len(self._index)} rows; the first that is missing has id {quote(missing)}"
            )
        return self._values[:, 0] if self._values.shape[1] == 1 else self._values

    def _take(self, block: bytes) -> None:
        try:
            lines = block.removeprefix(b"" if self._started else _BOM).decode("utf-8").split("\n")
        except UnicodeDecodeError:
            raise InvalidInput("the file must be text in UTF-8") from None
        if "\r" in lines[0]:
            lines = [line.removesuffix("\r") for line in lines]
        if not self._started:
            self._check_header(lines.pop(0))
        kept = [line for line in lines if line]
        if len(kept) < len(lines):  # blank lines, and the numbers of the lines after them, do not matter
            lines = kept
        if lines:
            self._take_rows(lines)

    def _check_header(self, line: str) -> None:
        self._started, self._line = True, 1
        names = [name.strip() for name in _cells([line], first=1)[0]] if line else []
        if names != self._columns:
            raise InvalidInput(f"line 1: the columns must be {','.join(self._columns)}, got {quote(line)}")

    def _take_rows(self, lines: list[str]) -> None:
        first, width = self._line + 1, len(self._columns)
        self._line += len(lines)
        if self._found + len(lines) > len(self._index):
            raise InvalidInput(f"the file must have {len(self._index)} rows, got more")
        if all(map((width - 1).__eq__, map(methodcaller("count", ","), lines))) and not any('"' in x for x in lines):
            flat = ",".join(lines).split(",")
        else:
            flat = self._flatten(lines, first)
        if max(map(len, flat)) > self._longest:
            raise InvalidInput(f"lines {first} to {self._line}: a cell must have at most {self._longest} characters")
        rows = self._rows(flat[::width], first)
        for column in range(1, width):
            self._values[rows, column - 1] = _numbers(flat[column::width], first)
        self._found += len(lines)

    def _flatten(self, lines: list[str], first: int) -> list[str]:
        table = _cells(lines, first=first)
        for number, cells in enumerate(table, start=first):
            if len(cells) != len(self._columns):
                raise InvalidInput(f"line {number}: there must be {len(self._columns)} cells, got {len(cells)}")
        return [cell for cells in table for cell in cells]

    def _rows(self, ids: list[str], first: int) -> NDArray[np.int64]:
        found = [self._index.get(name, -1) for name in ids]
        if -1 in found:  # spaces around an id do not matter
            found = [self._index.get(name.strip(), -1) for name in ids]
        if -1 in found:
            at = found.index(-1)
            raise InvalidInput(f"line {first + at}: id {quote(ids[at])} is not among the features' ids")
        rows = np.array(found, dtype=np.int64)
        known = ~np.isnan(self._values[rows, 0])
        if known.any() or len(set(found)) < len(found):
            seen: set[int] = set(rows[known].tolist())
            for at, row in enumerate(found):
                if row in seen:
                    raise InvalidInput(f"line {first + at}: id {quote(ids[at])} appears twice")
                seen.add(row)
        return rows


def _cells(lines: list[str], *, first: int) -> list[list[str]]:
    table: list[list[str]] = []
    try:
        for line in lines:
            table.extend(csv.reader([line], strict=True))
    except csv.Error:
        raise InvalidInput(f"line {first + len(table)}: the quotation marks of a cell do not match") from None
    return table


def _numbers(cells: list[str], first: int) -> NDArray[np.float64]:
    try:
        if "_" in "".join(cells):  # Python would read 1_0 as 10
            raise ValueError
        values = np.array(list(map(float, cells)))
    except ValueError:
        at = next(i for i, cell in enumerate(cells) if not _is_number(cell))
        raise InvalidInput(f"line {first + at}: a prediction must be a number, got {quote(cells[at])}") from None
    finite = np.isfinite(values)
    if not finite.all():
        at = int(np.argmin(finite))
        raise InvalidInput(f"line {first + at}: a prediction must be a finite number, got {quote(cells[at])}")
    return values


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
