"""A release of labels as scikit-learn's searches take targets: sliced row by row, and never charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import Classes
from tacit.labels.mechanisms.evidence import ReleasedEvidence
from tacit.labels.releases.release import ROWS, Release
from tacit.privacy.guarantee import AnyGuarantee
from tacit.privacy.releases import TableMember

__all__ = ["RandomizedLabels", "ReleasedLabels", "release_of", "take_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedLabels:
    """A release as the ``y`` of a search, ``GridSearchCV(learner, grid, scoring=score_by_release)``.

    A search cuts y into parts; each part is a release of these rows, which a learner fits without charging anything,
    and which ``score_by_release`` reads as the released labels.
    """

    release: Release

    @property
    def shape(self) -> tuple[int]:
        """As of an array of labels."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """1."""
        return 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """As of an array of labels."""
        return np.asarray(self).dtype

    def __len__(self) -> int:
        return self.release.rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ANN401
        return np.asarray(self.release.labels.to_numpy(), dtype=dtype)

    def __getitem__(self, rows: Any) -> Any:  # noqa: ANN401
        """Return the part of some rows, or the label of one."""
        wanted = rows[0] if isinstance(rows, tuple) else rows
        if isinstance(wanted, int | np.integer):
            return np.asarray(self)[wanted]
        return ReleasedLabels(take_rows(self.release, np.arange(len(self))[wanted]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomizedLabels:
    """Labels that a mechanism of your own randomized, as the ``y`` of ``LabelPrivateClassifier``; nothing is charged.

    The mechanism is any object with ``randomize(codes, rng=...)`` and ``likelihood(outputs)``, P(output | class) as
    columns; one with a prior for each row is ``PriorRandomizedResponse(epsilon=1.0, prior=rows)``.

    Parameters
    ----------
    evidence
        The likelihood of each row's released label under each true one.
    guarantee
        The guarantee that you state for them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tacit.labels.learners.classifier import LabelPrivateClassifier
    >>> from tacit.labels.mechanisms import PriorRandomizedResponse
    >>> from tacit.privacy import Guarantee, Unit
    >>> X, y = load_iris(return_X_y=True)
    >>> prior = np.where(X[:, [2]] < 2.5, [[0.8, 0.1, 0.1]], [[0.1, 0.45, 0.45]])  # from public features alone
    >>> mechanism = PriorRandomizedResponse(epsilon=3.0, prior=prior)
    >>> stated = Guarantee(unit=Unit.LABEL, epsilon=3.0, assumptions=mechanism.assumptions(prior))
    >>> labels = RandomizedLabels.draw(y, mechanism, guarantee=stated, rng=np.random.default_rng(0))
    >>> LabelPrivateClassifier(random_state=0).fit(X, labels).score(X, y) > 0.85
    True
    """

    evidence: ReleasedEvidence
    guarantee: AnyGuarantee

    @classmethod
    def draw(
        cls,
        labels: object,
        mechanism: Any,  # noqa: ANN401
        *,
        classes: Sequence[Any] | None = None,
        guarantee: AnyGuarantee,
        rng: np.random.Generator,
    ) -> RandomizedLabels:
        """Randomize each label once."""
        coding = Classes.of(labels, declared=classes)
        outputs = np.asarray(mechanism.randomize(coding.encode(labels), rng=rng))
        likelihood = np.asarray(mechanism.likelihood(outputs), dtype=np.float64)
        evidence = ReleasedEvidence(classes=coding.values, likelihood=likelihood, outputs=outputs, prior=None)
        return cls(evidence=evidence, guarantee=guarantee)

    @property
    def rows(self) -> int:
        """How many labels there are."""
        return len(self.evidence.outputs)


def take_rows(release: Release, rows: NDArray[np.int64]) -> Release:
    """Return the part of a release with these rows."""
    return replace(release, members={ROWS: TableMember(release.table.take(pa.array(rows)))})


def release_of(y: object) -> Release | None:
    """Return the release that a learner was given as its target, or None for raw labels."""
    if isinstance(y, ReleasedLabels):
        return y.release
    return y if isinstance(y, Release) else None
