"""A network of one feature seen through its outputs alone: its breakpoints, and so its candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tacit.models.attacks.univariate.function import PiecewiseLinear
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = ["ProbedFunction", "probe_function"]

Ask = Callable[[Floats], Floats]

_WITHIN = np.array([0.0954915, 0.381966, 0.618034, 0.9045085])  # of an interval, at no simple fraction of it
_PARTS = 64  # of the range, looked at one by one: a narrow dent in a long line would be missed
_NEARER = 0.7 ** np.arange(1, 30)
_ON_LINE = 1e-9  # off a line by less, relative to the largest |value| seen, is on it
_SHORT = 1e-3  # of an interval: where its slope at an end is read


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProbedFunction:
    """A function found by asking between ``low`` and ``high``, and what it took; beyond, its outer pieces go on.

    ``unresolved`` has a row for each interval in which breakpoints stand closer than was asked for; its ends are taken
    as breakpoints.
    """

    function: PiecewiseLinear
    queries: int
    unresolved: Floats


def probe_function(ask: Ask, *, low: float, high: float, closest: float = 1e-6) -> ProbedFunction:
    """Find the breakpoints of a piecewise linear function from its values.

    An interval whose values lie on one line has none. Else the lines at its two ends are drawn: if they meet inside
    at a value of the function, and each holds up to there, that is the one breakpoint, and exact; if not, the interval
    is halved. So k breakpoints cost about k log((high - low)/gap) values, not a grid.

    Parameters
    ----------
    low, high
        Where to look. Breakpoints beyond are not seen.
    closest
        Intervals shorter than this share of ``high - low`` are not halved any more.

    References
    ----------
    Paper 004, footnote 3: outputs and breakpoints are enough for the candidates.
    """
    if not low < high or not np.isfinite([low, high]).all():
        raise InvalidInput(f"must be below high, both finite, got {low} and {high}", field="low")
    grid = low + (high - low) * np.linspace(0, 1, _PARTS + 1) ** 1.01  # at no simple fraction, as within intervals
    probe = _FunctionProbe(ask, scale=float(np.abs(ask(grid)).max()))
    probe.queries = len(grid)
    found: list[float] = []
    unresolved: list[tuple[float, float]] = []
    waiting = list(pairwise(grid.tolist()))
    while waiting:
        a, b = waiting.pop()
        if probe.is_line(a, b):
            continue
        bend = probe.single_bend(a, b)
        if bend is not None:
            found.append(bend)
        elif b - a < closest * (high - low):
            unresolved.append((a, b))
        else:
            middle = a + (b - a) * 0.4871  # not the half: a breakpoint may well be there
            waiting += [(a, middle), (middle, b)]
            if probe.bends_at(middle, min(b - middle, middle - a)):
                found.append(middle)
    ends = [end for pair in unresolved for end in pair]
    return ProbedFunction(
        function=probe.function(np.unique([*found, *ends]), low, high),
        queries=probe.queries,
        unresolved=np.array(sorted(unresolved)).reshape(-1, 2),
    )


class _FunctionProbe:
    """The questions asked so far, and what counts as equal."""

    def __init__(self, ask: Ask, *, scale: float) -> None:
        self.ask, self.slack, self.queries = ask, _ON_LINE * scale, 0

    def values(self, *x: float) -> Floats:
        self.queries += len(x)
        return np.asarray(self.ask(np.array(x, dtype=np.float64)), dtype=np.float64)

    def is_line(self, a: float, b: float) -> bool:
        inside = a + (b - a) * _WITHIN
        first, *middle, last = self.values(a, *inside, b)
        line = first + (last - first) * _WITHIN
        return bool(np.abs(middle - line).max() <= self.slack)

    def single_bend(self, a: float, b: float) -> float | None:
        """Return where the lines at both ends meet, if the function has its one bend there."""
        step = _SHORT * (b - a)
        for _ in range(3):
            ya, ya2, yb2, yb = self.values(a, a + step, b - step, b)
            left, right = (ya2 - ya) / step, (yb - yb2) / step
            if abs(left - right) * (b - a) <= self.slack:
                return None
            bend = a + (yb - ya - right * (b - a)) / (left - right)
            if not a < bend < b or bend in (a, b):
                return None
            step = 0.9 * min(bend - a, b - bend)  # read the slopes again over all of their pieces
            if step <= 0:
                return None
        # a dent beside the bend would go unseen between points evenly apart
        before, after = bend - (bend - a) * _NEARER, bend + (b - bend) * _NEARER
        seen = self.values(*before, bend, *after)
        lines = np.concatenate([ya + left * (before - a), [ya + left * (bend - a)], yb + right * (after - b)])
        return bend if np.abs(seen - lines).max() <= self.slack else None

    def bends_at(self, x: float, room: float) -> bool:
        step = _SHORT * room
        before, at, after = self.values(x - step, x, x + step)
        return bool(abs(before - 2 * at + after) > self.slack)

    def function(self, breakpoints: Floats, low: float, high: float) -> PiecewiseLinear:
        t = breakpoints if len(breakpoints) else np.array([(low + high) / 2])
        values = self.values(*t)
        (first,), (last,) = self.values(low), self.values(high)
        outer_left = (values[0] - first) / (t[0] - low) if t[0] > low else 0.0
        outer_right = (last - values[-1]) / (high - t[-1]) if t[-1] < high else 0.0
        slopes = np.concatenate([[outer_left], np.diff(values) / np.diff(t), [outer_right]])
        return PiecewiseLinear(breakpoints=t, values=values, slopes=slopes)
