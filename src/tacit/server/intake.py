"""Take a submission from a request: CSV, a form's file, or JSON."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio.to_thread
import numpy as np
from fastapi import Request
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.server.board import CompetitionBoard
from tacit.server.engine import ScoringEngine
from tacit.server.errors import TooLarge
from tacit.server.multipart import read_upload
from tacit.server.payloads import PredictionsRequest
from tacit.server.prediction_file import PredictionReader
from tacit.server.records import ScoredSubmission, Team

__all__ = ["DESCRIPTION", "read_predictions", "take_submission"]

_SMALL = 20_000
"""Rows up to which a submission is checked and measured at once: a thread would cost more than it frees."""

_SMALL_JSON = 1 << 20

DESCRIPTION: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {"schema": {"type": "string", "description": "the competition's columns, ids in any order"}},
            "application/json": {
                "schema": PredictionsRequest.model_json_schema(),
                "example": {"predictions": [0.5, 0.25, 0.75]},
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            },
        },
    },
    "parameters": [
        {
            "name": "note",
            "in": "query",
            "required": False,
            "description": "the team's own words about it, one line",
            "schema": {"type": "string", "maxLength": 200},
        },
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": "the submission's own id: the same id with the same predictions returns the same score",
            "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
        },
    ],
}
"""What OpenAPI says of a submission; the handler reads the body itself, piece by piece."""


async def take_submission(request: Request, team: Team, engine: ScoringEngine) -> ScoredSubmission:
    """Read, check, measure and queue a submission; return its score when it is on disk."""
    board = engine.board(team.competition)  # read once, then kept
    predictions, fields = await read_predictions(request, board, engine)
    key = request.headers.get("idempotency-key")
    note = fields.get("note", request.query_params.get("note", ""))
    if len(board.index) <= _SMALL:
        queued = engine.submit(team, predictions, id=key, note=note)
    else:
        queued = await anyio.to_thread.run_sync(lambda: engine.submit(team, predictions, id=key, note=note))
    # a client that goes away does not take its submission with it
    return await asyncio.shield(asyncio.wrap_future(queued))


async def read_predictions(
    request: Request, board: CompetitionBoard, engine: ScoringEngine
) -> tuple[NDArray[np.float64], dict[str, str]]:
    """Return predictions in the order of the rows, and a form's small fields."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return await _from_json(request, board), {}
    reader = PredictionReader(columns=board.columns, index=board.index, longest=engine.settings.limits.cell)
    fields: dict[str, str] = {}
    if kind == "multipart/form-data":
        fields = await read_upload(request.stream(), content_type=request.headers["content-type"], feed=reader.feed)
    elif kind in ("text/csv", "text/plain", "application/csv", "application/octet-stream"):
        async for piece in request.stream():
            reader.feed(piece)
    else:
        raise InvalidInput("content type must be text/csv, multipart/form-data or application/json")
    return reader.finish(), fields


async def _from_json(request: Request, board: CompetitionBoard) -> NDArray[np.float64]:
    most = board.document_bytes
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise TooLarge(
                f"a JSON submission to this competition must have at most {most:,} bytes; send it as text/csv"
            )
    if len(body) <= _SMALL_JSON:
        return _predictions(body, board)
    return await anyio.to_thread.run_sync(_predictions, body, board)


def _predictions(body: bytearray, board: CompetitionBoard) -> NDArray[np.float64]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInput('the body must be JSON as in {"predictions": [0.5, ...]}') from None
    if not isinstance(document, dict) or not set(document) <= {"predictions", "ids"}:
        raise InvalidInput("the body must be an object with predictions, and ids if they are in another order")
    given = _numbers(document.get("predictions"), rows=len(board.index))
    ids = document.get("ids")
    if ids is None:
        return given
    if not isinstance(ids, list) or not all(isinstance(name, str) for name in ids):
        raise InvalidInput("ids must be a list of strings")
    return board.order(ids, given)


def _numbers(given: object, *, rows: int) -> NDArray[np.float64]:
    if not isinstance(given, list) or len(given) != rows:
        found = f"{len(given)}" if isinstance(given, list) else "none"
        raise InvalidInput(f"must be a list of {rows} rows, got {found}", field="predictions")
    cells = [cell for row in given for cell in row] if all(isinstance(row, list) for row in given) else given
    if not all(type(cell) in (int, float) for cell in cells):
        raise InvalidInput("must be numbers, or lists of numbers of one length", field="predictions")
    try:
        return np.array(given, dtype=np.float64)
    except (ValueError, OverflowError):
        raise InvalidInput("must be numbers, or lists of numbers of one length", field="predictions") from None
