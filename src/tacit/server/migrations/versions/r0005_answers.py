"""Live answers that all teams share, and submissions that are kept for the end."""

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add two columns: until now every submission was answered."""
    op.execute("ALTER TABLE server_competition ADD COLUMN answers INTEGER")
    op.execute("ALTER TABLE server_submission ADD COLUMN answered BOOLEAN NOT NULL DEFAULT TRUE")
