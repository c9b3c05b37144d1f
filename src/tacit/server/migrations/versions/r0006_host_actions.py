"""The standing of a team, and the record of what the host did."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add a column, all teams being active, and a table."""
    op.execute("ALTER TABLE server_team ADD COLUMN standing TEXT NOT NULL DEFAULT 'active'")
    op.create_table(
        "server_action",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("competition", sa.Integer, sa.ForeignKey("server_competition.id"), nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("time", "what", "whom", "reason")),
    )
