"""The scoring server without HTTP: what a host, a team and anyone may do."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from tacit.scores.server.records import (
    Competition,
    FinalPlace,
    Flag,
    Identity,
    Place,
    Registration,
    Remaining,
    Score,
    Spend,
    Team,
)
from tacit.scores.server.settings import Settings
from tacit.scores.server.terms import Terms

__all__ = ["Engine"]


class Engine:
    """The scoring server without HTTP; all methods may be called from any thread."""

    @classmethod
    def open(cls, settings: Settings) -> Engine:
        """Open a server's data, or make them where there are none; start its writer."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish what is queued, and stop."""
        raise NotImplementedError

    # who

    @property
    def has_admin(self) -> bool:
        """Whether an admin token was ever made."""
        raise NotImplementedError

    def new_admin_token(self) -> str:
        """Make the admin token, shown this once; an earlier one is void from now on."""
        raise NotImplementedError

    def identify(self, token: str | None) -> Identity:
        """Return whose token it is: the Host's, a Team's, or Anyone's."""
        raise NotImplementedError

    # the host

    def create_competition(self, terms: Terms, *, features: bytes, labels: bytes) -> Competition:
        """Create a competition from two CSV files; the labels are encrypted before they are stored."""
        raise NotImplementedError

    def invite(self, slug: str) -> str:
        """Return a new code with which one team may join; it is kept as a hash alone."""
        raise NotImplementedError

    def teams(self, slug: str) -> tuple[Team, ...]:
        """Return the teams, first joined first."""
        raise NotImplementedError

    def flags(self, slug: str) -> tuple[Flag, ...]:
        """Return what the checks found in submissions, newest first; for the host alone."""
        raise NotImplementedError

    def spend(self, slug: str) -> Spend:
        """Return what the labels have spent in the ledger."""
        raise NotImplementedError

    def finish(self, slug: str) -> tuple[FinalPlace, ...]:
        """Release the final ranking on the private rows, once; afterwards return the same."""
        raise NotImplementedError

    @contextmanager
    def copy_for_replay(self, slug: str) -> Iterator[Engine]:
        """A second engine in a temporary folder that holds this one competition with no teams; gone afterwards."""
        raise NotImplementedError
        yield

    # teams

    def register(self, code: str, *, name: str) -> Registration:
        """Let a team join with an invite; its whole budget is charged to the ledger first."""
        raise NotImplementedError

    def submit(self, team: Team, predictions: NDArray[np.float64], *, id: str | None = None) -> Future[Score]:
        """Score predictions, (rows,) or (rows, classes) in the features' order; done when the score is on disk."""
        raise NotImplementedError

    def remaining(self, team: Team) -> Remaining:
        """Return what is left of the team's budget."""
        raise NotImplementedError

    def own_scores(self, team: Team) -> tuple[Score, ...]:
        """Return the team's released scores, oldest first."""
        raise NotImplementedError

    # anyone

    def competitions(self) -> tuple[Competition, ...]:
        """Return all competitions, newest first."""
        raise NotImplementedError

    def competition(self, slug: str) -> Competition:
        """Return a competition, or raise NotFound."""
        raise NotImplementedError

    def features(self, slug: str) -> bytes:
        """Return the public features file, a CSV with the column id first."""
        raise NotImplementedError

    def leaderboard(self, slug: str) -> tuple[Place, ...]:
        """Return each team's best released score, best first; whether the caller may see it is the caller's check."""
        raise NotImplementedError

    def history(self, slug: str) -> tuple[Score, ...]:
        """Return all released scores, oldest first, for the plot."""
        raise NotImplementedError

    def final(self, slug: str) -> tuple[FinalPlace, ...]:
        """Return the final ranking, empty before it was released."""
        raise NotImplementedError
