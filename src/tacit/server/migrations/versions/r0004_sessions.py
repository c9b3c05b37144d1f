"""Sessions of the pages."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the table of sessions; everyone signs in once more."""
    op.create_table(
        "server_session",
        sa.Column("secret", sa.LargeBinary, primary_key=True),
        sa.Column("team", sa.Integer, sa.ForeignKey("server_team.id"), nullable=True),
        sa.Column("expires", sa.Text, nullable=False),
    )
