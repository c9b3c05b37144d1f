"""Labels released in stages: earlier rows teach the prior of later ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tacit.labels.mechanisms.base import LABEL, LabelMechanism, PublicPrior
from tacit.labels.mechanisms.prior import PriorRandomizedResponse
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import about, count

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.evidence import ReleasedEvidence

__all__ = ["PRIOR", "STAGE", "StageLearner", "StagedResponse"]

STAGE, PRIOR = "stage", "prior"
"""The columns of a staged release: when each row was randomized, and under which prior, null in the first stage."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageLearner:
    """What learns between stages, and from which rows."""

    X: Any  # one row per label
    estimator: Any = None  # default: the mechanism's
    sample_weight: Any = None

    def prior(self, name: str, seen: Any, now: Any, drawn: _DrawnStages, rng: np.random.Generator) -> Any:  # noqa: ANN401
        """Return P(true label | x) of the rows ``now`` from what was released of the rows ``seen``."""
        import numpy as np
        from sklearn.utils import _safe_indexing

        from tacit.labels.fitting.denoise import NoisyLabels
        from tacit.labels.fitting.likelihood_forms import likelihood_form
        from tacit.labels.fitting.model import named_estimator
        from tacit.labels.fitting.unseen import predict_unseen

        estimator = likelihood_form(named_estimator(name)) if self.estimator is None else self.estimator
        noisy = NoisyLabels(given=drawn.given, likelihood=drawn.likelihood, sample_weight=self.sample_weight)
        rows = np.flatnonzero(seen)
        X, unseen = _safe_indexing(self.X, rows), _safe_indexing(self.X, np.flatnonzero(now))
        return predict_unseen(estimator, X, noisy.take(rows), unseen, rng=rng)


@dataclass(slots=True, eq=False)
class _DrawnStages:
    """What was released so far: codes, their likelihood, the stage and the prior of each row."""

    given: NDArray[np.int64]
    likelihood: NDArray[np.float64]
    stage: NDArray[np.int64]
    prior: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class StagedResponse(LabelMechanism):
    """Release a random part of the rows by randomized response, and each later part under a learned prior.

    A model of the features and the labels released so far, with their noise undone, gives every later row its own prior
    of true labels (:func:`~tacit.labels.fitting.unseen.predict_unseen`). The parts are disjoint and every label is read
    once, so the guarantee is that of one label's release (parallel composition, adaptively chosen). The release has the
    columns ``stage`` and ``prior``: functions of the features and of released labels, which cost nothing.

    References
    ----------
    Ghazi et al. (2021), Algorithm 3. Formula sheet a6.
    """

    name: ClassVar[str] = "staged"
    phrase: ClassVar[str] = "randomized response in {stages} stages"
    takes_prior: ClassVar[bool] = True
    needs_features: ClassVar[bool] = True

    stages: int = field(default=2, metadata=count("How many parts.", least=2, most=1000))
    estimator: Literal["logistic", "trees"] = field(
        default="logistic", metadata=about("The model between stages: logistic regression, or boosted trees.")
    )

    @property
    def first(self) -> RandomizedResponse | PriorRandomizedResponse:
        """The mechanism of the first stage."""
        kind = RandomizedResponse if self.prior is None else PriorRandomizedResponse
        return kind(epsilon=self.epsilon, classes=self.classes, prior=self.prior)

    def assumptions(self, prior: PublicPrior) -> tuple[str, ...]:
        """Return the assumptions of its guarantee, which are those of the first stage."""
        return (RandomizedResponse() if prior is None else PriorRandomizedResponse()).assumptions(prior)

    def describe(self) -> dict[str, Any]:
        """Return what the first stage needs to be read."""
        return self.first.describe()

    def emit(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> pa.Array:
        """Draw the first stage."""
        return self.first.emit(codes, rng=rng)

    def draw(
        self, codes: NDArray[np.int64], *, rng: np.random.Generator, learner: StageLearner | None = None
    ) -> pa.Table:
        """Draw stage by stage; the learner's model of the earlier stages gives each later row its prior."""
        import numpy as np
        import pyarrow as pa

        from tacit.data.classes import MISSING

        if learner is None:
            raise InvalidInput("must name columns to learn from for labels in stages", field="features")
        drawn = self._nothing(len(codes))
        present = np.flatnonzero(codes != MISSING)
        drawn.stage[present] = rng.permutation(np.arange(len(present)) % self.stages)
        for number in range(self.stages):
            now, mechanism = drawn.stage == number, self.first
            if not now.any():
                continue
            if number:
                seen = (drawn.stage >= 0) & (drawn.stage < number)
                # rounded to float32, as it is written: anyone who reads the release finds the same best k
                drawn.prior[now] = learner.prior(self.estimator, seen, now, drawn, rng)
                mechanism = PriorRandomizedResponse(epsilon=self.epsilon, prior=drawn.prior[now])
            drawn.given[now] = mechanism.randomize(codes[now], rng=rng)
            drawn.likelihood[now] = mechanism.likelihood(drawn.given[now])
        stage = pa.array(drawn.stage, mask=drawn.stage == MISSING)
        return pa.table({LABEL: self.classes.decode(drawn.given), STAGE: stage, PRIOR: _prior_column(drawn.prior)})

    def _nothing(self, rows: int) -> _DrawnStages:
        import numpy as np

        from tacit.data.classes import MISSING

        shape, missing = (rows, self.K), np.full(rows, MISSING)
        return _DrawnStages(missing, np.zeros(shape), missing.copy(), np.full(shape, np.nan, dtype=np.float32))

    def evidence(self, rows: pa.Table) -> ReleasedEvidence:
        """Return the evidence of the first stage, and that of each later row under its own prior."""
        import numpy as np
        import pyarrow as pa

        from tacit.labels.mechanisms.evidence import ReleasedEvidence

        later = np.asarray(rows[PRIOR].is_valid())
        first = self.first.evidence(rows.filter(pa.array(~later)))
        outputs = self.classes.encode(rows[LABEL])
        likelihood, prior = (np.empty((len(later), self.K)) for _ in range(2))
        likelihood[~later], prior[~later] = first.likelihood, first.shares
        if later.any():
            own = _row_priors(rows[PRIOR].drop_null())
            likelihood[later] = PriorRandomizedResponse(epsilon=self.epsilon, prior=own).likelihood(outputs[later])
            prior[later] = own
        return ReleasedEvidence(classes=self.classes.values, likelihood=likelihood, outputs=outputs, prior=prior)


def _prior_column(prior: NDArray[np.float32]) -> pa.Array:
    """The priors of rows as a column of lists; a row of NaN has none."""
    import numpy as np
    import pyarrow as pa

    none = np.isnan(prior[:, 0])
    ends = np.concatenate([[0], np.cumsum(~none) * prior.shape[1]]).astype(np.int64)
    return pa.LargeListArray.from_arrays(pa.array(ends), pa.array(prior[~none].ravel()), mask=pa.array(none))


def _row_priors(column: pa.ChunkedArray) -> NDArray[np.float32]:
    import numpy as np

    rows = np.asarray(column.combine_chunks().flatten(), dtype=np.float32)
    return rows.reshape(len(column), -1)
