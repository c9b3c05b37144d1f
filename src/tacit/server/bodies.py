"""How much of a request's body is read: by its route, its caller, and the room that all bodies share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive

from tacit.server.errors import TooLarge, Unavailable
from tacit.server.limits import ServerLimits
from tacit.server.records import Host, Identity, Organizer, Team

__all__ = ["BodyRoom", "CountedBody", "body_limit"]

_FILES: tuple[tuple[re.Pattern[str], type[Host | Organizer | Team]], ...] = (
    (re.compile("/api/v1/competitions"), Host),
    (re.compile("/host/new"), Host),
    (re.compile("/c/[^/]+/files"), Host),
    (re.compile("/c/[^/]+/files"), Organizer),
    (re.compile("/api/v1/competitions/[^/]+/submissions"), Team),
    (re.compile("/c/[^/]+/team"), Team),
)
"""The routes that take files, and who may send one; every other body is a small form or document."""


def body_limit(path: str, who: Identity, limits: ServerLimits) -> int:
    """Return how many bytes a caller may send to a route."""
    takes_file = any(isinstance(who, sender) and route.fullmatch(path) for route, sender in _FILES)
    return limits.body if takes_file else min(limits.body, limits.small_body)


class BodyRoom:
    """The bytes that large bodies may take together while they are read, and the part of them that one caller may."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size
        self._held: Counter[str] = Counter()

    @property
    def left(self) -> int:
        """The bytes that nobody takes now."""
        return self._left

    @contextmanager
    def taken(self, wanted: int, *, whose: str) -> Iterator[None]:
        """Take room for a body, all of it at the most; raise Unavailable if there is none for this caller now.

        A caller whose bodies come slowly holds a quarter of the room, or one body: others have room all the same.
        """
        taken = min(wanted, self._size)
        if self._held[whose] and self._held[whose] + taken > self._size // _SHARES:
            raise Unavailable("too many large requests of yours at once; wait for their answers")
        if taken > self._left:
            raise Unavailable("too many large requests at once; wait and try again")
        self._left -= taken
        self._held[whose] += taken
        try:
            yield
        finally:
            self._left += taken
            self._held[whose] -= taken
            if not self._held[whose]:
                del self._held[whose]


_SHARES = 4


class CountedBody:
    """Pass on the body, up to the limit, because the stated length may be wrong or absent."""

    def __init__(self, receive: Receive, *, limit: int) -> None:
        self._receive, self._limit, self._taken = receive, limit, 0

    @property
    def exceeded(self) -> bool:
        """Whether the body exceeds the limit."""
        return self._taken > self._limit

    @property
    def refusal(self) -> TooLarge:
        """What to say where the body exceeds the limit, or is said to."""
        return TooLarge(
            f"this request must have at most {self._limit} bytes; files are taken from a signed-in team or host only"
        )

    async def __call__(self) -> Message:
        """Receive the next message."""
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        if self.exceeded:
            raise self.refusal
        return message
