"""The server's refusals: one sentence for the caller, and the HTTP status."""

from __future__ import annotations

from typing import ClassVar

from tacit.privacy.errors import BudgetExceeded, InvalidInput, LedgerError, TacitError

__all__ = [
    "BudgetSpent",
    "Conflict",
    "Forbidden",
    "NotFound",
    "ServerError",
    "TooLarge",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "status_of",
]


class ServerError(TacitError):
    """Base of what the server refuses on purpose."""

    status: ClassVar[int] = 400


class Unauthorized(ServerError):
    """No token was sent, or one that is not known."""

    status = 401


class Forbidden(ServerError):
    """The token's role may not do that, or not now."""

    status = 403


class NotFound(ServerError):
    """There is no such thing, or the caller may not know of it."""

    status = 404


class Conflict(ServerError):
    """A name, a code or an id is taken."""

    status = 409


class TooLarge(ServerError):
    """The request is larger than the server takes."""

    status = 413


class TooManyRequests(ServerError):
    """The caller sends too many requests."""

    status = 429

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class BudgetSpent(ServerError):
    """The team's submissions are used up, for today or for good."""

    status = 429


class Unavailable(ServerError):
    """The server is shutting down or overloaded; nothing was done."""

    status = 503


_STATUSES = ((BudgetExceeded, 409), (InvalidInput, 422), (LedgerError, 503))


def status_of(error: TacitError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, ServerError):
        return error.status
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)
