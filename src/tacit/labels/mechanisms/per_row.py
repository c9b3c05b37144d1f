"""Randomized response with an epsilon for each row, which a public column names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.labels.mechanisms.base import LABEL, LabelMechanism, PublicPrior
from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import exact
from tacit.privacy.settings import about

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.evidence import ReleasedEvidence
    from tacit.labels.mechanisms.staged import StageLearner

__all__ = ["ResponsePerRow"]

_MOST_LEVELS = 100


@dataclass(frozen=True, kw_only=True)
class ResponsePerRow(LabelMechanism):
    """Randomized response; a public column, released beside the labels, has each row's epsilon.

    The plan's epsilon is the largest that a row may have, and what is guaranteed and charged.

    Unit: one row's label; neighbors differ in that label alone. Assumes that the class list is public, and that a row's
    epsilon does not depend on its label. Not protected: features, each row's epsilon, which rows exist.

    Parameters
    ----------
    column
        The column with each row's epsilon.

    References
    ----------
    Jorgensen, Yu and Cormode (2015), Definition 6.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from tacit.labels import Plan, protect
    >>> visits = pa.table({"epsilon": [0.5, 3.0] * 2000, "ill": ["no", "yes"] * 2000})
    >>> plan = Plan(label="ill", epsilon=3, classes=("no", "yes"), features=("epsilon",), mechanism="per_row")
    >>> release = protect(visits, plan, rng=np.random.default_rng(0))
    >>> kept = np.array(release.labels) == np.array(visits["ill"])
    >>> kept[0::2].mean().round(1), kept[1::2].mean().round(2), str(release.guarantee)
    (np.float64(0.6), np.float64(0.95), 'epsilon 3 for one label')
    """

    name: ClassVar[str] = "per_row"
    phrase: ClassVar[str] = "randomized response with an epsilon for each row"

    column: str = field(
        default="epsilon", metadata=about("The public column with each row's epsilon, at most the plan's.")
    )

    @property
    def reads(self) -> tuple[str, ...]:
        """The column of the epsilons."""
        return (self.column,)

    def assumptions(self, prior: PublicPrior) -> tuple[str, ...]:
        """Return the assumptions of its guarantee: epsilons that depend on labels reveal them."""
        return (*super().assumptions(prior), "a row's epsilon does not depend on its label")

    def check_rows(self, rows: pa.RecordBatch, *, epsilon: float) -> None:
        """Raise unless each row has an epsilon that the plan's covers."""
        for _ in self._levels(rows[self.column], epsilon):
            pass

    def release(
        self,
        labels: pa.Array | pa.ChunkedArray,
        *,
        rng: np.random.Generator,
        learner: StageLearner | None = None,  # noqa: ARG002
        rows: pa.Table | None = None,
    ) -> pa.Table:
        """Draw each label by its own row's epsilon."""
        import numpy as np
        import pyarrow as pa

        if rows is None:
            raise InvalidInput(f"needs the rows with the column {self.column!r}", field="mechanism")
        drawn = np.zeros(len(labels), dtype=np.int64)
        codes = self.coding.encode(labels)
        for response, places in self._responses(rows):
            part = codes[places]
            present = part >= 0
            part[present] = response.randomize(part[present], rng=rng)
            drawn[places] = part
        return pa.table({LABEL: self.classes.decode(drawn)})

    def evidence(self, rows: pa.Table) -> ReleasedEvidence:
        """Return the likelihood of each released label under its own row's epsilon."""
        import numpy as np

        from tacit.data.classes import MISSING
        from tacit.labels.mechanisms.evidence import ReleasedEvidence

        outputs = self.classes.encode(rows[LABEL])
        likelihood, one_hot = np.ones((len(outputs), self.K)), np.zeros((len(outputs), self.K))
        for response, places in self._responses(rows):
            seen = places[outputs[places] != MISSING]
            transition = response.transition()
            keep, other = transition[0, 0], transition[0, 1]
            likelihood[seen] = transition.T[outputs[seen]]
            one_hot[seen] = (np.eye(self.K)[outputs[seen]] - other) / (keep - other)
        return ReleasedEvidence(
            classes=self.classes.values, likelihood=likelihood, outputs=outputs, prior=None, one_hot=one_hot
        )

    def _responses(self, rows: pa.Table) -> Iterator[tuple[Any, NDArray[np.int64]]]:
        """Each epsilon's randomized response, and the places of its rows."""
        from tacit.labels.mechanisms.response import RandomizedResponse

        for level, places in self._levels(rows[self.column], self.epsilon):
            yield RandomizedResponse(epsilon=level, classes=self.K), places

    def _levels(self, column: Any, most: float) -> Iterator[tuple[float, NDArray[np.int64]]]:  # noqa: ANN401
        import numpy as np
        import pyarrow as pa

        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise InvalidInput(f"must be a column of numbers, got {self.column!r} of {column.type}", field="mechanism")
        if column.null_count:
            raise InvalidInput(f"must have an epsilon in every row, {self.column!r} has gaps", field="mechanism")
        levels, whose = np.unique(np.asarray(column, dtype=np.float64), return_inverse=True)
        if len(levels) > _MOST_LEVELS:
            raise InvalidInput(
                f"must have at most {_MOST_LEVELS} different epsilons, {self.column!r} has {len(levels)}; round them",
                field="mechanism",
            )
        for number, level in enumerate(levels.tolist()):
            if not level > 0 or exact(level) > exact(most):  # and no NaN
                raise InvalidInput(
                    f"must have epsilons above 0 and at most {most:g}, the plan's, {self.column!r} has {level:g}",
                    field="mechanism",
                )
            yield level, np.flatnonzero(whose.ravel() == number)
