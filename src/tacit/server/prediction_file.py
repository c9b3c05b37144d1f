"""Submissions as CSV, read in pieces: an error is one sentence, and nothing large is kept or quoted."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.server.errors import TooLarge

__all__ = ["PredictionReader", "quote"]

_SHOWN = 20
_BOM = b"\xef\xbb\xbf"
_COMMA, _NEWLINE = b",\n"


def quote(cell: str) -> str:
    r"""Return a short, printable beginning of what someone sent."""
    return ascii(cell[:_SHOWN]) + ("..." if len(cell) > _SHOWN else "")


class PredictionReader:
    r"""Read predictions from pieces of a CSV file, in any order of ids."""

    def __init__(self, *, columns: Sequence[str], index: Mapping[str, int], longest: int = 1024) -> None:
        self._columns, self._index, self._longest = list(columns), index, longest
        self._ids = list(index)
        self._rest = b""
        self._line = 0
        self._started = False
        self._values = np.full((len(index), len(columns) - 1), np.nan)
        self._found = 0
        self._in_order = True

    def feed(self, piece: bytes) -> None:
        r"""Take the next bytes."""
        whole, newline, self._rest = (self._rest + piece).rpartition(b"\n")
        if newline:
            self._take(whole)
        if len(self._rest) > (self._longest + 3) * len(self._columns):
            raise TooLarge(
                f"line {self._line + 1}: a line must not be longer than {self._longest} characters per column"
            )

    def finish(self) -> NDArray[np.float64]:
        """Return the predictions in the order of the rows, a list or a table, after the last piece."""
        if self._rest:
            self._take(self._rest)
        if not self._started:
            raise InvalidInput(f"the file is empty; it must have the columns {','.join(self._columns)}")
        if self._found < len(self._index):
            missing = next(name for name, row in self._index.items() if np.isnan(self._values[row, 0]))
            raise InvalidInput(
                f"the file has {self._found} of {len(self._index)} rows; the first missing one has id {quote(missing)}"
            )
        return self._values[:, 0] if self._values.shape[1] == 1 else self._values

    def _take(self, block: bytes) -> None:
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").removesuffix(b"\r")
        if not self._started:
            header, _, block = block.removeprefix(_BOM).partition(b"\n")
            self._check_header(_decode(header))
        if block:
            self._take_rows(block)

    def _check_header(self, line: str) -> None:
        self._started, self._line = True, 1
        names = [name.strip() for name in _cells([line], first=1)[0]] if line else []
        if names != self._columns:
            raise InvalidInput(f"line 1: the columns must be {','.join(self._columns)}, got {quote(line)}")

    def _take_rows(self, block: bytes) -> None:
        first, width = self._line + 1, len(self._columns)
        if _is_regular(block, width=width, longest=self._longest):
            flat = _decode(block).replace("\n", ",").split(",")
        else:
            flat = self._flatten(_decode(block).split("\n"), first)
        count = len(flat) // width
        self._line += count
        if self._found + count > len(self._index):
            raise InvalidInput(f"the file must have {len(self._index)} rows, got more")
        rows = self._rows(flat[::width], first)
        for column in range(1, width):
            self._values[rows, column - 1] = _numbers(flat[column::width], first)
        self._found += count

    def _flatten(self, lines: list[str], first: int) -> list[str]:
        """Return the cells of lines that have quotes, blank lines between them, or something wrong."""
        table = _cells([line for line in lines if line], first=first)
        for number, cells in enumerate(table, start=first):
            if len(cells) != len(self._columns):
                raise InvalidInput(f"line {number}: there must be {len(self._columns)} cells, got {len(cells)}")
            if max(map(len, cells)) > self._longest:
                raise InvalidInput(f"line {number}: a cell must have at most {self._longest} characters")
        return [cell for cells in table for cell in cells]

    def _rows(self, ids: list[str], first: int) -> NDArray[np.int64]:
        if ids == self._ids[self._found : self._found + len(ids)] and self._in_order:
            return np.arange(self._found, self._found + len(ids))
        self._in_order = False
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
        # a carriage return alone ends no line here: old spreadsheets write files of one such line
        wrong = (
            "a carriage return must be followed by a line feed"
            if "\r" in line
            else "the quotation marks of a cell do not match"
        )
        raise InvalidInput(f"line {first + len(table)}: {wrong}") from None
    return table


def _is_regular(block: bytes, *, width: int, longest: int) -> bool:
    """Return whether every line has ``width`` cells of a good length, none of them in quotes."""
    if b'"' in block:
        return False
    characters = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero((characters == _COMMA) | (characters == _NEWLINE))
    kinds = np.append(characters[ends], np.uint8(_NEWLINE))
    if len(kinds) % width or np.diff(ends, prepend=-1, append=len(block)).max() > longest + 1:
        return False
    expected = np.array([_COMMA] * (width - 1) + [_NEWLINE], dtype=np.uint8)
    return bool((kinds.reshape(-1, width) == expected).all())


def _decode(block: bytes) -> str:
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("the file must be text in UTF-8") from None


def _numbers(cells: list[str], first: int) -> NDArray[np.float64]:
    try:
        values = pc.cast(pa.array(cells, pa.string()), pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # spaces and signs that Python reads as well, or a mistake
        values = np.array([_number(cell, line) for line, cell in enumerate(cells, start=first)])
    finite = np.isfinite(values)
    if not finite.all():
        at = int(np.argmin(finite))
        raise InvalidInput(f"line {first + at}: a prediction must be a finite number, got {quote(cells[at])}")
    return np.asarray(values, dtype=np.float64)


def _number(cell: str, line: int) -> float:
    try:
        if "_" not in cell:  # Python would read 1_0 as 10
            return float(cell)
    except ValueError:
        pass
    raise InvalidInput(f"line {line}: a prediction must be a number, got {quote(cell)}")
