"""Where a simpler way beats the default: the alternative is chosen on half of the seeds, and compared on the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

Cells = Mapping[str, Mapping[str, Any]]
Array = NDArray[np.float64]

MARGINS = {"accuracy": 0.01, "auc": 0.01, "loss": 0.02, "calibration": 0.02}
"""How much worse is worse; of the log loss, as a share of the alternative's."""

LEVEL, TOLERATED = 0.05, 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How much worse the default is than the best alternative, in one measure, on the other half of the seeds."""

    place: str  # set/learner/epsilon
    measure: str
    alternative: str
    default: float
    best: float
    excess: float  # beyond the margin, mean over the seeds
    chance: float  # p-value of an excess above 0, before Holm

    @property
    def worse(self) -> bool:
        """Whether the default is worse by more than the margin."""
        return self.excess > 0


def compare(cells: Cells) -> list[Comparison]:
    """Return one comparison for each set, learner, epsilon and measure that two halves of the seeds have."""
    return [found for place, seeds in _places(cells) for found in _compared(place, seeds)]


def holm(comparisons: Sequence[Comparison]) -> list[float]:
    """Return the p-values adjusted for how many there are.

    Examples
    --------
    >>> made = [Comparison(place="a", measure="auc", alternative="plain", default=0, best=0, excess=1, chance=p)
    ...         for p in (0.04, 0.01, 0.03)]
    >>> [round(p, 2) for p in holm(made)]
    [0.06, 0.03, 0.06]
    """
    order, adjusted, largest = np.argsort([one.chance for one in comparisons]), np.zeros(len(comparisons)), 0.0
    for rank, place in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(comparisons) - rank) * comparisons[place].chance))
        adjusted[place] = largest
    return adjusted.tolist()


def _places(cells: Cells) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    for place in dict.fromkeys(key.rpartition("/")[0] for key in cells):
        seeds = sorted(int(key.rpartition("/")[2]) for key in cells if key.rpartition("/")[0] == place)
        if len(seeds) >= 3:
            yield place, [cells[f"{place}/{seed}"] for seed in seeds]


def _compared(place: str, seeds: list[Mapping[str, Any]]) -> Iterator[Comparison]:
    half = len(seeds) // 2
    alternatives = [way for way in seeds[0] if isinstance(seeds[0][way], Mapping) and way not in ("default", "clean")]
    for measure in MARGINS:
        sign = -1.0 if measure in ("accuracy", "auc") else 1.0
        of = {way: sign * np.array([cell[way][measure] for cell in seeds]) for way in (*alternatives, "default")}
        alternative = min(alternatives, key=lambda way: of[way][:half].mean())
        ours, theirs = of["default"][half:], of[alternative][half:]
        margin = MARGINS[measure] * (theirs if measure == "loss" else 1.0)
        beyond = ours - theirs - margin
        yield Comparison(
            place=place,
            measure=measure,
            alternative=alternative,
            default=float(sign * ours.mean()),
            best=float(sign * theirs.mean()),
            excess=float(beyond.mean()),
            chance=_chance(beyond),
        )


def _chance(beyond: Array) -> float:
    """The p-value of a one-sided t-test; seeds that all agree have none."""
    if np.ptp(beyond) < 1e-12:
        return 0.0 if beyond[0] > 0 else 1.0
    return float(ttest_1samp(beyond, 0.0, alternative="greater").pvalue)
