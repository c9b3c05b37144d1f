"""Organizers, archived and deleted competitions, and a trail that outlives them."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0007"
down_revision = "0006"

_COPY = """
INSERT INTO server_trail (slug, time, who, what, whom, reason)
SELECT c.slug, a.time, 'host', a.what, a.whom, a.reason
FROM server_action a JOIN server_competition c ON c.id = a.competition ORDER BY a.id
"""


def upgrade() -> None:
    """Add two columns and three tables; what the host did so far moves into the trail."""
    op.execute("ALTER TABLE server_competition ADD COLUMN archived TEXT")
    op.create_table(
        "server_organizer",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("competition", sa.Integer, sa.ForeignKey("server_competition.id"), nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("name", "role", "added")),
        sa.Column("token", sa.LargeBinary, nullable=False, unique=True),
        sa.UniqueConstraint("competition", "name"),
    )
    op.execute("ALTER TABLE server_session ADD COLUMN organizer INTEGER REFERENCES server_organizer (id)")
    op.create_table(
        "server_deleted",
        sa.Column("slug", sa.Text, primary_key=True),
        sa.Column("data_set", sa.Text, nullable=True),
        sa.Column("time", sa.Text, nullable=False),
    )
    op.create_table(
        "server_trail",
        sa.Column("id", sa.Integer, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("slug", "time", "who", "what", "whom", "reason")),
    )
    op.execute(_COPY)
    op.drop_table("server_action")
