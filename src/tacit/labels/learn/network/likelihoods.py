"""Forward correction inside the loss: one training, no expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.labels.learn.model import Weights
from tacit.privacy.errors import InvalidInput

__all__ = ["Likelihoods"]


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """Each released label as its likelihood under every true label, for a loss that takes that in.

    With ``TorchClassifier(..., loss=ForwardCorrected())`` this is forward correction as published, at the cost of
    one training. :class:`~tacit.labels.Forward` reaches the same minimiser with any estimator, at several.

    References
    ----------
    Patrini et al. (2017), Theorem 2.

    Examples
    --------
    >>> Likelihoods()
    Likelihoods()
    """

    def targets(
        self,
        estimator: Any,  # noqa: ANN401
        X: Any,  # noqa: ANN401, ARG002
        *,
        likelihood: NDArray[np.float64],
        given: NDArray[np.int64],  # noqa: ARG002
        sample_weight: Weights = None,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """Return the likelihoods as they are; an estimator whose loss would misread them is refused.

        Examples
        --------
        >>> from tacit.labels.learn.network import ForwardCorrected, TorchClassifier
        >>> network = TorchClassifier(None, loss=ForwardCorrected())
        >>> Likelihoods().targets(network, None, likelihood=np.array([[0.7, 0.3]]), given=np.array([0]), rng=None)
        array([[0.7, 0.3]])
        """
        if not getattr(getattr(estimator, "loss", None), "takes_likelihoods", False):
            raise InvalidInput(
                f"denoise=Likelihoods() needs an estimator whose loss takes likelihoods, got {estimator!r}; "
                "use TorchClassifier(..., loss=ForwardCorrected()), or denoise=Forward()"
            )
        return likelihood
