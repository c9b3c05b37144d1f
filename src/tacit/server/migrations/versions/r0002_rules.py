"""The rules of a competition as one flat value, under the name that the code has for them."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"

_COMPETITION = sa.table("server_competition", sa.column("id", sa.Integer), sa.column("rules", sa.Text))


def upgrade() -> None:
    """Rename the column of the rules, and write them as one flat value."""
    op.execute("ALTER TABLE server_competition RENAME COLUMN setting TO rules")
    connection = op.get_bind()
    for row in connection.execute(sa.select(_COMPETITION)).all():
        rules = json.dumps(_flat(json.loads(row.rules)))
        connection.execute(sa.update(_COMPETITION).where(_COMPETITION.c.id == row.id).values(rules=rules))


def _flat(setting: dict[str, Any]) -> dict[str, Any]:
    metric, policy, final = setting["metric"], setting["policy"], setting["final_policy"]
    own = metric["metric"] == "own"
    return {
        "metric": {"name": "own", "metric": metric["name"]} if own else _named(metric, "metric"),
        "policy": _named(policy, "policy"),
        **setting["budget"],
        **setting["split"],
        "final": None if final is None else _named(final, "policy"),
    }


def _named(choice: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"name": choice[kind], **{key: value for key, value in choice.items() if key != kind}}
