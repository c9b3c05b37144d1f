"""The reusable holdout: it answers from the training score until the two differ, and may be used many times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import BudgetExceeded, InvalidInput
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.noise import DiscreteLaplace, NoiseGrid
from tacit.privacy.rounding import check_count, check_epsilon, exact, round_up

__all__ = ["ReusableHoldout"]


class ReusableHoldout:
    """Thresholdout: answer with the training score unless the holdout's is too far from it.

    With noise of scale s, a query in [0, 1] is answered from the training rows unless
    |train - holdout| > threshold + Lap(2s) + Lap(4s); then the answer is holdout + Lap(s), the threshold's
    noise is drawn again, and one of ``refreshes`` is spent. All answers together are
    (2 refreshes/(s n), 0)-differentially private for n holdout rows. Noise is discrete, on a public grid, and every
    comparison is between integers.
    Unit: one holdout row's label; neighbors differ in it alone. Assumed: losses lie in [0, 1] (they are clipped), no
    holdout label was used in training but through these answers. Not protected: the training labels, the features.

    Parameters
    ----------
    threshold
        Largest difference that passes as agreement, before noise.

    References
    ----------
    Dwork et al. (2015), "Generalization in adaptive data analysis and holdout reuse", algorithm Thresholdout;
    Dwork et al. (2015), "The reusable holdout: preserving validity in adaptive data analysis".
    """

    def __init__(
        self,
        *,
        rows: int,
        threshold: float,
        scale: float,
        refreshes: int,
        rng: np.random.Generator,
        step: Fraction = Fraction(1, 1024),
        resume: Mapping[str, int] | None = None,
    ) -> None:
        self._rows = check_count(rows, name="rows")
        self._threshold = check_epsilon(threshold, name="threshold", zero=True)
        self._scale = check_epsilon(scale, name="scale")
        self._left = self._refreshes = check_count(refreshes, name="refreshes")
        self._grid = NoiseGrid(step=step)
        self._rng = rng
        self._bar = self._draw_bar() if resume is None else int(resume["bar"])
        if resume is not None:
            self._left = int(resume["left"])

    @property
    def state(self) -> dict[str, int]:
        """What is kept between two answers, as plain JSON: private, for it holds the threshold's noise."""
        return {"bar": self._bar, "left": self._left}

    @property
    def left(self) -> int:
        """Refreshes that are left."""
        return self._left

    @property
    def guarantee(self) -> Guarantee:
        """What all answers, present and future, guarantee for one holdout label.

        A refresh costs 1/(s n) for the comparison (threshold noise 1/(2s n), query noise 2/(4s n)) and 1/(s n)
        for the answer.
        """
        noise = self._noise(1)
        one_answer = Fraction(self._grid.sensitivity(1.0)) / noise.scale
        return Guarantee(
            unit=Unit.LABEL,
            epsilon=round_up(2 * self._refreshes * one_answer),
            assumptions=("training uses no holdout label but through the answers",),
        )

    def answer(self, train_losses: ArrayLike, holdout_losses: ArrayLike) -> float:
        """Return the mean loss of one model: the training one, or the holdout's with noise."""
        if self._left == 0:
            raise BudgetExceeded(f"all {self._refreshes} refreshes are spent; this holdout gives no more answers")
        total, train = self._total(holdout_losses), self._train_total(train_losses)
        if abs(total - train) <= self._bar + self._draw(4):
            return self._mean(train)
        self._left -= 1
        self._bar = self._draw_bar()
        return self._mean(total + self._draw(1))

    def tail(self, x: float, *, models: int) -> float:
        """Return a bound on P(regret > x): some answer is off by more than x/2.

        An answer from the training rows is off by at most threshold + Lap(2s) + Lap(4s), another one by Lap(s).
        """
        if models == 1:
            return 0.0
        # the grid moves a mean by step/2; three units pay for noise and training mean being integers
        y = x / 2 - float(self._grid.step) * (0.5 + 3 / self._rows)
        s = self._scale
        return min(1.0, models * (_sum_tail((y - self._threshold) / s) + math.exp(-max(y, 0.0) / s)))

    def expected(self, *, models: int) -> float:
        """Return the integral of :meth:`tail` over [0, 1]: a regret is at most 1."""
        grid = np.linspace(0.0, 1.0, 1025)
        return float(np.mean([self.tail(float(x), models=models) for x in grid[:-1]]))  # the tail decreases

    def _noise(self, multiple: int) -> DiscreteLaplace:
        return DiscreteLaplace(scale=multiple * exact(self._scale) * self._rows / self._grid.step)

    def _draw(self, multiple: int) -> int:
        return int(self._noise(multiple).draw(1, rng=self._rng)[0])

    def _draw_bar(self) -> int:
        return math.floor(exact(self._threshold) * self._rows / self._grid.step) + self._draw(2)

    def _total(self, losses: ArrayLike) -> int:
        given = np.asarray(losses, dtype=np.float64)
        if given.shape != (self._rows,):
            raise InvalidInput(f"holdout_losses must be one for each of {self._rows} rows, got shape {given.shape}")
        return int(self._steps(given).sum())

    def _train_total(self, losses: ArrayLike) -> int:
        """Return the training mean as if it were a total of the holdout's rows."""
        given = np.asarray(losses, dtype=np.float64)
        if given.ndim != 1 or not given.size:
            raise InvalidInput(f"train_losses must be one for each training row, got shape {given.shape}")
        return math.floor(Fraction(int(self._steps(given).sum()) * self._rows, len(given)) + Fraction(1, 2))

    def _steps(self, losses: NDArray[np.float64]) -> NDArray[np.int64]:
        return self._grid.snap(losses, lower=0.0, upper=1.0)

    def _mean(self, total: int) -> float:
        return float(total * self._grid.step / self._rows)


def _sum_tail(z: float) -> float:
    """Bound P(Lap(2) + Lap(4) >= z): exactly (16 e^(-z/4) - 4 e^(-z/2))/24 for z >= 0."""
    return 1.0 if z <= 0 else (16 * math.exp(-z / 4) - 4 * math.exp(-z / 2)) / 24
