"""The host's desk: what the host and the organizers change; each change is recorded with its author."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime

from sqlalchemy import Connection

from tacit.server import attachments, deletion, hosting, organizers
from tacit.server.hosting import CompetitionChange, CompetitionState
from tacit.server.records import Host, Organizer, Role, Standing, Team
from tacit.server.tokens import hash_token, new_token
from tacit.server.trail import Author

__all__ = ["HostDesk"]

_HOST = Host()


class HostDesk:
    """What the host and the organizers change; whether ``by`` may do it is the caller's check.

    Parameters
    ----------
    writing
        Opens a transaction of the server's database.
    forget
        Drops what the server remembers of a competition's tokens and sessions, and of a deleted one's labels.
    """

    def __init__(
        self,
        *,
        writing: Callable[[], AbstractContextManager[Connection]],
        clock: Callable[[], datetime],
        forget: Callable[[str, bool], None],
    ) -> None:
        self._writing, self._clock, self._forget = writing, clock, forget

    def set_standing(self, team: Team, standing: Standing, *, reason: str = "", by: Author = _HOST) -> None:
        """Freeze, disqualify, remove or reinstate a team; what it was charged and told stays spent."""
        with self._writing() as connection:
            hosting.set_standing(connection, team, standing, reason=reason, by=by, now=self._now())
        self._forget(team.competition, False)

    def reissue_token(self, team: Team, *, by: Author = _HOST) -> str:
        """Return another token for a team, shown only once; the earlier one and its sessions are void."""
        token = new_token("team")
        with self._writing() as connection:
            hosting.change_token(connection, team, hash_token(token), by=by, now=self._now())
        self._forget(team.competition, False)
        return token

    def revoke_invites(self, slug: str, *, by: Author = _HOST) -> int:
        """Make all invites void that no team has used; return how many there were."""
        with self._writing() as connection:
            return hosting.revoke_invites(connection, slug, by=by, now=self._now())

    def change_competition(self, slug: str, change: CompetitionChange, *, by: Author = _HOST) -> None:
        """Store new texts and dates of a competition."""
        with self._writing() as connection:
            hosting.change_competition(connection, slug, change, by=by, now=self._now())

    def attach(self, slug: str, name: str, content: bytes, *, by: Author = _HOST) -> None:
        """Attach a file to a competition, or replace the one of this name."""
        with self._writing() as connection:
            attachments.attach(connection, slug, name, content, by=by, now=self._now())

    def detach(self, slug: str, name: str, *, by: Author = _HOST) -> None:
        """Remove a file from a competition."""
        with self._writing() as connection:
            attachments.detach(connection, slug, name, by=by, now=self._now())

    def set_state(
        self,
        slug: str,
        state: CompetitionState,
        *,
        closes: datetime | None = None,
        reason: str = "",
        by: Author = _HOST,
    ) -> None:
        """Close, reopen (until ``closes``, or for good) or archive a competition."""
        with self._writing() as connection:
            hosting.set_state(connection, slug, state, closes=closes, reason=reason, by=by, now=self._clock())

    def delete_competition(self, slug: str, *, confirm: str, by: Author = _HOST) -> None:
        """Delete a competition for good; its charges stay in the ledger, and its short name is not used again."""
        with self._writing() as connection:
            deletion.delete_competition(connection, slug, confirm=confirm, by=by, now=self._now())
        self._forget(slug, True)

    def add_organizer(self, slug: str, *, name: str, role: Role, by: Author = _HOST) -> tuple[Organizer, str]:
        """Let someone run a competition; return the organizer and the token, which is shown only once."""
        token = new_token("organizer")
        with self._writing() as connection:
            made = organizers.add_organizer(
                connection, slug, name=name, role=role, token=hash_token(token), by=by, now=self._now()
            )
        return made, token

    def remove_organizer(self, slug: str, name: str, *, by: Author = _HOST) -> None:
        """Make an organizer's token and sessions void."""
        with self._writing() as connection:
            organizers.remove_organizer(connection, slug, name, by=by, now=self._now())
        self._forget(slug, False)

    def _now(self) -> str:
        return self._clock().isoformat()
