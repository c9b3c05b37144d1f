"""The rules of a competition on top of a plan, whose epsilon is for all scores of a team."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from tacit.privacy.rounding import exact, round_up

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0003"
down_revision = "0002"

_COMPETITION = sa.table(
    "server_competition",
    sa.column("id", sa.Integer),
    sa.column("rules", sa.Text),
    sa.column("most_teams", sa.Integer),
)


def upgrade() -> None:
    """Write the rules as :meth:`tacit.server.rules.Rules.to_json` does, and drop the column that they replace."""
    connection = op.get_bind()
    for row in connection.execute(sa.select(_COMPETITION)).all():
        rules = json.dumps(_planned(json.loads(row.rules), teams=row.most_teams))
        connection.execute(sa.update(_COMPETITION).where(_COMPETITION.c.id == row.id).values(rules=rules))
    op.execute("ALTER TABLE server_competition DROP COLUMN most_teams")


def _planned(rules: dict[str, Any], *, teams: int) -> dict[str, Any]:
    submissions, policy = rules["per_team"], rules["policy"]
    scores = min(submissions, policy.get("refreshes", submissions))
    final = policy if rules["final"] is None else rules["final"]
    return {
        "plan": {
            "metric": _metric(rules["metric"]),
            "policy": _without(policy, "epsilon"),
            "epsilon": round_up(scores * exact(policy["epsilon"])) if "epsilon" in policy else None,
            "submissions": submissions,
        },
        "per_day": rules["per_day"],
        "public_fraction": rules["public_fraction"],
        "final": _without(final, "epsilon"),
        "final_epsilon": final.get("epsilon"),
        "teams": teams,
    }


def _metric(written: dict[str, Any]) -> dict[str, Any]:
    return {**written, "name": "custom"} if written["name"] == "own" else _without(written, "classes")


def _without(choice: dict[str, Any], bound: str) -> dict[str, Any]:
    """Return a choice as a plan writes it, without what the plan binds."""
    return {key: value for key, value in choice.items() if key != bound}
