"""What a boosting library does for a learner: grow trees for a loss, and judge them as they grow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tacit.labels.fitting.boosting.objective import ReleasedObjective

__all__ = ["FEW_LEAVES", "LEAST_RATE", "BoostingLibrary", "TreeJudge", "grown_leaf"]

Array = NDArray[np.float64]

FEW_LEAVES = 4
LEAST_RATE = 0.1
"""The learning rate of trees with few leaves, if the estimator's own is not larger."""

_MORE_ROUNDS = 3
_LEAVES_OF_ALL = 8  # a leaf has at most this part of all rows or information: or no tree would have two


@dataclass(slots=True, eq=False)
class TreeJudge:
    """Rows that judge the trees while they grow on others."""

    X: Any
    objective: ReleasedObjective
    patience: int
    losses: list[float] = field(default_factory=list)  # before the first round, and after each
    best_scores: Array = field(init=False)

    def __post_init__(self) -> None:
        self.best_scores = self.objective.nothing()
        self.losses.append(self.objective.loss(self.best_scores))

    def judge(self, scores: Array) -> float:
        """Return the loss of the held-out rows, and remember it, and the best scores."""
        self.losses.append(self.objective.loss(scores))
        if self.best == len(self.losses) - 1:
            self.best_scores = np.reshape(np.array(scores, dtype=np.float64), self.best_scores.shape)
        return self.losses[-1]

    @property
    def best(self) -> int:
        """The rounds after which the held-out labels are likeliest; at least one."""
        return max(1, int(np.argmin(self.losses)))


class BoostingLibrary(ABC):
    """One library's way to boost trees by a loss of ours."""

    costly: ClassVar[bool] = False
    """Whether rows are held out but once, since a fit takes long."""

    names: ClassVar[tuple[str, str]]
    """The library's settings of the number of rounds and of the learning rate."""

    @abstractmethod
    def prepared(self, estimator: Any, objective: ReleasedObjective) -> Any:  # noqa: ANN401
        """Return the estimator as the library's regressor, which asks nothing of the labels."""

    @abstractmethod
    def leaves(self, model: Any) -> int:  # noqa: ANN401
        """Return the most leaves that a tree may have."""

    @abstractmethod
    def few_leaves(self, model: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the settings of trees with four leaves."""

    @abstractmethod
    def grow(
        self,
        model: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401
        objective: ReleasedObjective,
        *,
        rounds: int,
        held: TreeJudge | None,
        options: Mapping[str, Any],
    ) -> Any:  # noqa: ANN401
        """Return a fitted copy of the model; with rows held out, one that ends at the best round."""

    @abstractmethod
    def scores(self, model: Any, X: Any) -> Array:  # noqa: ANN401
        """Return the scores of rows above the start."""

    def rounds(self, model: Any) -> int:  # noqa: ANN401
        """Return the most rounds that the model may take."""
        return int(model.get_params()[self.names[0]])

    def rate(self, model: Any) -> float:  # noqa: ANN401
        """Return the learning rate."""
        return float(model.get_params()[self.names[1]])

    def with_few_leaves(self, model: Any) -> Any:  # noqa: ANN401
        """Return the model with small trees, as many labels under noise allow; None if its trees are small."""
        leaves = self.leaves(model)
        if leaves <= FEW_LEAVES:
            return None
        rounds, rate = _few_rounds(self.rounds(model), leaves=leaves), max(self.rate(model), LEAST_RATE)
        return self.changed(model, dict(zip(self.names, (rounds, rate), strict=True)) | self.few_leaves(model))

    def changed(self, model: Any, settings: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a copy of the model with other settings."""
        return clone(model).set_params(**settings)


def _few_rounds(rounds: int, *, leaves: int) -> int:
    """Return the rounds of trees with few leaves: at most as many leaves as given, and three times the rounds."""
    return max(1, min(_MORE_ROUNDS * rounds, rounds * leaves // FEW_LEAVES))


def grown_leaf(least: float, *, of: float) -> float:
    """Return the least size of a leaf, no more than an eighth of all."""
    return max(min(least, of / _LEAVES_OF_ALL), 0.0)
