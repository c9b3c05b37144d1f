"""What a team keeps of its own: the files it sent, its notes about them, and the one it wants ranked."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from tacit.privacy.errors import InvalidInput
from tacit.server.board import CompetitionBoard, from_stored
from tacit.server.competition import find
from tacit.server.errors import Conflict, NotFound
from tacit.server.exports import prediction_csv
from tacit.server.records import Team
from tacit.server.schema import PREDICTION, SUBMISSION, TEAM

__all__ = ["check_note", "choose_final", "submitted_file"]

_NOTE = 200


def check_note(note: str) -> str:
    """Return a note about a submission, one line or nothing, or raise."""
    if len(note) > _NOTE or (note and not note.isprintable()):
        raise InvalidInput(f"must be one line of at most {_NOTE} printable characters, got {note[:40]!r}", field="note")
    return note


def choose_final(connection: Connection, team: Team, number: int | None) -> None:
    """Choose which submission is ranked at the end; None: the last one, as long as the team makes more."""
    if find(connection, team.competition, lock=True)["finished"] is not None:
        raise Conflict("the final ranking was released: another submission cannot be chosen")
    if number is not None:
        _check_made(connection, team, number)
    connection.execute(update(TEAM).where(TEAM.c.id == team.id).values(chosen=number))


def submitted_file(connection: Connection, team: Team, number: int, *, board: CompetitionBoard) -> bytes:
    """Return what a team submitted, as CSV: its numbers as they were read, in the order of the features."""
    _check_made(connection, team, number)
    mine = (PREDICTION.c.team == team.id, PREDICTION.c.number == number)
    content = bytes(connection.execute(select(PREDICTION.c.content).where(*mine)).scalar_one())
    return prediction_csv(from_stored(content, rows=len(board.index)), ids=board.features.ids)


def _check_made(connection: Connection, team: Team, number: int) -> None:
    mine = (SUBMISSION.c.team == team.id, SUBMISSION.c.number == number)
    if not 0 < number < 2**31 or connection.execute(select(SUBMISSION.c.number).where(*mine)).first() is None:
        raise NotFound(f"this team has no submission {number}")
