"""Limits on requests: sizes, rows, rates, and how long a connection may take."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from tacit.privacy.rounding import check_count
from tacit.server.errors import Unavailable

__all__ = ["FewAtOnce", "RateLimit", "RequestRate", "ServerLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRate:
    """The terms of a token bucket: requests per minute on average, and at once."""

    per_minute: int
    burst: int

    def __post_init__(self) -> None:
        check_count(self.per_minute, name="per_minute")
        check_count(self.burst, name="burst")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """The limits of a server: sizes of requests and files, requests per token or address, and patience.

    Parameters
    ----------
    body
        Bytes of a request with a file, which only the host and teams may send.
    small_body
        Bytes of every other request.
    room
        Bytes that requests with files may take together while they are read.
    rows, columns, cell
        The size of a file: its rows and columns, and the characters of a cell.
    token_rate, address_rate
        Requests with one token that is known, and all others from one address.
    connections
        Connections from one address; a trusted proxy may have any number.
    header_bytes, header_seconds
        The size of a request's headers, and the time in which they must come.
    body_rate
        Bytes per second at which a body must come, or its connection is closed.
    """

    body: int = 64 * 2**20
    small_body: int = 64 * 2**10
    room: int = 256 * 2**20
    rows: int = 1_000_000
    columns: int = 4_096
    cell: int = 1_024
    token_rate: RequestRate = field(default_factory=lambda: RequestRate(per_minute=120, burst=60))
    address_rate: RequestRate = field(default_factory=lambda: RequestRate(per_minute=120, burst=60))
    connections: int = 64
    header_bytes: int = 32 * 2**10
    header_seconds: float = 10.0
    body_rate: int = 4 * 2**10

    def __post_init__(self) -> None:
        counts = ("body", "small_body", "room", "rows", "columns", "cell", "connections", "header_bytes", "body_rate")
        for name in counts:
            check_count(getattr(self, name), name=name)


class RateLimit:
    """Token buckets in memory, one per key; those unused for longest are removed first."""

    def __init__(self, rate: RequestRate, *, clock: Callable[[], float] = monotonic, keys: int = 100_000) -> None:
        self._rate, self._clock, self._keys = rate, clock, keys
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Take one request from the key's bucket: 0, or the seconds until there is one."""
        per_second = self._rate.per_minute / 60
        with self._lock:
            now = self._clock()
            level, since = self._buckets.pop(key, (float(self._rate.burst), now))
            level = min(float(self._rate.burst), level + (now - since) * per_second)
            taken = level >= 1
            self._buckets[key] = (level - 1 if taken else level, now)
            if len(self._buckets) > self._keys:
                self._buckets.popitem(last=False)
        return 0.0 if taken else (1 - level) / per_second


class FewAtOnce:
    """A place for a few at a time; whoever comes when it is full is refused at once."""

    def __init__(self, most: int) -> None:
        self._places = threading.BoundedSemaphore(most)

    def __enter__(self) -> None:
        if not self._places.acquire(blocking=False):
            raise Unavailable("others are doing the same; wait and try again")

    def __exit__(self, *error: object) -> None:
        self._places.release()
