"""The tables."""

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables of the ledger, its data sets and their charges."""
    op.create_table("ledger", _number("id"), _binary("secret"), _text("time"), _binary("seal"))
    op.create_table(
        "ledger_data_set",
        _number("id"),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        _text("unit"),
        sa.Column("rows", sa.Integer, nullable=False),
        _text("time"),
        _binary("seal"),
    )
    op.create_table(
        "ledger_budget",
        _data_set(),
        _number("number"),
        _text("epsilon"),
        _text("delta"),
        _text("time"),
        _binary("seal"),
    )
    op.create_table(
        "ledger_part",
        _data_set(),
        _number("number"),
        _text("name"),
        sa.Column("start", sa.BigInteger),
        sa.Column("stop", sa.BigInteger),
        _binary("seal"),
        sa.UniqueConstraint("data_set", "name"),
    )
    op.create_table(
        "ledger_version",
        _data_set(),
        _number("number"),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False, unique=True),
        _text("time"),
        _binary("seal"),
    )
    _create_entries_and_accounts()


def _create_entries_and_accounts() -> None:
    op.create_table(
        "ledger_entry",
        _data_set(),
        _number("number"),
        _text("time"),
        sa.Column("version", sa.Integer, nullable=False),
        _text("parts"),
        sa.Column("guarantee", sa.Text),
        _text("purpose"),
        sa.Column("voids", sa.Integer),
        _binary("seal"),
        sa.UniqueConstraint("data_set", "voids"),
        sa.ForeignKeyConstraint(["data_set", "version"], ["ledger_version.data_set", "ledger_version.number"]),
        sa.ForeignKeyConstraint(["data_set", "voids"], ["ledger_entry.data_set", "ledger_entry.number"]),
    )
    op.create_table(
        "ledger_account",
        _data_set(),
        _number("part"),
        sa.Column("pure", sa.Text),
        sa.Column("lower", sa.Integer),
        sa.Column("masses", sa.LargeBinary),
        sa.Column("infinity", sa.Float),
        _binary("seal"),
        sa.ForeignKeyConstraint(["data_set", "part"], ["ledger_part.data_set", "ledger_part.number"]),
    )


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=True, autoincrement=False)


def _data_set() -> sa.Column[int]:
    return sa.Column("data_set", sa.Integer, sa.ForeignKey("ledger_data_set.id"), primary_key=True)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _binary(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary, nullable=False)
