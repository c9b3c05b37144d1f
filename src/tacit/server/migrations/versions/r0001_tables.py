"""The tables."""

import sqlalchemy as sa
from alembic import op

from tacit.server.columns import binary, count, flag, key, number, text, to, to_submission

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables of competitions, teams and submissions."""
    op.create_table("server", key(), text("time"), binary("key_check"), binary("admin", nullable=True))
    op.create_table(
        "server_competition",
        key(),
        text("slug", unique=True),
        text("name"),
        text("description"),
        text("setting"),
        text("opens", nullable=True),
        text("closes", nullable=True),
        count("most_teams"),
        flag("public"),
        number("delta"),
        count("rows"),
        count("classes"),
        text("data_set", nullable=True),
        flag("parted"),
        text("time"),
        text("finished", nullable=True),
    )
    op.create_table(
        "server_file",
        to("competition", primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        binary("content"),
    )
    op.create_table("server_invite", key(), to("competition"), binary("code", unique=True), text("time"))
    _create_teams_and_submissions()


def _create_teams_and_submissions() -> None:
    op.create_table(
        "server_team",
        key(),
        to("competition"),
        sa.Column("invite", sa.Integer, sa.ForeignKey("server_invite.id"), nullable=False, unique=True),
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
        sa.UniqueConstraint("competition", "name"),
    )
    op.create_table(
        "server_submission",
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
        sa.UniqueConstraint("team", "key"),
    )
    op.create_index("server_submission_inspected", "server_submission", ["inspected"])
    op.create_index("server_submission_digest", "server_submission", ["digest"])
    _create_what_hangs_on_submissions()


def _create_what_hangs_on_submissions() -> None:
    op.create_table("server_prediction", *to_submission(primary_key=True), binary("content"))
    op.create_table(
        "server_flag",
        key(),
        *to_submission(primary_key=False),
        text("finding"),
        text("reason"),
        number("measured"),
        number("boundary"),
    )
    op.create_table(
        "server_final",
        to("competition", primary_key=True),
        to("team", primary_key=True),
        count("rank"),
        count("public_rank"),
        number("released"),
        text("text"),
    )
