"""The tables."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables of competitions, teams and submissions."""
    op.create_table("server", _id(), _text("time"), _binary("key_check"), _binary("admin", nullable=True))
    op.create_table(
        "server_competition",
        _id(),
        _text("slug", unique=True),
        _text("name"),
        _text("description"),
        _text("setting"),
        _text("opens", nullable=True),
        _text("closes", nullable=True),
        _count("most_teams"),
        sa.Column("public", sa.Boolean, nullable=False),
        sa.Column("delta", sa.Float, nullable=False),
        _count("rows"),
        _count("classes"),
        _text("data_set", nullable=True),
        sa.Column("parted", sa.Boolean, nullable=False),
        _text("time"),
        _text("finished", nullable=True),
    )
    op.create_table(
        "server_file",
        _to("competition", primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        _binary("content"),
    )
    op.create_table("server_invite", _id(), _to("competition"), _binary("code", unique=True), _text("time"))
    _create_teams_and_submissions()


def _create_teams_and_submissions() -> None:
    op.create_table(
        "server_team",
        _id(),
        _to("competition"),
        sa.Column("invite", sa.Integer, sa.ForeignKey("server_invite.id"), nullable=False, unique=True),
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
        sa.UniqueConstraint("competition", "name"),
    )
    op.create_table(
        "server_submission",
        _to("team", primary_key=True),
        _number(),
        _text("key"),
        _text("time"),
        _text("digest"),
        sa.Column("charged", sa.Boolean, nullable=False),
        sa.Column("released", sa.Float, nullable=False),
        _text("text"),
        sa.Column("inspected", sa.Boolean, nullable=False),
        _text("sketch", nullable=True),
        sa.UniqueConstraint("team", "key"),
    )
    op.create_index("server_submission_inspected", "server_submission", ["inspected"])
    op.create_index("server_submission_digest", "server_submission", ["digest"])
    _create_what_hangs_on_submissions()


def _create_what_hangs_on_submissions() -> None:
    op.create_table("server_prediction", *_to_submission(primary_key=True), _binary("content"))
    op.create_table(
        "server_flag",
        _id(),
        *_to_submission(primary_key=False),
        _text("finding"),
        _text("reason"),
        sa.Column("measured", sa.Float, nullable=False),
        sa.Column("boundary", sa.Float, nullable=False),
    )
    op.create_table(
        "server_final",
        _to("competition", primary_key=True),
        _to("team", primary_key=True),
        _count("rank"),
        _count("public_rank"),
        sa.Column("released", sa.Float, nullable=False),
        _text("text"),
    )


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _to(name: str, *, primary_key: bool = False) -> sa.Column[int]:
    target = sa.ForeignKey(f"server_{name}.id")
    return sa.Column(name, sa.Integer, target, primary_key=primary_key, nullable=False, autoincrement=False)


def _number(*, primary_key: bool = True) -> sa.Column[int]:
    return sa.Column("number", sa.Integer, primary_key=primary_key, nullable=False, autoincrement=False)


def _to_submission(*, primary_key: bool) -> tuple[sa.Column[int] | sa.ForeignKeyConstraint, ...]:
    return (
        sa.Column("team", sa.Integer, primary_key=primary_key, nullable=False, autoincrement=False),
        _number(primary_key=primary_key),
        sa.ForeignKeyConstraint(["team", "number"], ["server_submission.team", "server_submission.number"]),
    )


def _text(name: str, *, nullable: bool = False, unique: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable, unique=unique)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def _binary(name: str, *, nullable: bool = False, unique: bool = False) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary, nullable=nullable, unique=unique)
