"""Counts and times of requests, in the text format of Prometheus: by route, never by a path's own text."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import process_time

__all__ = ["ServerMetrics", "process_gauges"]

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_HELP = {
    "tacit_requests_total": ("counter", "Requests by method, route and status."),
    "tacit_request_seconds": ("histogram", "Seconds until the answer, by route."),
    "tacit_connections": ("gauge", "Open connections."),
    "tacit_submissions_waiting": ("gauge", "Submissions that wait for the writer."),
    "tacit_body_room_bytes": ("gauge", "Bytes that large requests may still take."),
    "tacit_ready": ("gauge", "Whether a write succeeds and the ledger can be read."),
    "process_resident_memory_bytes": ("gauge", "Memory of this process."),
    "process_cpu_seconds_total": ("counter", "Processor time of this process."),
}


class ServerMetrics:
    """The counts of one process; each process of a server has its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._times: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def observe(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._times[route][bisect_left(_BOUNDS, seconds)] += 1
            self._seconds[route] += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return everything; ``gauges`` are numbers of this moment, by name."""
        with self._lock:
            lines = [*_head("tacit_requests_total"), *self._counts(), *_head("tacit_request_seconds"), *self._buckets()]
        for name, value in gauges.items():
            lines += [*_head(name), f"{name} {float(value):.12g}"]
        return "\n".join(lines) + "\n"

    def _counts(self) -> Iterator[str]:
        for (method, route, status), count in sorted(self._requests.items()):
            yield f'tacit_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'

    def _buckets(self) -> Iterator[str]:
        for route, counts in sorted(self._times.items()):
            below = 0
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), counts, strict=True):
                below += count
                yield f'tacit_request_seconds_bucket{{route="{route}",le="{bound}"}} {below}'
            yield f'tacit_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}'
            yield f'tacit_request_seconds_count{{route="{route}"}} {below}'


def process_gauges() -> dict[str, float]:
    """Return the processor time and, on Linux, the memory of this process."""
    found = {"process_cpu_seconds_total": process_time()}
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        found["process_resident_memory_bytes"] = float(pages * os.sysconf("SC_PAGE_SIZE"))
    return found


def _head(name: str) -> tuple[str, str]:
    kind, told = _HELP[name]
    return f"# HELP {name} {told}", f"# TYPE {name} {kind}"
