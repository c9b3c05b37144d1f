"""Train on randomized labels: what protects the labels is passed in, the model is what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from numpy.typing import ArrayLike
from sklearn.base import clone

from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee, Promise

__all__ = ["FEATURES", "LabelLearner", "LabelPrivateModel", "train_label_private"]

FEATURES = "features are not protected: membership and reconstruction of rows are as without it"
"""What the guarantee of a label-private model assumes besides that of its labels."""


class LabelLearner(Protocol):
    """A learner that randomizes labels before it learns: ``tacit.labels.LabelPrivateClassifier``, or your own.

    Examples
    --------
    >>> learner: LabelLearner | None = None
    """

    guarantee_: Promise

    def fit(self, X: Any, y: Any) -> Any:  # noqa: ANN401
        """Randomize the labels, then learn from them."""
        ...

    def predict(self, X: Any) -> Any:  # noqa: ANN401
        """Return a label a row."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelPrivateModel:
    """A fitted learner and what is promised about the labels it was fitted on.

    Parameters
    ----------
    learner
        Fitted on randomized labels.
    guarantee
        The promise for one label.
    seeded
        Whether the learner's release says that its noise came from a seeded generator: then it is not private.

    Examples
    --------
    >>> from tacit.privacy import Unit
    >>> print(LabelPrivateModel(learner=None, guarantee=Guarantee(unit=Unit.LABEL, epsilon=1.0)))
    model of randomized labels: epsilon 1 for one label
    """

    learner: LabelLearner
    guarantee: Guarantee
    seeded: bool = False

    def __str__(self) -> str:
        warning = "; seeded, so the noise hides nothing from who knows the seed" if self.seeded else ""
        return f"model of randomized labels: {self.guarantee}{warning}"


def train_label_private(learner: LabelLearner, X: ArrayLike, y: ArrayLike) -> LabelPrivateModel:
    """Fit a copy of a learner that protects labels, and carry its guarantee over to the model.

    Unit: one label; neighbours differ in one row's label, all features fixed. Everything after the randomized labels
    is post-processing. Assumptions: those of the learner, and :data:`FEATURES`. Not protected: the features, and
    whether a row was in the data at all. A network trained to its margin on randomized labels ties at the margin on
    the same rows.

    Parameters
    ----------
    learner
        Has ``fit``, ``predict`` and, once fitted, ``guarantee_``; it is charged where it was told to charge. Where it
        has a ``release_`` too, that one says whether the noise was seeded.
    X, y
        Rows and true labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tacit.privacy import Unit
    >>> class Randomizing(LogisticRegression):
    ...     def fit(self, X, y):
    ...         self.guarantee_ = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    ...         keep = np.random.default_rng(0).random(len(y)) < 0.7311
    ...         return super().fit(X, np.where(keep, y, 1 - np.asarray(y)))
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> made = train_label_private(Randomizing(), X, (X[:, 0] > 0).astype(int))
    >>> print(made)
    model of randomized labels: epsilon 1 for one label
    """
    for needed in ("fit", "predict"):
        if not callable(getattr(learner, needed, None)):
            raise InvalidInput(f"learner must have {needed}, got {type(learner).__name__}")
    fitted = clone(learner, safe=False).fit(X, y)
    promise = getattr(fitted, "guarantee_", None)
    if not isinstance(promise, Guarantee):
        raise InvalidInput(
            f"learner must carry a guarantee_ once fitted, got {type(learner).__name__} without: pass one that "
            "randomizes labels, such as tacit.labels.LabelPrivateClassifier"
        )
    said = (*promise.assumptions, FEATURES)
    guarantee = replace(promise, assumptions=tuple(dict.fromkeys(said)))
    seeded = bool(getattr(getattr(fitted, "release_", None), "seeded", False))
    return LabelPrivateModel(learner=fitted, guarantee=guarantee, seeded=seeded)
