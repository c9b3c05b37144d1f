"""The standing of a team, and the record of what the host did."""

from alembic import op

from tacit.server.schema import ACTION

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add a column, all teams being active, and a table."""
    op.execute("ALTER TABLE server_team ADD COLUMN standing TEXT NOT NULL DEFAULT 'active'")
    ACTION.create(op.get_bind())
