"""Reserved releases."""

import sqlalchemy as sa
from alembic import op

from tacit.privacy.ledger.migrations.append_only import refuse_changes

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the tables of reservations and of the releases that were made from them."""
    for name, columns in {"ledger_reservation": (), "ledger_use": ("reservation", "place")}.items():
        op.create_table(
            name,
            sa.Column("data_set", sa.Integer, sa.ForeignKey("ledger_data_set.id"), primary_key=True),
            sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
            *(sa.Column(column, sa.Integer, nullable=False) for column in columns),
            sa.Column("seal", sa.LargeBinary, nullable=False),
            sa.ForeignKeyConstraint(["data_set", "number"], ["ledger_entry.data_set", "ledger_entry.number"]),
        )
        refuse_changes(name)
