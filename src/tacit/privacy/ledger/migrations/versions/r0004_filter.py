"""Accounts as sums of a filter instead of a distribution, and the chain of the entries."""

import sqlalchemy as sa
from alembic import op

from tacit.privacy.ledger.migrations.append_only import refuse_changes

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Replace the accounts, which are computed anew from the entries, and create the append-only chain."""
    op.drop_table("ledger_account")
    op.create_table(
        "ledger_account",
        _data_set(),
        _number("part"),
        sa.Column("last", sa.Integer, nullable=False),
        sa.Column("sums", sa.Text, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["data_set", "part"], ["ledger_part.data_set", "ledger_part.number"]),
    )
    op.create_table(
        "ledger_link",
        _data_set(),
        _number("number"),
        sa.Column("nonce", sa.LargeBinary, nullable=False),
        sa.Column("budget", sa.Integer, nullable=False),
        sa.Column("link", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["data_set", "number"], ["ledger_entry.data_set", "ledger_entry.number"]),
        sa.ForeignKeyConstraint(["data_set", "budget"], ["ledger_budget.data_set", "ledger_budget.number"]),
    )
    refuse_changes("ledger_link")


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=True, autoincrement=False)


def _data_set() -> sa.Column[int]:
    return sa.Column("data_set", sa.Integer, sa.ForeignKey("ledger_data_set.id"), primary_key=True)
