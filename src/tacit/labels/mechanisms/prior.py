"""Randomized response among the classes that a prior makes likely."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.labels.mechanisms.base import PUBLIC_CLASSES, SHARE, LabelMechanism, PublicPrior
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PriorRandomizedResponse"]


@dataclass(frozen=True, kw_only=True)
class PriorRandomizedResponse(LabelMechanism):
    """RRWithPrior: randomized response among the k likeliest classes, with the best k for each row's prior.

    A label among the k likeliest classes goes through randomized response inside them, any other becomes one of them,
    uniformly. The prior is public, or estimated from a share of epsilon: both then read the same labels, so their
    epsilons add.

    Unit: one row's label; neighbors differ in that label alone. Assumes that a prior that is given does not depend on
    this label (a public prior, or one learned from other rows' releases) and that anyone who reads the release knows
    it. Not protected: features, the prior, which rows exist.

    Parameters
    ----------
    share
        Of epsilon, for the estimate of the prior.
    prior
        One row for all labels, or one per label; rows >= 0 that sum to 1.

    References
    ----------
    Ghazi et al. (2021), Algorithms 1 and 2. Formula sheet a4, a5.

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = PriorRandomizedResponse(epsilon=1.0, prior=[0.7, 0.2, 0.1])
    >>> mechanism.randomize(np.array([2, 1]), rng=np.random.default_rng(0))
    array([0, 0])
    """

    name: ClassVar[str] = "prior"
    phrase: ClassVar[str] = "randomized response among the likely classes"
    takes_prior: ClassVar[bool] = True

    share: float = field(default=0.1, metadata=SHARE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior is None:
            return
        from tacit.labels.mechanisms.top_k import check_priors

        rows = check_priors(self.prior)
        object.__setattr__(self, "prior", rows)
        if self.classes is None:
            object.__setattr__(self, "classes", int(rows.shape[1]))
        elif rows.shape[1] != self.K:
            raise InvalidInput(f"must have {self.K} numbers per row, one per class, got {rows.shape[1]}", field="prior")

    def assumptions(self, prior: PublicPrior) -> tuple[str, ...]:
        """Return the assumptions of its guarantee; a prior that is given must not come from the labels."""
        return (PUBLIC_CLASSES, *(() if prior is None else ("a row's prior does not depend on its own label",)))

    def describe(self) -> dict[str, Any]:
        """Return the classes and the prior."""
        return {**super().describe(), "prior": self.prior[0].tolist()}

    def exact_transition(self, row: int = 0) -> tuple[tuple[Fraction, ...], ...]:
        """Row y: the exact probability of each output when the label is y, under one row's prior."""
        from tacit.labels.mechanisms.top_k import exact_top_k

        return exact_top_k(self.prior[row], epsilon=self.epsilon)

    def transition(self, row: int = 0) -> NDArray[np.float64]:
        """Return the transition matrix under one row's prior, as floats."""
        import numpy as np

        return np.array(self.exact_transition(row), dtype=np.float64)

    def randomize(self, codes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one output per label."""
        from tacit.labels.mechanisms.top_k import randomize_top_k

        return randomize_top_k(codes, prior=self.prior, epsilon=self.epsilon, rng=rng)

    def likelihood(self, observed: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(observed | label = c) under each row's own prior, as column c."""
        from tacit.labels.mechanisms.top_k import top_k_likelihood

        return top_k_likelihood(observed, prior=self.prior, epsilon=self.epsilon)
