"""The base of the mechanisms of labels: named by a plan, bound to labels, and rebuilt from a release.

Naming one costs neither NumPy nor Arrow: its methods import what they need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_epsilon, exact, round_up
from tacit.privacy.settings import BOUND, Choice, share
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.evidence import ReleasedEvidence
    from tacit.labels.mechanisms.staged import StageLearner
    from tacit.privacy.guarantee import Guarantee

__all__ = ["LABEL", "PUBLIC_CLASSES", "PUBLIC_VALUES", "SHARE", "LabelMechanism", "split_epsilon"]

LABEL = "label"
"""The name of the released column, whatever the private one is called."""

PUBLIC_CLASSES = "features and the class list are public"
PUBLIC_VALUES = "features, the list of label values and their prior are public"

SHARE = share(
    "The share of epsilon that estimates the prior, if the plan has none; a tenth suffices for a few thousand labels "
    "or more."
)

PublicPrior = Sequence[float] | None


@dataclass(frozen=True, kw_only=True)
class LabelMechanism(Choice):
    """Randomizes each label once.

    A mechanism over classes defines ``randomize``, and ``transition`` or ``evidence``; one that releases something
    else than classes defines ``emit`` and ``describe`` too.

    Parameters
    ----------
    epsilon
        Of one label, in (0, 4096], read as the decimal it prints.
    classes, values
        What labels can be: the :class:`~tacit.data.classes.Classes` or their number; for numbers, the ``LabelValues``.
    prior
        Their probabilities, where it uses any.
    """

    numbers: ClassVar[bool] = False
    """Whether labels are numbers, rounded to the plan's ``values``, and not classes."""
    takes_prior: ClassVar[bool] = False
    """Whether a public prior helps it."""
    uniform: ClassVar[bool] = False
    """Whether a label that is not kept becomes any other class with the same probability."""
    needs_features: ClassVar[bool] = False
    """Whether it learns from the columns that are released beside the labels, and so must see all rows at once."""

    epsilon: Any = field(default=None, metadata=BOUND, compare=False, repr=False)
    classes: Any = field(default=None, metadata=BOUND, compare=False, repr=False)
    values: Any = field(default=None, metadata=BOUND, compare=False, repr=False)
    prior: Any = field(default=None, metadata=BOUND, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None:
            check_epsilon(self.epsilon)

    def assumptions(self, prior: PublicPrior) -> tuple[str, ...]:  # noqa: ARG002
        """Return the assumptions of its guarantee."""
        return (PUBLIC_VALUES if self.numbers else PUBLIC_CLASSES,)

    def settle(
        self,
        coding: Any,  # noqa: ANN401
        *,
        epsilon: float,
        prior: PublicPrior,
        counts: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Self:
        """Return the mechanism bound to classes or values; a prior that is estimated from the counts is drawn here."""
        first, rest = self._split(epsilon, prior)
        if not first:
            return self.bind(coding, epsilon=epsilon, prior=prior)
        from tacit.labels.mechanisms.estimate import estimate_prior

        return self.bind(coding, epsilon=rest, prior=estimate_prior(counts, epsilon=first, rng=rng, clear=self.numbers))

    def bind(self, coding: Any, *, epsilon: float, prior: Any) -> Self:  # noqa: ANN401
        """Return the mechanism for these classes or values, with all of epsilon for the labels."""
        return replace(self, epsilon=epsilon, prior=prior, **{"values" if self.numbers else "classes": coding})

    def rebuild(self, settled: Mapping[str, Any], *, epsilon: float, prior: PublicPrior) -> Self:
        """Return the mechanism from what ``describe`` wrote into a release."""
        from tacit.data.classes import Classes

        coding = Classes(values=tuple(settled["classes"]))
        return self.bind(coding, epsilon=self._split(epsilon, prior)[1], prior=settled.get("prior"))

    def describe(self) -> dict[str, Any]:
        """Return in public terms, as plain JSON, what a release needs to be read."""
        return {"classes": list(self.classes.values)}

    @property
    def coding(self) -> Any:  # noqa: ANN401
        """How labels become codes: the classes or the values."""
        return self.values if self.numbers else self.classes

    @property
    def K(self) -> int:  # noqa: N802  # the papers' name
        """The number of classes, once it is bound."""
        if self.classes is None:
            raise InvalidInput("must be given before labels are randomized", field="classes")
        return self.classes if isinstance(self.classes, int) else len(self.classes)

    @property
    def reads(self) -> tuple[str, ...]:
        """The public columns that it needs beside the labels, in a release too."""
        return ()

    def check_rows(self, rows: pa.RecordBatch, *, epsilon: float) -> None:
        """Raise if these columns are not what it needs, before anything is charged."""

    def release(
        self,
        labels: pa.Array | pa.ChunkedArray,
        *,
        rng: np.random.Generator,
        learner: StageLearner | None = None,
        rows: pa.Table | None = None,  # noqa: ARG002
    ) -> pa.Table:
        """Draw one released value for each label of a column, null where it is missing; ``rows`` are released too."""
        return self.draw(self.coding.encode(labels), rng=rng, learner=learner)

    def draw(
        self,
        codes: NDArray[np.int64],
        *,
        rng: np.random.Generator,
        learner: StageLearner | None = None,  # noqa: ARG002
    ) -> pa.Table:
        """Draw one released value for each code, null where the code is ``MISSING``; each code is used once."""
        import numpy as np
        import pyarrow as pa

        from tacit.data.classes import MISSING

        present = codes != MISSING
        drawn = self.emit(codes[present], rng=rng)
        if not present.all():
            drawn = drawn.take(pa.array(np.cumsum(present) - 1, mask=~present))
        return pa.table({LABEL: drawn})

    def emit(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> pa.Array:
        """Draw one released value for each code; none is missing."""
        return self.classes.decode(self.randomize(codes, rng=rng))

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[Any]:
        """Draw one output per label."""
        raise NotImplementedError

    def transition(self) -> NDArray[np.float64]:
        """Return the transition matrix: row y has the probability of each output when the label is y."""
        raise NotImplementedError

    def evidence(self, rows: pa.Table) -> ReleasedEvidence:
        """Return the likelihood of released rows under each label."""
        from tacit.labels.mechanisms.evidence import evidence_of_classes

        return evidence_of_classes(self.classes, rows[LABEL], transition=self.transition(), prior=self.prior)

    def guarantee(self, epsilon: float, *, prior: PublicPrior, rows: int) -> Guarantee:
        """Return what is guaranteed for the labels of so many rows of one person, each randomized by itself."""
        from tacit.privacy.composition import compose
        from tacit.privacy.guarantee import Guarantee

        first, rest = self._split(epsilon, prior)
        labels = Guarantee(unit=Unit.LABEL, epsilon=rest).for_group(rows=rows, apart=True)
        if not first:
            return labels
        estimated = Guarantee(unit=Unit.LABEL, epsilon=first).for_group(rows=rows)  # from the counts of all labels
        return replace(compose([estimated, labels]), epsilon=round_up(rows * exact(epsilon)))

    def _split(self, epsilon: float, prior: PublicPrior) -> tuple[float, float]:
        """The epsilon of an estimated prior, and that of the labels."""
        share = getattr(self, "share", 0.0)
        return split_epsilon(epsilon, share) if share and prior is None else (0.0, epsilon)


def split_epsilon(epsilon: float, share: float) -> tuple[float, float]:
    """Return the epsilon of a prior and that of the labels; their exact sum is not above epsilon.

    Examples
    --------
    >>> split_epsilon(1.0, 0.1)
    (0.1, 0.9)
    """
    first = float(exact(share) * exact(epsilon))
    return first, -round_up(exact(first) - exact(epsilon))
