"""The server's tables. No column holds a label, an exact score or a token that would let someone in."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    true,
)

__all__ = [
    "BEST",
    "COMPETITION",
    "DELETED",
    "FILE",
    "FINAL",
    "FLAG",
    "INVITE",
    "ORGANIZER",
    "PREDICTION",
    "SERVER",
    "SESSION",
    "SUBMISSION",
    "TABLES",
    "TEAM",
    "TRAIL",
]


def _key() -> Column[int]:
    return Column("id", Integer, primary_key=True)


def _to(name: str, *, primary_key: bool = False) -> Column[int]:
    """Return a reference to a row of another table."""
    target = ForeignKey(f"server_{name}.id")
    return Column(name, Integer, target, primary_key=primary_key, nullable=False, autoincrement=False)


def _text(name: str, *, nullable: bool = False, unique: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable, unique=unique)


def _count(name: str, *, primary_key: bool = False) -> Column[int]:
    return Column(name, Integer, primary_key=primary_key, nullable=False, autoincrement=False)


def _number(name: str) -> Column[float]:
    return Column(name, Float, nullable=False)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False)


def _binary(name: str, *, nullable: bool = False, unique: bool = False) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=nullable, unique=unique)


def _to_submission(*, primary_key: bool) -> tuple[Column[int] | ForeignKeyConstraint, ...]:
    """Return a reference to a submission: its team and its number."""
    columns = (_count("team", primary_key=primary_key), _count("number", primary_key=primary_key))
    return (*columns, ForeignKeyConstraint(["team", "number"], ["server_submission.team", "server_submission.number"]))


TABLES = MetaData()


SERVER = Table("server", TABLES, _key(), _text("time"), _binary("key_check"), _binary("admin", nullable=True))
"""One row; ``key_check`` is a known text under the key, ``admin`` the hash of the admin token."""

COMPETITION = Table(
    "server_competition",
    TABLES,
    _key(),
    _text("slug", unique=True),
    _text("name"),
    _text("description"),
    _text("rules"),
    _text("opens", nullable=True),
    _text("closes", nullable=True),
    _flag("public"),
    _number("delta"),
    _count("rows"),
    _count("classes"),
    _text("data_set", nullable=True),
    _flag("parted"),
    _text("time"),
    _text("finished", nullable=True),
    Column("answers", Integer, nullable=True),
    _text("archived", nullable=True),
)
"""``data_set`` is the labels' name in the ledger, ``parted`` whether its parts there are this competition's split;
``answers`` is how many live scores each team gets where all teams share them."""

FILE = Table(
    "server_file",
    TABLES,
    _to("competition", primary_key=True),
    Column("kind", Text, primary_key=True),
    _binary("content"),
)
"""The features as CSV; the labels and the split encrypted."""

INVITE = Table("server_invite", TABLES, _key(), _to("competition"), _binary("code", unique=True), _text("time"))

TEAM = Table(
    "server_team",
    TABLES,
    _key(),
    _to("competition"),
    Column("invite", Integer, ForeignKey("server_invite.id"), nullable=False, unique=True),
    _text("name"),
    _binary("token", unique=True),
    _text("joined"),
    _text("entry", nullable=True),
    _count("reserved"),
    _count("drawn"),
    _count("used"),
    _text("day"),
    _count("used_today"),
    _binary("state"),
    Column("standing", Text, nullable=False, server_default="active"),
    Column("best_number", Integer, nullable=True),
    Column("best_released", Float, nullable=True),
    _text("best_text", nullable=True),
    _text("best_time", nullable=True),
    Column("chosen", Integer, nullable=True),
    UniqueConstraint("competition", "name"),
)
"""``entry`` is the charge for ``reserved`` scores, of which ``drawn`` were shown; ``state`` is sealed. Where teams
share live scores, ``reserved`` is this team's part of them. The best of its scores, the first of equal ones, is kept
up to date with every submission, so that a leaderboard reads no submission. ``chosen``
is the submission to be ranked at the end, where it is not the last one."""

BEST = ("best_number", "best_released", "best_text", "best_time")

ORGANIZER = Table(
    "server_organizer",
    TABLES,
    _key(),
    _to("competition"),
    _text("name"),
    _text("role"),
    _binary("token", unique=True),
    _text("added"),
    UniqueConstraint("competition", "name"),
)
"""Whom the host lets run one competition."""

SESSION = Table(
    "server_session",
    TABLES,
    Column("secret", LargeBinary, primary_key=True),
    Column("team", Integer, ForeignKey("server_team.id"), nullable=True),
    Column("organizer", Integer, ForeignKey("server_organizer.id"), nullable=True),
    _text("expires"),
)
"""Who signed in on the pages: a team, an organizer, or the host where there is neither."""

TRAIL = Table(
    "server_trail",
    TABLES,
    _key(),
    _text("slug"),
    _text("time"),
    _text("who"),
    _text("what"),
    _text("whom"),
    _text("reason"),
)
"""What the host and the organizers did, and why; it stays when the competition is deleted."""

DELETED = Table(
    "server_deleted", TABLES, Column("slug", Text, primary_key=True), _text("data_set", nullable=True), _text("time")
)
"""Competitions that were deleted: their charges stay in the ledger, and their short names are not used again."""

SUBMISSION = Table(
    "server_submission",
    TABLES,
    _to("team", primary_key=True),
    _count("number", primary_key=True),
    _text("key"),
    _text("time"),
    _text("digest"),
    _flag("charged"),
    _number("released"),
    _text("text"),
    _flag("inspected"),
    _text("sketch", nullable=True),
    Column("answered", Boolean, nullable=False, server_default=true()),
    Column("improved", Boolean, nullable=False, server_default=false()),
    Column("competition", Integer, nullable=True),
    Column("note", Text, nullable=False, server_default=""),
    UniqueConstraint("team", "key"),
    Index("server_submission_inspected", "inspected"),
    Index("server_submission_digest", "digest"),
    Index("server_submission_improved", "team", "improved"),
    Index("server_submission_history", "competition", "time", "number"),
)
"""``key`` is the id that the team knows; ``digest`` the hash of the predictions, ``sketch`` what tells near copies.
Where it is not ``answered`` it is kept for the end, and its score is 0 and its text empty.
It ``improved`` where no earlier score of its team was as good. Its ``competition`` is its team's, so that the newest
scores of all teams are found without looking at the others."""


PREDICTION = Table("server_prediction", TABLES, *_to_submission(primary_key=True), _binary("content"))
"""Apart from the submissions, which are listed often; 64-bit floats, little-endian."""

FLAG = Table(
    "server_flag",
    TABLES,
    _key(),
    *_to_submission(primary_key=False),
    _text("finding"),
    _text("reason"),
    _number("measured"),
    _number("boundary"),
)

FINAL = Table(
    "server_final",
    TABLES,
    _to("competition", primary_key=True),
    _to("team", primary_key=True),
    _count("rank"),
    _count("public_rank"),
    _number("released"),
    _text("text"),
)
"""``public_rank`` is 0 for a team without a live score."""
