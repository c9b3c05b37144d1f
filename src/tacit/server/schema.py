"""The server's tables. No column holds a label, an exact score or a token that would let someone in."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, Table, Text, UniqueConstraint

from tacit.server.columns import binary, count, flag, key, number, text, to, to_submission

__all__ = ["COMPETITION", "FILE", "FINAL", "FLAG", "INVITE", "PREDICTION", "SERVER", "SUBMISSION", "TABLES", "TEAM"]

TABLES = MetaData()


SERVER = Table("server", TABLES, key(), text("time"), binary("key_check"), binary("admin", nullable=True))
"""One row; ``key_check`` is a known text under the key, ``admin`` the hash of the admin token."""

COMPETITION = Table(
    "server_competition",
    TABLES,
    key(),
    text("slug", unique=True),
    text("name"),
    text("description"),
    text("rules"),
    text("opens", nullable=True),
    text("closes", nullable=True),
    flag("public"),
    number("delta"),
    count("rows"),
    count("classes"),
    text("data_set", nullable=True),
    flag("parted"),
    text("time"),
    text("finished", nullable=True),
)
"""``data_set`` is the labels' name in the ledger, ``parted`` whether its parts there are this competition's split."""

FILE = Table(
    "server_file",
    TABLES,
    to("competition", primary_key=True),
    Column("kind", Text, primary_key=True),
    binary("content"),
)
"""The features as CSV; the labels and the split encrypted."""

INVITE = Table("server_invite", TABLES, key(), to("competition"), binary("code", unique=True), text("time"))

TEAM = Table(
    "server_team",
    TABLES,
    key(),
    to("competition"),
    Column("invite", Integer, ForeignKey("server_invite.id"), nullable=False, unique=True),
    text("name"),
    binary("token", unique=True),
    text("joined"),
    text("entry", nullable=True),
    count("reserved"),
    count("drawn"),
    count("used"),
    text("day"),
    count("used_today"),
    binary("state"),
    UniqueConstraint("competition", "name"),
)
"""``entry`` is the charge for ``reserved`` scores, of which ``drawn`` were shown; ``state`` is sealed."""

SUBMISSION = Table(
    "server_submission",
    TABLES,
    to("team", primary_key=True),
    count("number", primary_key=True),
    text("key"),
    text("time"),
    text("digest"),
    flag("charged"),
    number("released"),
    text("text"),
    flag("inspected"),
    text("sketch", nullable=True),
    UniqueConstraint("team", "key"),
    Index("server_submission_inspected", "inspected"),
    Index("server_submission_digest", "digest"),
)
"""``key`` is the id that the team knows; ``digest`` the hash of the predictions, ``sketch`` what tells near copies."""


PREDICTION = Table("server_prediction", TABLES, *to_submission(primary_key=True), binary("content"))
"""Apart from the submissions, which are listed often; 64-bit floats, little-endian."""

FLAG = Table(
    "server_flag",
    TABLES,
    key(),
    *to_submission(primary_key=False),
    text("finding"),
    text("reason"),
    number("measured"),
    number("boundary"),
)

FINAL = Table(
    "server_final",
    TABLES,
    to("competition", primary_key=True),
    to("team", primary_key=True),
    count("rank"),
    count("public_rank"),
    number("released"),
    text("text"),
)
