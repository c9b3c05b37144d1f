"""Event-level reports of ad platforms: randomized response over everything that a source's reports can say."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, ClassVar

from tacit.labels.mechanisms.base import LabelMechanism
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EventReports"]


@dataclass(frozen=True, kw_only=True)
class EventReports(LabelMechanism):
    """Randomized response over the k outcomes of a click or view: which reports are sent, when, with which bits.

    A source may send some reports, each in one of several windows with some bits of trigger data. With chance
    k/(k + e^epsilon - 1) all of it is replaced by one of the k outcomes, uniformly. The label is what the first report
    says. With one report the classes are none and each of its 2^bits values, in this order; with two classes they are
    no report and any report.

    Unit: one source's label; neighbors differ in that label alone. Assumes that the class list is public. Not
    protected: features, which sources exist.

    Parameters
    ----------
    reports, windows, bits
        The most reports of a source, the windows that each may come in, and the bits of its trigger data. The defaults
        are those of a click; a view has ``reports=1,windows=1,bits=1``.

    References
    ----------
    Attribution Reporting (W3C draft), "Obtaining a randomized source response".

    Examples
    --------
    >>> EventReports().outcomes, EventReports(reports=1, windows=1, bits=1).outcomes
    (2925, 3)
    >>> EventReports(epsilon=14.0, classes=2).transition().round(5)
    array([[0.99757, 0.00243],
           [0.     , 1.     ]])
    """

    name: ClassVar[str] = "reports"
    phrase: ClassVar[str] = "randomized event-level reports"

    reports: int = field(default=3, metadata=count("The most reports of a source.", most=20))
    windows: int = field(default=3, metadata=count("The windows in which a report may come.", most=100))
    bits: int = field(default=3, metadata=count("The bits of a report's trigger data.", most=8))

    @property
    def outcomes(self) -> int:
        """How many different things the reports of a source can say."""
        return comb(self.reports + self.windows * 2**self.bits, self.reports)

    def exact_transition(self) -> tuple[tuple[Fraction, ...], ...]:
        """Row y: the exact probability of each output when the label is y."""
        from tacit.privacy.noise.choice import keep_coin

        keep = keep_coin(self.epsilon, outcomes=self.outcomes).probability
        other = (1 - keep) / (self.outcomes - 1)
        sizes = self._sizes()
        return tuple(
            tuple(other * size + (keep - other if y == z else 0) for z, size in enumerate(sizes)) for y in range(self.K)
        )

    def transition(self) -> NDArray[np.float64]:
        """Return the transition matrix as floats."""
        import numpy as np

        return np.array(self.exact_transition(), dtype=np.float64)

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one output per label."""
        import numpy as np

        from tacit.labels.mechanisms.finite import check_codes
        from tacit.privacy.noise.response import randomize_codes

        labels, ends = check_codes(codes, classes=self.K), np.cumsum(self._sizes())
        first = ends - np.array(self._sizes())  # one outcome of each class; which one moves no other class's chance
        drawn = randomize_codes(first[labels], epsilon=self.epsilon, classes=self.outcomes, rng=rng)
        return np.searchsorted(ends, drawn, side="right")

    def _sizes(self) -> list[int]:
        """How many outcomes each class has: one is no report."""
        if self.K == 2:
            return [1, self.outcomes - 1]
        if self.reports == 1 and 1 + 2**self.bits == self.K:
            return [1, *[self.windows] * 2**self.bits]
        single = f" or {1 + 2**self.bits}" if self.reports == 1 else ""
        raise InvalidInput(f"must be 2{single} classes for such reports, none first, got {self.K}", field="classes")
