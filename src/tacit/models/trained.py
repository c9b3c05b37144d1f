"""The result of training, and its description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EstimatorName", "Settled", "TrainedModel"]

EstimatorName = Literal["logistic", "mlp", "trees", "forest"]
"""Scikit-learn classifiers that a plan can name."""

Settled = Mapping[str, Any]
"""What data decided, in public terms: the header holds it, and the guarantee is rebuilt from it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainedModel:
    """A trained model: the parameters of linear layers with ReLU between them, or a fitted scikit-learn estimator.

    ``state`` is None for an estimator that only a pickle can hold, fitted on class codes; ``facts`` are what training
    itself found out, for the header.
    """

    state: Mapping[str, NDArray[Any]] | None = None
    estimator: Any = None
    facts: Settled = field(default_factory=dict)
