"""Boosted trees by expectation maximization, for a library that takes no loss of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from tacit.labels.fitting.boosting.objective import ReleasedObjective
from tacit.labels.fitting.boosting.trees import BoostingLibrary, TreeJudge

__all__ = ["ExpectationTrees", "WeightedCopies", "WeightedTrees"]

Array = NDArray[np.float64]

_STEPS = 15  # of expectation, at most


@dataclass(frozen=True, slots=True, eq=False)
class WeightedCopies:
    """Each row once for every value, with the posterior of the value as its weight."""

    X: Any
    codes: NDArray[np.int64]
    weights: Array
    start: Array  # the logits of each copy's row before its trees

    @classmethod
    def of(cls, X: Any, objective: ReleasedObjective, scores: Array) -> WeightedCopies:  # noqa: ANN401
        """Make those of rows ``X``, whose copies stand together."""
        K = len(objective.start)
        weights = objective.posteriors(scores)
        if objective.weights is not None:
            weights = weights * objective.weights[:, None]
        copies = np.repeat(np.arange(objective.rows), K)
        start = np.log(objective.probabilities(scores))[copies]
        return cls(_safe_indexing(X, copies), np.tile(np.arange(K), objective.rows), weights.ravel(), start)


class WeightedTrees(Protocol):
    """One library's way to boost trees on weighted rows of known classes."""

    @property
    def trees(self) -> BoostingLibrary:
        """How the library sets rounds, rates and leaves."""

    def more(self, model: Any, copies: WeightedCopies, *, rounds: int, last: Any, options: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return the trees of ``last``, None at first, and so many more rounds."""

    def scores(self, fitted: Any, X: Any, objective: ReleasedObjective) -> Array:  # noqa: ANN401
        """Return the scores of rows above the start."""


@dataclass(frozen=True, slots=True)
class _GrownTrees:
    fitted: Any
    objective: ReleasedObjective


@dataclass(frozen=True, slots=True)
class ExpectationTrees(BoostingLibrary):
    """Boosts in steps: each finds the posteriors under the trees so far, then adds a few rounds for them.

    A round of this library is such a step. The maximization is not run to its end, which only slows it down: the
    likelihood still rises (generalized expectation maximization).

    References
    ----------
    Dempster, Laird and Rubin (1977), Section 3.
    """

    costly: ClassVar[bool] = True

    library: WeightedTrees

    def prepared(self, estimator: Any, objective: ReleasedObjective) -> Any:  # noqa: ANN401
        """Return the model of the library's own."""
        return self.library.trees.prepared(estimator, objective)

    def leaves(self, model: Any) -> int:  # noqa: ANN401
        """Return those of the library."""
        return self.library.trees.leaves(model)

    def few_leaves(self, model: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return those of the library."""
        return self.library.trees.few_leaves(model)

    def with_few_leaves(self, model: Any) -> Any:  # noqa: ANN401
        """Return that of the library, whose rounds are no steps yet."""
        return self.library.trees.with_few_leaves(model)

    def rounds(self, model: Any) -> int:  # noqa: ANN401
        """Return the number of steps."""
        rounds = self.library.trees.rounds(model)
        return -(-rounds // self._step(model))

    def rate(self, model: Any) -> float:  # noqa: ANN401
        """Return the learning rate of a step."""
        return self.library.trees.rate(model) * self._step(model)

    def _step(self, model: Any) -> int:  # noqa: ANN401
        return max(1, self.library.trees.rounds(model) // _STEPS)

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
        """Take the steps; with rows held out, end when they have not become likelier for a while."""
        fitted, best, scores = None, None, objective.nothing()
        for number in range(rounds):
            copies = WeightedCopies.of(X, objective, scores)
            fitted = self.library.more(model, copies, rounds=self._step(model), last=fitted, options=options)
            scores = self.library.scores(fitted, X, objective)
            if held is None:
                best = fitted
                continue
            held.judge(self.library.scores(fitted, held.X, objective))
            if held.best == number + 1:
                best = fitted
            elif number + 1 - held.best >= held.patience:
                break
        return _GrownTrees(best, objective.take(np.arange(0)))

    def scores(self, model: Any, X: Any) -> Array:  # noqa: ANN401
        """Return the scores of the best step."""
        return self.library.scores(model.fitted, X, model.objective)
