"""The training of Theorem 1: plain gradient steps, on totals as on labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.bags.learners.crosses import CrossProblem, CrossSolver
from tacit.privacy.errors import InvalidInput

__all__ = ["GradientDescent"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientDescent(CrossSolver):
    """Full-batch gradient steps of a fixed rate on the mean loss.

    Examples
    --------
    >>> GradientDescent(steps=10, rate=0.5).steps
    10
    """

    steps: int = 1000
    rate: float = 1.0

    def __post_init__(self) -> None:
        if self.steps < 1 or not self.rate > 0:
            raise InvalidInput(f"steps must be >= 1 and rate > 0, got steps={self.steps!r} and rate={self.rate!r}")

    def solve(self, problem: CrossProblem, start: Floats, /) -> tuple[Floats, int]:
        """Return the parameters after the steps.

        Examples
        --------
        >>> from tacit.bags.losses import SquaredLoss
        >>> problem = CrossProblem(loss=SquaredLoss(), cells=np.array([[0]]), weights=np.ones(1), total=np.ones(1),
        ...                        totals=[np.ones((1, 1))], strengths=[np.zeros(1)])
        >>> GradientDescent(steps=1, rate=0.25).solve(problem, np.zeros(2))[0]
        array([0.25, 0.25])
        """
        parameters = start.copy()
        for _ in range(self.steps):
            parameters -= self.rate * problem.value_and_gradient(parameters)[1]
        return parameters, self.steps
