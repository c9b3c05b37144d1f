"""The callers: the admin token, the teams' tokens, and the one place where the tables are written."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from sqlalchemy import Connection, insert, select, update

from tacit.privacy.errors import TacitError
from tacit.server.desk import HostDesk
from tacit.server.joining import TEAMS, team_of
from tacit.server.key import ServerKey
from tacit.server.organizers import ORGANIZERS, organizer_of
from tacit.server.reading import CompetitionReader
from tacit.server.records import AnonymousCaller, Host, Identity, Organizer, Team
from tacit.server.schema import ORGANIZER, SERVER, SESSION, TEAM
from tacit.server.sessions import end_host_sessions, end_session, session_owner, start_session
from tacit.server.settings import ServerSettings
from tacit.server.tokens import hash_token, new_token
from tacit.server.trail import record

__all__ = ["TokenAccess"]

_KEY_CHECK = b"tacit scoring server"
_FRESH = 60.0
"""Seconds for which a token that was looked up is not looked up again."""
_MEMBERS = TEAMS.where(TEAM.c.standing != "removed")


class TokenAccess(CompetitionReader):
    """The part of the engine that knows its key and its callers."""

    def __init__(self, settings: ServerSettings, *, key: ServerKey) -> None:
        super().__init__(settings, key=key)
        self._lock = threading.Lock()  # writers of this process queue here, not inside the database
        self._key_check = self._check_key()
        # read once: asked under load, the database would hold up the event loop for every team's first request
        self._known = self._read_teams()
        self._asked: dict[bytes, float] = {}  # when a token was last looked up: another process may void it
        self._began = monotonic()
        self._admin = self._read_admin()
        self._seen = self._read_seen()  # sessions and organizers' tokens that were good when last looked up
        self.desk = HostDesk(writing=self._writing, clock=settings.clock, forget=self._forget)

    @property
    def csrf_secret(self) -> bytes:
        """The secret of :func:`tacit.server.tokens.csrf_token`."""
        return self._key.derive("forms")

    def new_admin_token(self) -> str:
        """Create the admin token, shown only once; this voids an earlier one."""
        token = new_token("host")
        with self._writing() as connection:
            connection.execute(update(SERVER).values(admin=hash_token(token)))
            end_host_sessions(connection)
            record(connection, "", "admin token", by=None, now=self._now())
        return token

    def first_admin_token(self) -> str | None:
        """Make the admin token where there was never one, and return it; None if there was.

        Of servers that start at the same moment one is told it, and no other makes it void.
        """
        token = new_token("host")
        with self._writing() as connection:
            made = connection.execute(update(SERVER).where(SERVER.c.admin.is_(None)).values(admin=hash_token(token)))
        return token if made.rowcount else None

    def identify(self, token: str | None) -> Identity:
        """Return whose token it is: the Host's, an Organizer's, a Team's, or an anonymous caller's."""
        if not token:
            return AnonymousCaller()
        digest = hash_token(token)
        if digest in self._known and monotonic() - self._asked.get(digest, self._began) < _FRESH:
            return self._known[digest]
        with self._database.reading() as connection:
            self._admin = _admin_of(connection)
            if self._admin is not None and hmac.compare_digest(self._admin, digest):
                return Host()
            row = connection.execute(_MEMBERS.where(TEAM.c.token == digest)).mappings().first()
            if row is not None:
                self._known[digest], self._asked[digest] = team_of(row), monotonic()
                return self._known[digest]
            self._known.pop(digest, None)
            found = connection.execute(ORGANIZERS.where(ORGANIZER.c.token == digest)).mappings().first()
        return self._remember(digest, AnonymousCaller() if found is None else organizer_of(found))

    def _remember(self, digest: bytes, who: Identity) -> Identity:
        """Note, for :meth:`knows`, whether someone was found."""
        note = self._seen.discard if isinstance(who, AnonymousCaller) else self._seen.add
        note(digest)
        return who

    def _forget(self, slug: str, gone: bool) -> None:
        """Ask the database again who holds the tokens of a competition, and which sessions last."""
        self._known = {digest: known for digest, known in self._known.items() if known.competition != slug}
        self._seen.clear()
        if gone:
            self._boards.pop(slug, None)

    def sign_in(self, who: Host | Organizer | Team) -> str:
        """Return the secret of a new session, which a browser keeps in its cookie."""
        with self._writing() as connection:
            return start_session(connection, who, now=self.settings.clock())

    def visitor(self, session: str | None) -> Identity:
        """Return who signed in with a session, or an anonymous caller."""
        if not session:
            return AnonymousCaller()
        with self._database.reading() as connection:
            who = session_owner(connection, session, now=self.settings.clock())
        return self._remember(hash_token(session), who)

    def sign_out(self, session: str) -> None:
        """End a session."""
        with self._writing() as connection:
            end_session(connection, session)
        self._seen.discard(hash_token(session))

    def knows(self, token: str) -> bool:
        """Return, without querying the database, whether a token or session is known to be someone's."""
        digest = hash_token(token)
        if digest in self._known or digest in self._seen:
            return True
        return self._admin is not None and hmac.compare_digest(self._admin, digest)

    def check_ready(self) -> None:
        """Raise unless the database takes a write and the ledger can be read."""
        with self._writing() as connection:
            connection.execute(update(SERVER).values(time=SERVER.c.time))
        self._accounts.reach()

    @property
    def is_ready(self) -> bool:
        """Whether :meth:`check_ready` finds nothing wrong."""
        try:
            self.check_ready()
        except TacitError:
            return False
        return True

    def _read_admin(self) -> bytes | None:
        with self._database.reading() as connection:
            return _admin_of(connection)

    def _read_teams(self) -> dict[bytes, Team]:
        with self._database.reading() as connection:
            return {bytes(row["token"]): team_of(row) for row in connection.execute(_MEMBERS).mappings()}

    def _read_seen(self) -> set[bytes]:
        """Return the sessions and organizers' tokens, so that after a restart too they have buckets of their own."""
        lasting = select(SESSION.c.secret).where(SESSION.c.expires > self._now())
        with self._database.reading() as connection:
            found = [*connection.execute(lasting).scalars(), *connection.execute(select(ORGANIZER.c.token)).scalars()]
        return set(map(bytes, found))

    def _check_key(self) -> bytes:
        """Write a known text under the key at the first start, and refuse another key later; return what is written."""
        with self._database.founding() as connection:
            row = connection.execute(select(SERVER)).mappings().first()
            if row is None:
                sealed = self._key.seal(_KEY_CHECK, place="this server")
                connection.execute(insert(SERVER).values(id=1, time=self._now(), key_check=sealed, admin=None))
            else:
                sealed = bytes(row["key_check"])
                self._key.open(sealed, place="this server")
            return sealed

    def _now(self) -> str:
        return self.settings.clock().isoformat()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._lock, self._database.writing() as connection:
            self._database.check_key(connection, self._key_check)
            yield connection


def _admin_of(connection: Connection) -> bytes | None:
    """Return the digest of the admin token, which another process may have changed."""
    found = connection.execute(select(SERVER.c.admin)).scalar()
    return None if found is None else bytes(found)
