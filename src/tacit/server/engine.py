"""The scoring server without HTTP: the operations of a host, a team and anyone."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from numpy.typing import ArrayLike
from sqlalchemy import insert, select

from tacit.privacy.errors import InvalidInput
from tacit.scores.metrics import Metric
from tacit.server import standings
from tacit.server.access import TokenAccess
from tacit.server.competition import COMPETITIONS, find, insert_competition
from tacit.server.copies import clear_copies, copy_folder
from tacit.server.database import ServerDatabase
from tacit.server.errors import Conflict, Forbidden
from tacit.server.finals import release_final
from tacit.server.host_files import FeatureRows, PrivateLabels, encode_labels, read_labels
from tacit.server.inspection import SubmissionInspector
from tacit.server.joining import check_room, find_invited, insert_team, reserve
from tacit.server.keeping import check_note, choose_final, submitted_file
from tacit.server.key import VARIABLE, ServerKey
from tacit.server.limits import RequestRate
from tacit.server.records import Competition, FinalPlace, Host, Registration, ScoredSubmission, Team
from tacit.server.reservation import labels_budget, scores_reserved
from tacit.server.schema import COMPETITION, DELETED, INVITE
from tacit.server.settings import ServerSettings
from tacit.server.submission import Submission, SubmissionWriter
from tacit.server.terms import CompetitionTerms, check_line
from tacit.server.tokens import hash_token, new_token
from tacit.server.trail import Author, record

__all__ = ["ScoringEngine"]

_SUBMISSION_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TEAM_NAME = 80
_TEAM, _INVITE = "team", "invite"
_HOST = Host()
_FREE = RequestRate(per_minute=60_000_000, burst=1_000_000)


class ScoringEngine(TokenAccess):
    r"""The scoring server without HTTP; all methods may be called from any thread.

    Who may call what is the caller's to check, with :meth:`identify`: methods that take a :class:`Team` act for that
    team.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tacit.scores.metrics import Accuracy
    >>> from tacit.server import CompetitionPlan, Rules
    >>> engine = ScoringEngine.open(ServerSettings(folder=Path(tempfile.mkdtemp())))
    >>> plan = CompetitionPlan(metric=Accuracy(), policy="laplace", epsilon=20)
    >>> rules = Rules(plan=plan, public_fraction=1.0, together=None)
    >>> terms = CompetitionTerms(slug="coins", name="Coins", rules=rules)
    >>> _ = engine.create_competition(terms, features=b"size\n1\n2\n3\n", labels=b"label\nno\nyes\nno\n")
    >>> joined = engine.register(engine.invite("coins"), name="Newcomers")
    >>> score = engine.submit(joined.team, [0, 1, 1]).result()
    >>> score.number, engine.remaining(joined.team).total, engine.spend("coins").spent
    (1, 99, 20.0)
    >>> engine.close()
    """

    def __init__(self, settings: ServerSettings, *, key: ServerKey) -> None:
        super().__init__(settings, key=key)
        self._writer = SubmissionWriter(
            self._database, key=key, key_check=self._key_check, settings=settings, lock=self._lock
        )
        self._inspector = SubmissionInspector(
            self._database, board=self.board, lock=self._lock, idle=lambda: self._writer.idle
        )

    @classmethod
    def open(cls, settings: ServerSettings) -> ScoringEngine:
        """Open a server's data, or make them where there are none; start its writer.

        Where database and ledger disagree, nothing is started: scores would be shown that nobody pays for.
        """
        _check_key_is_kept(settings)
        if settings.folder.exists() and not settings.folder.is_dir():
            raise InvalidInput(f"must be a folder, {settings.folder} is a file", field="folder")
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        clear_copies(settings.folder)
        engine = cls(settings, key=ServerKey.find(settings.key_location))
        wrong = engine.disagreement()
        if wrong is not None:
            engine.close()
            raise InvalidInput(
                f"the database and the ledger are not of one server and moment: {wrong}; restore both from one backup"
            )
        return engine

    def close(self) -> None:
        """Finish what is queued, and stop."""
        self._writer.close()
        self._inspector.close()
        self._database.close()

    def create_competition(
        self, terms: CompetitionTerms, *, features: bytes, labels: bytes, by: Author = _HOST
    ) -> Competition:
        r"""Create a competition from two CSV files; the labels are encrypted before they are stored.

        Parameters
        ----------
        features
            A header and a row for each prediction; a column ``id`` names the rows. Everybody may read it.
        labels
            The plan's label column or one column alone, with the ids or in the features' order.
        """
        rows = FeatureRows.read(features, limits=self.settings.limits)
        names = read_labels(labels, ids=rows.ids, label=terms.rules.plan.label, limits=self.settings.limits)
        metric, codes = encode_labels(names, terms.rules.plan)
        public = terms.rules.public_rows(rows.ids, key=self._key.derive(f"split {terms.slug}"))
        terms.rules.check(metric, public=int(public.sum()), private=int((~public).sum()))
        terms.rules.check_classes([codes[public], codes[~public]])
        self._insert(terms, metric, rows, PrivateLabels(codes=codes, public_rows=public), names, by)
        return self.competition(terms.slug)

    def invite(self, slug: str, *, by: Author = _HOST) -> str:
        """Return a new code with which one team may join; it is kept as a hash alone."""
        code = new_token(_INVITE)
        with self._writing() as connection:
            competition = find(connection, slug)
            connection.execute(
                insert(INVITE).values(competition=competition["id"], code=hash_token(code), time=self._now())
            )
            record(connection, slug, "invite", by=by, now=self._now())
        return code

    def register(self, code: str, *, name: str) -> Registration:
        """Let a team join with an invite; its whole budget is charged to the ledger first."""
        check_line(name, name="team name", longest=_TEAM_NAME)
        token = new_token(_TEAM)
        with self._writing() as connection:
            invite, competition = find_invited(connection, hash_token(code), name=name)
            if self._describe(competition).is_closed(self.settings.clock()):
                raise Forbidden("the competition is closed")
            rules = self._rules(competition)
            check_room(connection, competition, teams=rules.teams)
            entry = reserve(self._accounts, competition, rules, invite=bytes(invite["code"]))
            team = insert_team(
                connection,
                invite,
                name=name,
                token=hash_token(token),
                entry=entry,
                reserved=competition["answers"] or (0 if entry is None else scores_reserved(rules)),
                key=self._key,
                now=self._now(),
            )
        self._known[hash_token(token)] = team
        return Registration(team=team, token=token)

    def submit(
        self, team: Team, predictions: ArrayLike, *, id: str | None = None, note: str = ""
    ) -> Future[ScoredSubmission]:
        """Score predictions, (rows,) or (rows, classes) in the features' order; done when the score is on disk.

        Parameters
        ----------
        predictions
            Checked here, before anything is queued; labels have no part in the check.
        id
            The submission's own, up to 64 letters, digits, hyphens and underscores. The same id with the same
            predictions returns the same score and costs nothing: whoever heard no answer asks again.
        note
            The team's own words about it, one line, for the team and the host.
        """
        if id is not None and not _SUBMISSION_ID.fullmatch(id):
            raise InvalidInput("must be 1 to 64 letters, digits, hyphens and underscores", field="id")
        board = self.board(team.competition)
        checked = board.check(predictions)
        submission = Submission(
            team=team.id,
            key=id or secrets.token_hex(16),
            fresh=id is None,
            digest=board.digest(checked),
            predictions=checked,
            measurement=board.measure(checked),
            board=board,
            note=check_note(note),
        )
        answer = self._writer.put(submission)
        answer.add_done_callback(lambda _: self._inspector.wake())
        return answer

    @property
    def waiting(self) -> int:
        """How many submissions wait for the writer."""
        return self._writer.waiting

    def choose_final(self, team: Team, number: int | None) -> None:
        """Choose which submission of a team is ranked at the end; None: its last one."""
        with self._writing() as connection:
            choose_final(connection, team, number)

    def submitted_file(self, team: Team, number: int) -> bytes:
        """Return what a team submitted, as CSV."""
        with self._database.reading() as connection:
            return submitted_file(connection, team, number, board=self.board(team.competition))

    def wait_for_inspection(self) -> None:
        """Return when every submission so far was inspected."""
        self._inspector.drain()

    def finish(self, slug: str, *, by: Author = _HOST) -> tuple[FinalPlace, ...]:
        """Release the final ranking, once; afterwards return the same.

        Each team's last submission, or the one that it chose, is scored on the private rows: the choice is the team's,
        and not the luck of the noise in earlier scores. Without a split the leaderboard as it stands is final. A
        competition with a closing date is finished after it, one without is closed by this.
        """
        board = self.board(slug)
        with self._writing() as connection:
            competition = find(connection, slug, lock=True)
            closes = competition["closes"]
            if competition["finished"] is None:
                if closes is not None and self.settings.clock() < datetime.fromisoformat(closes):
                    raise Forbidden(f"the competition is open until {closes}; finish it afterwards")
                release_final(connection, board, competition, accounts=self._accounts, now=self._now())
                record(connection, slug, "final ranking", by=by, now=self._now())
            return standings.final(connection, competition["id"], board)

    @contextmanager
    def copy_for_replay(
        self, slug: str, *, submissions: int | None = None, teams: int = 1_000
    ) -> Iterator[ScoringEngine]:
        """Open a second engine that holds this one competition without its teams; it is gone afterwards.

        Files and ledger of the copy are in a folder of their own inside the server's, its key in memory alone: an
        attack on it charges the competition nothing, and what a killed server leaves behind cannot be read and is
        removed at the next start. It has the same rules and the same split, no dates and no rate limits, and another
        submission budget where one is given.
        """
        board = self.board(slug)
        with self._database.reading() as connection:
            competition = find(connection, slug)
        rules = board.rules if submissions is None else board.rules.without_limit(submissions)
        terms = CompetitionTerms(
            slug=slug,
            name=f"{competition['name']} (copy)"[:_TEAM_NAME],
            rules=rules if rules.together else replace(rules, teams=max(teams, rules.teams)),
            public=False,  # it is served on a port, and nobody's scores there are charged
            delta=competition["delta"],
        )
        limits = replace(self.settings.limits, token_rate=_FREE, address_rate=_FREE)
        with copy_folder(self.settings.folder) as folder:
            settings = replace(self.settings, folder=folder, database=None, ledger=None, key_file=None, limits=limits)
            copy = ScoringEngine(settings, key=ServerKey.new())
            try:
                names = board.labels.codes.astype(str).tolist()
                copy._insert(terms, board.metric, board.features, board.labels, names, None)
                yield copy
            finally:
                copy.close()

    def _insert(
        self,
        terms: CompetitionTerms,
        metric: Metric,
        features: FeatureRows,
        labels: PrivateLabels,
        names: list[str],
        by: Author | None,
    ) -> None:
        """Store a competition; its labels are known to the ledger first."""
        with self._lock, self._database.founding() as connection:
            self._database.check_key(connection, self._key_check)
            if connection.execute(COMPETITIONS.where(COMPETITION.c.slug == terms.slug)).first() is not None:
                raise Conflict(f"there is a competition {terms.slug!r} already; choose another slug")
            if connection.execute(select(DELETED.c.slug).where(DELETED.c.slug == terms.slug)).first() is not None:
                raise Conflict(f"there was a competition {terms.slug!r}, which was deleted; choose another slug")
            data_set, parted = self._open_account(terms, names, split=not bool(labels.public_rows.all()))
            insert_competition(
                connection,
                terms,
                classes=metric.classes,
                features=features,
                labels=labels,
                data_set=data_set,
                parted=parted,
                answers=terms.rules.answers_each(metric, rows=int(labels.public_rows.sum())),
                key=self._key,
                now=self._now(),
            )
            record(connection, terms.slug, "create", by=by, now=self._now())

    def _open_account(self, terms: CompetitionTerms, names: list[str], *, split: bool) -> tuple[str | None, bool]:
        """Return the labels' name in the ledger, None without a guarantee, and whether it knows this split as parts."""
        known = self._accounts.knows(names)
        parted = split and known is None
        budget = labels_budget(terms.rules, delta=terms.delta, parted=parted)
        if budget is None:
            return None, False
        if known is not None:
            return self._accounts.open_again(known, budget=budget, again=terms.again), False
        return self._accounts.open(terms.slug, names, budget=budget, split=split), parted


def _check_key_is_kept(settings: ServerSettings) -> None:
    """Raise if a rotation was interrupted, or if the key is gone: a new one would open nothing and hide that."""
    if settings.next_key_location.exists():
        raise InvalidInput(
            f"the rotation to the key in {settings.next_key_location} was interrupted: run `tacit serve rotate` again"
        )
    if ServerKey.exists(settings.key_location):
        return
    database = ServerDatabase.at(settings.database_location)
    try:
        if database.exists() and not ServerKey.exists(
            settings.key_location
        ):  # a server beside this one may begin just now
            raise InvalidInput(
                f"key file {settings.key_location} is missing, and the labels in {database.where} open with that key "
                f"alone; put it back, set {VARIABLE}, or start again with another folder and database"
            )
    finally:
        database.close()
