"""What a plan needs to know of a mechanism; importing one costs neither NumPy nor Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.settings import Choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.labels.mechanisms.column import LabelColumn

__all__ = ["PUBLIC_CLASSES", "PUBLIC_VALUES", "LabelMechanism", "split_epsilon"]

PUBLIC_CLASSES = "features and the class list are public"
PUBLIC_VALUES = "features, the list of label values and their prior are public"

Prior = Sequence[float] | None


class LabelMechanism(Choice):
    """A mechanism by name and parameters, bound to epsilon, classes and a prior by ``settle``, or by ``rebuild``."""

    numbers: ClassVar[bool] = False
    """Whether labels are numbers, taken to the plan's ``values``, and not classes."""
    takes_prior: ClassVar[bool] = False
    """Whether a public prior helps it."""
    needs_features: ClassVar[bool] = False
    """Whether it learns from the columns that are released beside the labels."""

    def assumptions(self, prior: Prior) -> tuple[str, ...]:  # noqa: ARG002
        """Return what its guarantee rests on."""
        return (PUBLIC_VALUES if self.numbers else PUBLIC_CLASSES,)

    def settle(
        self,
        coding: Any,  # noqa: ANN401
        *,
        epsilon: float,
        prior: Prior,
        counts: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> LabelColumn:
        """Return the mechanism for these classes or values; a prior that is estimated is drawn here.

        Parameters
        ----------
        coding
            The :class:`~tacit.data.classes.Classes`, or the ``Values`` of numbers.
        counts
            The labels of each class or value: private.
        """
        raise NotImplementedError

    def rebuild(self, settled: Mapping[str, Any], *, epsilon: float, prior: Prior) -> LabelColumn:
        """Return the mechanism from what its column's ``describe`` wrote into a release."""
        raise NotImplementedError


def split_epsilon(epsilon: float, share: float) -> tuple[float, float]:
    """Return the epsilon of a prior and that of the labels; their exact sum is not above epsilon.

    Examples
    --------
    >>> split_epsilon(1.0, 0.1)
    (0.1, 0.9)
    """
    from tacit.privacy.rounding import exact, round_up

    first = float(exact(share) * exact(epsilon))
    return first, -round_up(exact(first) - exact(epsilon))
