"""The best score of each team, kept up to date on write, and which submissions improved it."""

from alembic import op

__all__ = ["down_revision", "revision", "upgrade"]

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns; the server fills them when it starts, because it knows which scores are better."""
    for column in ("number INTEGER", "released DOUBLE PRECISION", "text TEXT", "time TEXT"):
        op.execute(f"ALTER TABLE server_team ADD COLUMN best_{column}")
    op.execute("ALTER TABLE server_submission ADD COLUMN improved BOOLEAN NOT NULL DEFAULT FALSE")
    op.execute("CREATE INDEX server_submission_improved ON server_submission (team, improved)")
    op.execute("ALTER TABLE server_submission ADD COLUMN competition INTEGER")
    op.execute(
        "UPDATE server_submission SET competition = "
        "(SELECT competition FROM server_team WHERE server_team.id = server_submission.team)"
    )
    op.execute("CREATE INDEX server_submission_history ON server_submission (competition, time, number)")
