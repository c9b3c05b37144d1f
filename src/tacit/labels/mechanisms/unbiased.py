"""The unbiased private release of a number with the least variance."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.labels.mechanisms.numbers import NumberMechanism
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.settings import BOUND

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.linear_program import UnbiasedProgram

__all__ = ["OptimalUnbiased"]

_ROUNDED = 1e-6  # the header holds exact fractions as floats


@dataclass(frozen=True, kw_only=True)
class OptimalUnbiased(NumberMechanism):
    """For numbers: release one whose expectation is the label, with the least squared error under a prior.

    Minimize sum P_y M[y,o] (o - y)^2 over M >= 0 with rows that sum to 1 and have mean y, and
    M[y,o] <= e^epsilon M[y',o]. The program's floating-point answer is then made exactly feasible in rationals. Without
    a public prior all values count alike.

    Unit: one row's label; neighbors differ in that label alone. Assumes that the list of values and the prior
    are public. Not protected: features, which rows exist.

    Parameters
    ----------
    grid
        The numbers that may be released; they must reach beyond the values. Default: 101 points as far as the
        de-biased randomized response reaches.

    References
    ----------
    Badanidiyuru et al. (2023). Formula sheet a9.

    Examples
    --------
    >>> mechanism = OptimalUnbiased(epsilon=1.0, values=[0.0, 1.0], prior=[0.5, 0.5])
    >>> round(mechanism.best.expected_error, 6), mechanism.best.repair_cost < 1e-6
    (0.920674, True)
    """

    name: ClassVar[str] = "unbiased"
    phrase: ClassVar[str] = "noisy numbers without bias"

    grid: Any = field(default=None, metadata=BOUND, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None and self.epsilon > 30:
            raise InvalidInput(f"must be at most 30 for {self.name}, got {self.epsilon!r}; use bins", field="epsilon")
        if self.epsilon is not None and self.written is not None:
            self._check_written()

    def _check_written(self) -> None:
        import numpy as np

        matrix = self.transition()
        if (matrix.max(axis=0) > np.exp(self.epsilon) * matrix.min(axis=0) * (1 + _ROUNDED)).any():
            raise InvalidRelease(f"the release has a transition matrix that does not keep epsilon {self.epsilon:g}")

    @cached_property
    def best(self) -> UnbiasedProgram:
        """The best randomizer of the values."""
        from tacit.labels.mechanisms.linear_program import UnbiasedProgram

        return UnbiasedProgram.solve(self.values.values, self.prior, epsilon=self.epsilon, grid=self.grid)

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The numbers that can be released."""
        import numpy as np

        return self.best.outputs if self.written is None else np.asarray(self.written["outputs"])

    def describe(self) -> dict[str, Any]:
        """Return values, prior, outputs and the transition matrix."""
        return {**super().describe(), "transition": self.transition().tolist()}

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the place of one output per label; ``codes`` are places among the values."""
        if self.written is not None:
            raise InvalidInput("a release that was read cannot draw again: its fractions were rounded")
        return self.best.draw(codes, rng=rng)

    def transition(self) -> NDArray[np.float64]:
        """Return row i: the probability of each output when the label is the i-th value."""
        import numpy as np

        return np.array(self.exact_transition() if self.written is None else self.written["transition"], dtype=float)

    def exact_transition(self) -> tuple[tuple[Fraction, ...], ...]:
        """Return the same as fractions."""
        return tuple(choice.probabilities for choice in self.best.choices)
