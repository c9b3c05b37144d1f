"""Limits on requests: sizes, rows, and rates."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from tacit.privacy.rounding import check_count

__all__ = ["RateLimit", "RequestRate", "ServerLimits"]


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
    """The limits of a server: sizes of requests and files, and requests per token or address."""

    body: int = 64 * 2**20  # bytes
    rows: int = 1_000_000
    columns: int = 4_096
    cell: int = 1_024  # characters
    token_rate: RequestRate = field(default_factory=lambda: RequestRate(per_minute=120, burst=60))
    address_rate: RequestRate = field(default_factory=lambda: RequestRate(per_minute=120, burst=60))

    def __post_init__(self) -> None:
        for name in ("body", "rows", "columns", "cell"):
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
