"""What can be read: competitions, scores, leaderboards, flags and the spend."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import RowMapping, func, select

from tacit.server import attachments, exports, organizers, standings, trail
from tacit.server.accounts import LedgerAccounts
from tacit.server.board import CompetitionBoard
from tacit.server.competition import COMPETITIONS, describe, find, read_board, rules_of
from tacit.server.database import ServerDatabase
from tacit.server.errors import NotFound
from tacit.server.joining import TEAMS, team_of
from tacit.server.key import ServerKey
from tacit.server.limits import FewAtOnce
from tacit.server.records import (
    BoardView,
    Competition,
    FinalPlace,
    HostAction,
    LabelSpend,
    LeaderboardPlace,
    Organizer,
    RemainingSubmissions,
    ScoredSubmission,
    SubmissionFlag,
    Team,
)
from tacit.server.rules import Rules
from tacit.server.schema import COMPETITION, SUBMISSION, TEAM
from tacit.server.settings import ServerSettings
from tacit.server.submission import used_on
from tacit.server.upkeep import disagreements

__all__ = ["CompetitionReader"]


_TEAM = select(TEAM, COMPETITION.c.answers).join(COMPETITION, TEAM.c.competition == COMPETITION.c.id)


class CompetitionReader:
    """The part of the engine that only reads."""

    def __init__(self, settings: ServerSettings, *, key: ServerKey) -> None:
        self.settings = settings
        self._key = key
        self._database = ServerDatabase.at(settings.database_location)
        self._database.prepare()
        self._accounts = LedgerAccounts(settings.ledger_location, key=None if settings.ledger else key)
        self._boards: dict[str, CompetitionBoard] = {}
        self._exports = FewAtOnce(2)  # each holds a connection of the database for as long as its reader takes
        self._views: dict[str, BoardView] = {}
        self._fill_best()

    def disagreement(self) -> str | None:
        """Return the first thing on which database and ledger disagree; None if they agree."""
        with self._database.reading() as connection:
            return next(disagreements(connection, self._accounts), None)

    def remaining(self, team: Team) -> RemainingSubmissions:
        """Return what is left of the team's budget."""
        rules = self.board(team.competition).rules
        with self._database.reading() as connection:
            row = connection.execute(_TEAM.where(TEAM.c.id == team.id)).mappings().one()
            today = used_on(connection, row, day=self.settings.clock().date().isoformat())
        total = max(0, rules.plan.submissions - row["used"])
        left = None if rules.per_day is None else max(0, min(total, rules.per_day - today))
        live = None if row["answers"] is None else row["answers"] - row["drawn"]
        return RemainingSubmissions(total=total, today=left, live=live, chosen=row["chosen"])

    def own_scores(self, team: Team, *, most: int = 1_000_000, skip: int = 0) -> tuple[ScoredSubmission, ...]:
        """Return the team's released scores, oldest first: the newest ``most`` but those to skip."""
        with self._database.reading() as connection:
            mine = SUBMISSION.c.team == team.id
            return standings.scores(connection, mine, noise=self.board(team.competition).noise, most=most, skip=skip)

    def competitions(self) -> tuple[Competition, ...]:
        """Return all competitions, newest first."""
        with self._database.reading() as connection:
            rows = connection.execute(COMPETITIONS.order_by(COMPETITION.c.id.desc())).mappings()
            return tuple(self._describe(row) for row in rows)

    def competition(self, slug: str) -> Competition:
        """Return a competition, or raise NotFound."""
        with self._database.reading() as connection:
            return self._describe(find(connection, slug))

    def board(self, slug: str) -> CompetitionBoard:
        """Return a competition with its labels, for scoring; never for an answer."""
        if slug not in self._boards:
            with self._database.reading() as connection:
                competition = find(connection, slug)
                self._boards[slug] = read_board(connection, competition, rules=self._rules(competition), key=self._key)
        return self._boards[slug]

    def features(self, slug: str) -> bytes:
        """Return the public features file, a CSV with the column id first."""
        return self.board(slug).features.to_csv()

    def view(self, slug: str, *, drawn: int, steps: int) -> BoardView:
        """Return what a competition's page shows; what was read is kept until something of it changes.

        Parameters
        ----------
        drawn, steps
            How many teams the plot draws, the best ones, and how many of the scores with which they improved.
        """
        with self._database.reading() as connection:
            row = find(connection, slug)
            version = standings.version(connection, row)
            kept = self._views.get(slug)
            if kept is not None and kept.version == version:
                return kept
            board = self.board(slug)
            best = standings.best_scores(connection, row["id"], lower=board.metric.lower_is_better)
            self._views[slug] = BoardView(
                version=version,
                finished=None if row["finished"] is None else datetime.fromisoformat(row["finished"]),
                competition=self._describe(row),
                places=standings.leaderboard(best, board),
                progress=standings.improvements(connection, [one["id"] for one in best[:drawn]], most=steps),
                attachments=attachments.attachments(connection, row["id"]),
                final=standings.final(connection, row["id"], board),
            )
        return self._views[slug]

    def attachments(self, slug: str) -> tuple[tuple[str, int], ...]:
        """Return the names and sizes of the files that the host attached."""
        with self._database.reading() as connection:
            return attachments.attachments(connection, find(connection, slug)["id"])

    def attached(self, slug: str, name: str) -> bytes:
        """Return a file that the host attached, or raise NotFound."""
        with self._database.reading() as connection:
            return attachments.attached(connection, slug, name)

    def leaderboard(self, slug: str) -> tuple[LeaderboardPlace, ...]:
        """Return each team's best released score, best first; whether the caller may see it is the caller's check."""
        with self._database.reading() as connection:
            competition = find(connection, slug)
            lower = self._rules(competition).plan.metric.lower_is_better
            best = standings.best_scores(connection, competition["id"], lower=lower)
        return standings.leaderboard(best, self.board(slug))

    def history(self, slug: str, *, most: int = 10_000, skip: int = 0) -> tuple[ScoredSubmission, ...]:
        """Return the released scores of all teams, oldest first: the newest ``most`` but those to skip."""
        with self._database.reading() as connection:
            competition = find(connection, slug)
            shown = (SUBMISSION.c.competition == competition["id"], SUBMISSION.c.answered, standings.RANKED)
            noise = self.board(slug).noise
            return standings.scores(connection, *shown, most=most, skip=skip, noise=noise)

    def teams(self, slug: str) -> tuple[Team, ...]:
        """Return the teams, first joined first."""
        with self._database.reading() as connection:
            competition = find(connection, slug)
            rows = connection.execute(TEAMS.where(TEAM.c.competition == competition["id"]).order_by(TEAM.c.id))
            return tuple(map(team_of, rows.mappings()))

    def flags(self, slug: str, *, most: int = 100_000) -> tuple[SubmissionFlag, ...]:
        """Return what the checks found in submissions, newest first; for the host only."""
        with self._database.reading() as connection:
            return standings.flags(connection, find(connection, slug)["id"], most=most)

    def actions(self, slug: str | None = None) -> tuple[HostAction, ...]:
        """Return what the host and organizers did in a competition, or on the whole server, newest first."""
        with self._database.reading() as connection:
            return trail.actions(connection, None if slug is None else find(connection, slug)["slug"])

    def export(self, slug: str, *, archive: bool = False, predictions: bool = False) -> Iterator[bytes]:
        """Yield everything about a competition but its labels: a JSON document, or a ZIP archive of CSV files."""
        board = self.board(slug)
        ids = board.features.ids if predictions else ()
        with self._exports, self._database.reading() as connection:
            competition = find(connection, slug)
            tables = exports.tables_of(connection, competition, board)
            if archive:
                files = exports.prediction_files(connection, competition["id"], ids) if predictions else ()
                yield from exports.csv_archive(tables, files)
            else:
                yield from exports.json_document(tables)

    def organizers(self, slug: str) -> tuple[Organizer, ...]:
        """Return those whom the host lets run a competition, first added first."""
        with self._database.reading() as connection:
            return organizers.organizers(connection, slug)

    def team(self, slug: str, name: str) -> Team:
        """Return a team by its name, or raise NotFound."""
        found = next((team for team in self.teams(slug) if team.name == name), None)
        if found is None:
            raise NotFound(f"there is no team {name[:80]!a} in {slug}")
        return found

    def spend(self, slug: str) -> LabelSpend:
        """Return what the labels have spent in the ledger, and how many scores were shown."""
        with self._database.reading() as connection:
            competition = find(connection, slug)
            mine = TEAM.c.competition == competition["id"]
            scores = int(connection.execute(select(func.coalesce(func.sum(TEAM.c.used), 0)).where(mine)).scalar_one())
        guarantee = self._rules(competition).policy.guarantee()
        if competition["data_set"] is None:
            return LabelSpend(
                data_set=None, budget=0.0, used=0.0, spent=0.0, left=0.0, delta=0.0, guarantee=guarantee, scores=scores
            )
        told = self._accounts.statement(competition["data_set"])
        return LabelSpend(
            data_set=told.name,
            budget=told.budget.epsilon,
            used=told.used,
            spent=told.spent,
            left=told.left,
            delta=told.budget.delta,
            guarantee=guarantee,
            scores=scores,
        )

    def final(self, slug: str) -> tuple[FinalPlace, ...]:
        """Return the final ranking, empty before it was released."""
        with self._database.reading() as connection:
            return standings.final(connection, find(connection, slug)["id"], self.board(slug))

    def _fill_best(self) -> None:
        """Find the best scores of a database that an earlier server wrote."""
        with self._database.reading() as connection:
            rows = connection.execute(standings.WITHOUT_BEST).mappings().all()
        for row in rows:
            with self._database.writing() as connection:
                lower = self._rules(row).plan.metric.lower_is_better
                standings.fill_best(connection, row["id"], lower=lower)

    def _describe(self, row: RowMapping) -> Competition:
        return describe(row, self._rules(row))

    def _rules(self, row: RowMapping) -> Rules:
        return rules_of(row, custom=self.settings.custom_metrics)
