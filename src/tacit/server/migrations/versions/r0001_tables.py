"""The first tables. New databases begin at the last revision, with the tables of :mod:`tacit.server.schema`."""

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing: a database that has this revision has its tables."""
