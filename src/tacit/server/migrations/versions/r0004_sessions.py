"""Sessions of the pages."""

from alembic import op

from tacit.server.schema import SESSION

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the table of sessions; everyone signs in once more."""
    SESSION.create(op.get_bind())
