"""What the benchmarks share: times taken in turns, and a row of a result."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any


def in_turns(*works: Callable[[], object], best_of: int) -> list[float]:
    """Return the best time of each, taken in turns so that a busy machine slows all."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(best_of):
        for work, taken in zip(works, times, strict=True):
            start = perf_counter()
            work()
            taken.append(perf_counter() - start)
    return [min(taken) for taken in times]


def timed_row(case: str, seconds: float, reference: str, reference_seconds: float, **more: Any) -> dict[str, Any]:
    """Return one result: a time, and its ratio to that of a reference in the same run."""
    return {
        "case": case,
        "seconds": seconds,
        "reference": reference,
        "reference_seconds": reference_seconds,
        "ratio": seconds / reference_seconds,
        **more,
    }
