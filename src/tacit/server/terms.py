"""The terms that a host sets when creating a competition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_bounds, check_delta
from tacit.server.rules import Rules

__all__ = ["SLUG", "CompetitionTerms", "check_dates", "check_description", "check_line"]

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_NAME, _DESCRIPTION = 200, 20_000
_SCORES, _COMPOSED = 10**9, 10**5  # scores in all; with a delta each is a distribution to compose


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetitionTerms:
    """The terms of a competition, which never change after its creation.

    Parameters
    ----------
    slug
        The competition's name in addresses: small letters, digits and hyphens.
    opens, closes
        When submissions are taken, in UTC; None: at once, and until the host finishes it.
    public
        Whether anyone may see the leaderboard; else teams and the host alone.
    delta
        Of the labels' budget in the ledger; more than 0 makes many scores together cost less epsilon.
    again
        Allow labels that the ledger knows: what they spent stays, and their budget grows by what this one needs.
    """

    slug: str
    name: str
    rules: Rules
    description: str = ""
    opens: datetime | None = None
    closes: datetime | None = None
    public: bool = True
    delta: float = 0.0
    again: bool = False

    def __post_init__(self) -> None:
        if not SLUG.fullmatch(self.slug):
            raise InvalidInput(
                f"must be 1 to 64 lowercase letters, digits and inner hyphens, got {self.slug[:80]!r}", field="slug"
            )
        check_line(self.name, name="name", longest=_NAME)
        check_description(self.description)
        most = _SCORES if self.delta == 0 else _COMPOSED
        teams, submissions = self.rules.teams, self.rules.plan.submissions
        if teams * submissions > most:
            raise InvalidInput(
                f"teams times submissions must be at most {most}{' with a delta' if self.delta else ''}, "
                f"got {teams} times {submissions}"
            )
        check_bounds(None, check_delta(self.delta))
        check_dates(self.opens, self.closes)


def check_line(value: str, *, name: str, longest: int) -> str:
    """Return one line of printable text, or raise."""
    if not value.strip() or not value.isprintable() or len(value) > longest:
        raise InvalidInput(f"{name} must be one line of 1 to {longest} printable characters, got {value[:40]!r}")
    return value


def check_description(value: str) -> str:
    """Return text of several lines, or raise."""
    if len(value) > _DESCRIPTION or not _is_text(value):
        raise InvalidInput(f"must be text of at most {_DESCRIPTION} characters", field="description")
    return value


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in value  # PostgreSQL takes none


def check_dates(opens: datetime | None, closes: datetime | None) -> None:
    """Raise unless both moments have a time zone, and the first is earlier."""
    for name, moment in (("opens", opens), ("closes", closes)):
        if moment is not None and moment.tzinfo is None:
            raise InvalidInput(f"{name} must have a time zone, as in 2026-01-01T00:00:00+00:00, got {moment}")
    if opens is not None and closes is not None and closes <= opens:
        raise InvalidInput(f"must be later than opens ({opens}), got {closes}", field="closes")
