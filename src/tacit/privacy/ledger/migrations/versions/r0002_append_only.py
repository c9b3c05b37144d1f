"""Triggers that refuse to change or delete what was written."""

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"

_TABLES = ("ledger", "ledger_data_set", "ledger_budget", "ledger_part", "ledger_version", "ledger_entry")


def upgrade() -> None:
    """Make every table but the accounts append-only."""
    if op.get_bind().dialect.name == "sqlite":
        _refuse_in_sqlite()
    else:
        _refuse_in_postgresql()


def _refuse_in_sqlite() -> None:
    for table in _TABLES:
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )


def _refuse_in_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION ledger_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$"
    )
    for table in _TABLES:
        op.execute(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_append_only()"
        )
