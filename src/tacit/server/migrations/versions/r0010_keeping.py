"""Notes of teams about their submissions, and the submission that each wants ranked."""

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0010"
down_revision = "0008"


def upgrade() -> None:
    """Add two columns: until now the last submission was ranked."""
    op.execute("ALTER TABLE server_team ADD COLUMN chosen INTEGER")
    op.execute("ALTER TABLE server_submission ADD COLUMN note TEXT NOT NULL DEFAULT ''")
