"""Budgets of parts."""

import sqlalchemy as sa
from alembic import op

from tacit.privacy.ledger.migrations.append_only import refuse_changes

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the budgets of parts; a part without one has that of its data set."""
    op.create_table(
        "ledger_limit",
        sa.Column("data_set", sa.Integer, sa.ForeignKey("ledger_data_set.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epsilon", sa.Text, nullable=False),
        sa.Column("delta", sa.Text, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["data_set", "number"], ["ledger_part.data_set", "ledger_part.number"]),
    )
    refuse_changes("ledger_limit")
