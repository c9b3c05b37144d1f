"""Samples of rows, by which data sets with the same rows are found."""

import sqlalchemy as sa
from alembic import op

from tacit.privacy.ledger.migrations.append_only import refuse_changes

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the samples; those of data sets that are known already stay empty, because no data are stored."""
    op.create_table(
        "ledger_sketch",
        sa.Column("data_set", sa.Integer, sa.ForeignKey("ledger_data_set.id"), primary_key=True),
        *(sa.Column(name, sa.LargeBinary, nullable=False) for name in ("rows", "labels", "runs")),
        sa.Column("seal", sa.LargeBinary, nullable=False),
    )
    refuse_changes("ledger_sketch")
