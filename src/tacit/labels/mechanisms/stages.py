"""Randomize labels in stages: earlier rows teach the prior of later ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes
from tacit.labels.fitting.denoise import Denoise, Forward
from tacit.labels.fitting.model import Weights, fit_soft, named_estimator, unbalanced
from tacit.labels.mechanisms.column import LABEL, ClassColumn, Codes, LabelColumn
from tacit.labels.mechanisms.evidence import Evidence
from tacit.labels.mechanisms.top_k import PriorRandomizedResponse
from tacit.privacy.errors import InvalidInput

__all__ = ["PRIOR", "STAGE", "StageLearner", "StagedColumn"]

STAGE, PRIOR = "stage", "prior"
"""The columns of a staged release: when each row was randomized, and under which prior, null in the first stage."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageLearner:
    """What learns between stages, and from which rows.

    Parameters
    ----------
    X
        A row for each label.
    estimator, denoise
        Default: the mechanism's estimator, and :class:`Forward`.
    """

    X: Any
    estimator: Any = None
    denoise: Denoise | None = None
    sample_weight: Weights = None

    def prior(self, base: Any, seen: Rows, now: Rows, evidence: _Drawn, rng: np.random.Generator) -> Any:  # noqa: ANN401
        """Return P(class | x) of the rows ``now`` from a model of the rows ``seen``."""
        estimator = base if self.estimator is None else self.estimator
        weights = None if self.sample_weight is None else self.sample_weight[seen]
        X, likelihood, given = self.X[seen], evidence.likelihood[seen], evidence.given[seen]
        denoise = self.denoise or Forward()
        targets = denoise.targets(estimator, X, likelihood=likelihood, given=given, sample_weight=weights, rng=rng)
        fit = getattr(denoise, "fit", fit_soft)
        model = fit(unbalanced(estimator), X, targets, sample_weight=weights, rng=rng)
        return model.probabilities(self.X[now])


Rows = NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class _Drawn:
    """What was released so far: codes, their likelihood, the stage and the prior of each row."""

    given: Codes
    likelihood: NDArray[np.float64]
    stage: Codes
    prior: NDArray[np.float32]

    @classmethod
    def none(cls, rows: int, classes: int) -> _Drawn:
        shape = (rows, classes)
        nothing = np.full(rows, MISSING)
        return cls(nothing, np.zeros(shape), nothing.copy(), np.full(shape, np.nan, dtype=np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class StagedColumn(LabelColumn):
    """The first part by ``first``, each later part by its best RRTop-k; every label is read once.

    So the guarantee of the whole is that of one label's release (parallel composition, adaptively chosen).
    """

    first: ClassColumn
    epsilon: float
    stages: int
    estimator: str
    at_once: ClassVar[bool] = True

    @property
    def coding(self) -> Classes:  # type: ignore[override]
        """The classes."""
        return self.first.coding

    def emit(self, codes: Codes, *, rng: np.random.Generator) -> pa.Array:
        """Draw the first stage."""
        return self.first.emit(codes, rng=rng)

    def draw(self, codes: Codes, *, rng: np.random.Generator, learner: StageLearner | None = None) -> pa.Table:
        """Draw stage by stage; the learner's model of the earlier stages gives each later row its prior."""
        if learner is None:
            raise InvalidInput("must name columns to learn from for labels in stages", field="features")
        drawn = _Drawn.none(len(codes), len(self.coding))
        present = np.flatnonzero(codes != MISSING)
        drawn.stage[present] = rng.permutation(np.arange(len(present)) % self.stages)
        for number in range(self.stages):
            now = drawn.stage == number
            mechanism: Any = self.first.mechanism
            if number and now.any():
                seen = (drawn.stage >= 0) & (drawn.stage < number)
                # rounded to float32, as it is written: whoever reads the release finds the same best k
                drawn.prior[now] = learner.prior(named_estimator(self.estimator), seen, now, drawn, rng)
                mechanism = PriorRandomizedResponse(epsilon=self.epsilon, prior=drawn.prior[now])
            if now.any():
                drawn.given[now] = mechanism.randomize(codes[now], rng=rng)
                drawn.likelihood[now] = mechanism.likelihood(drawn.given[now])
        stage = pa.array(drawn.stage, mask=drawn.stage == MISSING)
        return pa.table({LABEL: self.coding.decode(drawn.given), STAGE: stage, PRIOR: _prior_column(drawn.prior)})

    def describe(self) -> dict[str, Any]:
        """Return what the first stage's column does."""
        return self.first.describe()

    def evidence(self, rows: pa.Table) -> Evidence:
        """Return the evidence of the first stage, and that of each later row under its own prior."""
        later = np.asarray(rows[PRIOR].is_valid())
        first = self.first.evidence(rows.filter(pa.array(~later)))
        outputs = self.coding.encode(rows[LABEL])
        likelihood, prior = (np.empty((len(later), len(self.coding))) for _ in range(2))
        likelihood[~later], prior[~later] = first.likelihood, first.prior
        if later.any():
            own: Any = _row_priors(rows[PRIOR].drop_null())
            likelihood[later] = PriorRandomizedResponse(epsilon=self.epsilon, prior=own).likelihood(outputs[later])
            prior[later] = own
        return Evidence(classes=self.coding.values, likelihood=likelihood, outputs=outputs, prior=prior)


def _prior_column(prior: NDArray[np.float32]) -> pa.Array:
    """The priors of rows as a column of lists; a row of NaN has none."""
    none = np.isnan(prior[:, 0])
    ends = np.concatenate([[0], np.cumsum(~none) * prior.shape[1]]).astype(np.int64)
    return pa.LargeListArray.from_arrays(pa.array(ends), pa.array(prior[~none].ravel()), mask=pa.array(none))


def _row_priors(column: pa.ChunkedArray) -> NDArray[np.float32]:
    rows = np.asarray(column.combine_chunks().flatten(), dtype=np.float32)
    return rows.reshape(len(column), -1)
