"""Which request a charge was for, and the release that was delivered for it."""

import sqlalchemy as sa
from alembic import op

from tacit.privacy.ledger.migrations.append_only import refuse_changes

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0003"
down_revision = "0002"

_TABLES = {
    "ledger_request": (sa.Column("key", sa.LargeBinary, nullable=False),),
    "ledger_delivery": (
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("time", sa.Text, nullable=False),
    ),
}


def upgrade() -> None:
    """Create two append-only tables beside the entries, whose rows and seals stay as they are."""
    for name, columns in _TABLES.items():
        op.create_table(
            name,
            sa.Column("data_set", sa.Integer, sa.ForeignKey("ledger_data_set.id"), primary_key=True),
            sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
            *columns,
            sa.Column("seal", sa.LargeBinary, nullable=False),
            sa.ForeignKeyConstraint(["data_set", "number"], ["ledger_entry.data_set", "ledger_entry.number"]),
        )
        refuse_changes(name)
