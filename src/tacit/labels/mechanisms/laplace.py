"""Laplace noise on the one-hot label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tacit.labels.mechanisms.base import LABEL, LabelMechanism
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from tacit.labels.mechanisms.evidence import ReleasedEvidence
    from tacit.privacy.noise import DiscreteLaplace

__all__ = ["LaplaceOneHot"]

_ONE = 2**10  # the number 1 in steps of the grid


@dataclass(frozen=True, kw_only=True)
class LaplaceOneHot(LabelMechanism):
    """Release the one-hot label plus noise of scale 2/epsilon on every class (ALIBI).

    The noise is discrete Laplace on the public grid of 2^-10: exact, and as good as continuous.

    Unit: one row's label; neighbors differ in that label alone, which moves two entries by one each. Assumes
    that the class list is public. Not protected: features, which rows exist.

    References
    ----------
    Malek Esmaeili et al. (2021). Formula sheet a7.
    """

    name: ClassVar[str] = "laplace"
    phrase: ClassVar[str] = "one-hot labels with Laplace noise"

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on one entry, in steps of the grid."""
        from tacit.privacy.noise import DiscreteLaplace

        return DiscreteLaplace.for_epsilon(self.epsilon, sensitivity=2 * _ONE)

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw one noisy one-hot row per label."""
        import numpy as np

        from tacit.labels.mechanisms.finite import check_codes

        labels = check_codes(codes, classes=self.K)
        steps = self.noise.draw((len(labels), self.K), rng=rng)
        steps[np.arange(len(labels)), labels] += _ONE
        return np.asarray(steps / _ONE)

    def emit(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> pa.Array:
        """Draw a list of K numbers per label."""
        import numpy as np
        import pyarrow as pa

        rows = self.randomize(codes, rng=rng)
        ends = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(self.K)
        return pa.ListArray.from_arrays(ends, rows.ravel())

    def log_likelihood(self, observed: ArrayLike) -> NDArray[np.float64]:
        """Return log P(observed | label = c), up to a constant of the row, as column c.

        (|o_c| - |o_c - 1|)/b with b = 2/epsilon: it never exceeds 1/b either way, so exact ties happen.
        """
        import numpy as np

        rows = np.asarray(observed, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.K or not np.isfinite(rows).all():
            raise InvalidInput(f"must be rows of {self.K} finite numbers, got shape {rows.shape}", field="observed")
        scale = float(self.noise.scale) / _ONE
        return np.asarray((np.abs(rows) - np.abs(rows - 1)) / scale)

    def evidence(self, rows: pa.Table) -> ReleasedEvidence:
        """Return the likelihood of each noisy row."""
        import numpy as np

        from tacit.data.classes import MISSING
        from tacit.labels.mechanisms.evidence import ReleasedEvidence, spread

        present, seen = ~np.asarray(rows[LABEL].is_null()), rows[LABEL].drop_null()
        drawn = np.asarray(seen.combine_chunks().flatten(), dtype=np.float64).reshape(len(seen), -1)
        log = self.log_likelihood(drawn)
        likelihood = spread(np.exp(log - log.max(axis=1, keepdims=True)), present)
        return ReleasedEvidence(
            classes=self.classes.values,
            likelihood=likelihood,
            outputs=np.where(present, likelihood.argmax(axis=1), MISSING),
            prior=None,
            one_hot=spread(drawn, present),
        )
