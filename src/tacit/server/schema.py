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
)

__all__ = ["COMPETITION", "FILE", "FINAL", "FLAG", "INVITE", "PREDICTION", "SERVER", "SUBMISSION", "TABLES", "TEAM"]

TABLES = MetaData()


def _id() -> Column[int]:
    return Column("id", Integer, primary_key=True)


def _to(name: str, *, primary_key: bool = False) -> Column[int]:
    target = ForeignKey(f"server_{name}.id")
    return Column(name, Integer, target, primary_key=primary_key, nullable=False, autoincrement=False)


def _text(name: str, *, nullable: bool = False, unique: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable, unique=unique)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


def _binary(name: str, *, nullable: bool = False, unique: bool = False) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=nullable, unique=unique)


SERVER = Table("server", TABLES, _id(), _text("time"), _binary("key_check"), _binary("admin", nullable=True))
"""One row; ``key_check`` is a known text under the key, ``admin`` the hash of the admin token."""

COMPETITION = Table(
    "server_competition",
    TABLES,
    _id(),
    _text("slug", unique=True),
    _text("name"),
    _text("description"),
    _text("rules"),
    _text("opens", nullable=True),
    _text("closes", nullable=True),
    _count("most_teams"),
    Column("public", Boolean, nullable=False),
    Column("delta", Float, nullable=False),
    _count("rows"),
    _count("classes"),
    _text("data_set", nullable=True),
    Column("parted", Boolean, nullable=False),
    _text("time"),
    _text("finished", nullable=True),
)
"""``data_set`` is the labels' name in the ledger, ``parted`` whether its parts there are this competition's split."""

FILE = Table(
    "server_file",
    TABLES,
    _to("competition", primary_key=True),
    Column("kind", Text, primary_key=True),
    _binary("content"),
)
"""The features as CSV; the labels and the split encrypted."""

INVITE = Table("server_invite", TABLES, _id(), _to("competition"), _binary("code", unique=True), _text("time"))

TEAM = Table(
    "server_team",
    TABLES,
    _id(),
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
    UniqueConstraint("competition", "name"),
)
"""``entry`` is the charge for ``reserved`` scores, of which ``drawn`` were shown; ``state`` is sealed."""

SUBMISSION = Table(
    "server_submission",
    TABLES,
    _to("team", primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    _text("key"),
    _text("time"),
    _text("digest"),
    Column("charged", Boolean, nullable=False),
    Column("released", Float, nullable=False),
    _text("text"),
    Column("inspected", Boolean, nullable=False),
    _text("sketch", nullable=True),
    UniqueConstraint("team", "key"),
    Index("server_submission_inspected", "inspected"),
    Index("server_submission_digest", "digest"),
)
"""``key`` is the id that the team knows; ``digest`` the hash of the predictions, ``sketch`` what tells near copies."""


def _to_submission(*, primary_key: bool) -> tuple[Column[int] | ForeignKeyConstraint, ...]:
    return (
        Column("team", Integer, primary_key=primary_key, nullable=False, autoincrement=False),
        Column("number", Integer, primary_key=primary_key, nullable=False, autoincrement=False),
        ForeignKeyConstraint(["team", "number"], ["server_submission.team", "server_submission.number"]),
    )


PREDICTION = Table("server_prediction", TABLES, *_to_submission(primary_key=True), _binary("content"))
"""Apart from the submissions, which are listed often; 64-bit floats, little-endian."""

FLAG = Table(
    "server_flag",
    TABLES,
    _id(),
    *_to_submission(primary_key=False),
    _text("finding"),
    _text("reason"),
    Column("measured", Float, nullable=False),
    Column("boundary", Float, nullable=False),
)

FINAL = Table(
    "server_final",
    TABLES,
    _to("competition", primary_key=True),
    _to("team", primary_key=True),
    _count("rank"),
    _count("public_rank"),
    Column("released", Float, nullable=False),
    _text("text"),
)
