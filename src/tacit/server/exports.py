"""Everything about a competition but its labels, as one JSON document or as CSV files in a ZIP archive."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, RowMapping, Select, select

from tacit.server import standings, trail
from tacit.server.board import CompetitionBoard, from_stored
from tacit.server.organizers import organizers
from tacit.server.schema import PREDICTION, SUBMISSION, TEAM

__all__ = [
    "Tables",
    "csv_archive",
    "csv_of",
    "json_document",
    "prediction_csv",
    "prediction_files",
    "safe_cell",
    "tables_of",
]

Tables = Mapping[str, Iterable[Mapping[str, Any]]]
_PIECE = 1 << 16
_ROWS = 1_000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def tables_of(connection: Connection, competition: RowMapping, board: CompetitionBoard) -> Tables:
    """Return what is known of a competition, in the order of the archive's files; no token and no label is in it."""
    number, slug = competition["id"], competition["slug"]
    mine = TEAM.c.competition == number
    teams = select(*(TEAM.c[name] for name in ("name", "joined", "standing", "used", "drawn", "reserved", "entry")))
    made = ("number", "key", "time", "released", "text", "answered", "charged", "digest", "inspected", "note")
    scores = select(TEAM.c.name.label("team"), *(SUBMISSION.c[name] for name in made))
    scores = scores.join(TEAM, SUBMISSION.c.team == TEAM.c.id).where(mine)
    return {
        "competition": [
            {key: value for key, value in competition.items() if key != "id" and not isinstance(value, bytes)}
        ],
        "teams": _stream(connection, teams.where(mine).order_by(TEAM.c.id)),
        "submissions": _stream(connection, scores.order_by(SUBMISSION.c.team, SUBMISSION.c.number)),
        "flags": map(_plain, map(asdict, standings.flags(connection, number))),
        "final": map(asdict, standings.final(connection, number, board)),
        "organizers": map(_plain, map(asdict, organizers(connection, slug))),
        "actions": map(_plain, map(asdict, trail.actions(connection, slug))),
    }


def json_document(tables: Tables) -> Iterator[bytes]:
    """Yield one JSON object with a list for each table, a row in each line."""
    yield b"{"
    for place, (name, rows) in enumerate(tables.items()):
        yield f"{',' if place else ''}\n{json.dumps(name)}: [".encode()
        for number, row in enumerate(rows):
            yield f"{',' if number else ''}\n{json.dumps(row, ensure_ascii=False)}".encode()
        yield b"]"
    yield b"\n}\n"


def csv_archive(tables: Tables, predictions: Iterable[tuple[str, bytes]] = ()) -> Iterator[bytes]:
    """Yield a ZIP archive, piece by piece: a CSV file for each table that has rows, and files of predictions."""
    sink = _PieceSink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, rows in tables.items():
            with archive.open(f"{name}.csv", "w") as file:
                for lines in _csv_lines(rows):
                    file.write(lines)
                    yield from sink.taken(_PIECE)
        for name, content in predictions:
            archive.writestr(name, content)
            yield from sink.taken(_PIECE)
    yield from sink.taken(0)


def safe_cell(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: such a text begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def prediction_files(connection: Connection, competition: int, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each submission's file, under its team's number and its own."""
    query = (
        select(PREDICTION)
        .join(TEAM, PREDICTION.c.team == TEAM.c.id)
        .where(TEAM.c.competition == competition)
        .order_by(PREDICTION.c.team, PREDICTION.c.number)
    )
    for row in _stream(connection, query, rows=10):
        content = prediction_csv(from_stored(row["content"], rows=len(ids)), ids=ids)
        yield f"predictions/team-{row['team']}-{row['number']}.csv", content


def prediction_csv(predictions: NDArray[np.float64], *, ids: Sequence[str]) -> bytes:
    """Return predictions as the file of a submission."""
    values = predictions.reshape(len(ids), -1)
    head = ("prediction",) if values.shape[1] == 1 else tuple(f"class_{k}" for k in range(values.shape[1]))
    lines = ({"id": name, **dict(zip(head, cells, strict=True))} for name, cells in zip(ids, values, strict=True))
    return csv_of(lines)


class _PieceSink(io.RawIOBase):
    """A file that is written and given on, piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401
        self._pieces.append(bytes(data))
        self._size += len(data)
        return len(data)

    def taken(self, least: int) -> Iterator[bytes]:
        """Yield what was written, where it is so many bytes at least."""
        if self._pieces and self._size >= least:
            pieces, self._pieces, self._size = self._pieces, [], 0
            yield b"".join(pieces)


def csv_of(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as one CSV file."""
    return b"".join(_csv_lines(rows))


def _csv_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield CSV with a header, many rows at a time."""
    text = io.StringIO()
    writer = csv.writer(text)
    for number, row in enumerate(rows):
        if number == 0:
            writer.writerow(row)
        writer.writerow([safe_cell(value) for value in row.values()])
        if text.tell() > _PIECE:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()


def _stream(connection: Connection, query: Select[Any], *, rows: int = _ROWS) -> Iterator[dict[str, Any]]:
    for row in connection.execution_options(yield_per=rows).execute(query).mappings():
        yield dict(row)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in row.items()}
