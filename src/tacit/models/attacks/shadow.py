"""The confidence of models trained on random halves of the rows in each row, with it and without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.privacy.errors import InvalidInput

__all__ = ["LEAST_MODELS", "ShadowConfidences"]

LEAST_MODELS = 2
"""Models with, and models without a row, that an attack needs of each row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShadowConfidences:
    """Confidences of shadow models on all rows, and which rows each was trained on.

    ``confidence`` is f = ln p - ln(1 - p) of each row's own class, a row per model and a column per point; finite.
    """

    confidence: NDArray[np.float64]
    member: NDArray[np.bool_]

    def __post_init__(self) -> None:
        confidence, member = np.array(self.confidence, dtype=np.float64), np.array(self.member)
        if confidence.ndim != 2 or not confidence.size:
            raise InvalidInput(
                f"must have one row per model and one column per point, got {confidence.shape}", field="confidence"
            )
        if not np.isfinite(confidence).all():
            raise InvalidInput("must be finite, got NaN or infinity: drop those models", field="confidence")
        if member.dtype != np.bool_ or member.shape != confidence.shape:
            raise InvalidInput(
                f"must have true or false for each confidence, of shape {confidence.shape}, got {member.dtype} "
                f"of shape {member.shape}",
                field="member",
            )
        for name, value in (("confidence", confidence), ("member", member)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def models(self) -> int:
        """The number of shadow models."""
        return int(self.confidence.shape[0])

    @property
    def points(self) -> int:
        """The number of rows they were asked about."""
        return int(self.confidence.shape[1])

    def check(self, confidence: ArrayLike, *, inside: bool) -> NDArray[np.float64]:
        """Return a target's confidence on the same points, or raise if it does not fit or the models are too few.

        ``inside`` asks for models trained on each point too.
        """
        f = np.asarray(confidence, dtype=np.float64)
        if f.shape != (self.points,):
            raise InvalidInput(
                f"must be one number for each of {self.points} points, got shape {f.shape}", field="confidence"
            )
        if not np.isfinite(f).all():
            raise InvalidInput(
                "must be finite, got NaN or infinity: the model's outputs are broken", field="confidence"
            )
        counted = self.member.sum(axis=0)
        for word, count in (("with", counted), ("without", self.models - counted))[0 if inside else 1 :]:
            least = int(count.argmin())
            if count[least] < LEAST_MODELS:
                raise InvalidInput(
                    f"shadows must have {LEAST_MODELS} models or more trained {word} each point, got {count[least]} of "
                    f"{self.models} for point {least}: train more"
                )
        return f
