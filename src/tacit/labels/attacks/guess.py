"""The best guess of each label from a release, with and without features, compared with guessing without it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.data.classes import Classes
from tacit.labels.attacks.groups import keys_of, with_groups
from tacit.labels.attacks.learn_prior import learn_prior
from tacit.labels.attacks.order import with_order
from tacit.labels.mechanisms.evidence import ReleasedEvidence
from tacit.labels.mechanisms.finite import check_prior
from tacit.labels.mechanisms.values import Coding
from tacit.labels.releases.release import Release
from tacit.leak import ABSTAIN, LabelBeliefs, Leak
from tacit.privacy.errors import InvalidInput

__all__ = [
    "LabelGuesses",
    "bayes_posterior",
    "guess_labels",
    "guess_labels_in_groups",
    "guess_labels_in_order",
    "guess_labels_with_features",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelGuesses(LabelBeliefs):
    """The attacker's best guess of every label, beside that of a baseline attacker without the row's released label.

    Parameters
    ----------
    coding
        How true labels become codes.
    """

    coding: Coding

    @property
    def labels(self) -> pa.Array:
        """The guessed labels; null if nothing was released."""
        return Classes(values=self.classes).decode(self.guesses)

    def leak(self, truth: Any, *, baseline: float | None = None, level: float = 0.95) -> Leak:  # noqa: ANN401
        """Measure the guesses by the private labels, as :meth:`LabelBeliefs.leak` does."""
        codes = self._codes(truth)
        return super().leak(np.where(self.guesses != ABSTAIN, codes, 0), baseline=baseline, level=level)

    def share_right(self, truth: Any) -> float:  # noqa: ANN401
        """Return the share of correct guesses among those made."""
        made = self.guesses != ABSTAIN
        return float((self.guesses == self._codes(truth))[made].mean())

    def _codes(self, truth: Any) -> NDArray[np.int64]:  # noqa: ANN401
        codes, guessed = self.coding.encode(truth), self.guesses != ABSTAIN
        if len(codes) != len(guessed):
            raise InvalidInput(f"must have one label for each of {len(guessed)} rows, got {len(codes)}", field="truth")
        if (codes[guessed] < 0).any():
            raise InvalidInput("must not be missing where a label was released", field="truth")
        return np.asarray(codes, dtype=np.int64)


def bayes_posterior(likelihood: ArrayLike, *, prior: ArrayLike) -> Array:
    """Return P(label | released value) as rows; if the prior excludes a row, the release alone decides.

    Examples
    --------
    >>> bayes_posterior([[0.7, 0.3], [0.3, 0.7]], prior=[0.8, 0.2]).round(3)
    array([[0.903, 0.097],
           [0.632, 0.368]])
    """
    seen = np.asarray(likelihood, dtype=np.float64)
    if seen.ndim != 2 or not np.isfinite(seen).all() or (seen < 0).any():
        raise InvalidInput(f"must be rows of finite numbers >= 0, got shape {seen.shape}", field="likelihood")
    joint = _rows_of(prior, like=seen) * seen
    joint = np.where(joint.sum(axis=1, keepdims=True) > 0, joint, seen)
    total = joint.sum(axis=1, keepdims=True)
    return np.asarray(joint / np.where(total > 0, total, 1.0))


def guess_labels(release: Release, *, prior: ArrayLike | None = None) -> LabelGuesses:
    """Guess each label from the release, and from what is known about labels beforehand.

    Parameters
    ----------
    release
        Randomized labels; never the private ones.
    prior
        P(label), or P(label | features) per row. None: the class shares under which the release is likely, or each
        row's own prior where the release has one.

    References
    ----------
    Wu et al. (2023) (expected attack utility); Busa-Fekete et al. (2024). Formula sheet c1, c2.
    """
    evidence = release.evidence
    return _guesses(evidence, evidence.shares if prior is None else prior, release)


def guess_labels_with_features(
    release: Release,
    features: Any,  # noqa: ANN401
    *,
    model: Any,  # noqa: ANN401
    folds: int = 5,
    rng: np.random.Generator,
) -> LabelGuesses:
    """Guess each label from the release and the features, with a model fitted on the released labels.

    The baseline attacker guesses from P(label | x) alone. Each row's probabilities come from a model that has not seen
    its released label, so that label counts once, in the posterior.

    Parameters
    ----------
    release
        Randomized labels; never the private ones.
    features
        One row per label.
    model
        A scikit-learn classifier with ``predict_proba``.
    folds
        Parts for fitting.
    rng
        Splits the rows, and seeds models without a ``random_state``.

    References
    ----------
    Wu et al. (2023). Formula sheet c1.
    """
    evidence = release.evidence
    prior = learn_prior(evidence, features, model=model, folds=folds, rng=rng)
    return _guesses(evidence, prior, release)


def guess_labels_in_order(release: Release, guesses: LabelGuesses) -> LabelGuesses | None:
    """Guess each label from the released labels of the rows nearby too; None where the order of rows reveals nothing.

    The baseline attacker is that of ``guesses``: what the order adds comes from the release.
    """
    evidence = release.evidence
    prior = with_order(evidence, guesses.prior)
    return None if prior is None else replace(guesses, beliefs=bayes_posterior(evidence.likelihood, prior=prior))


def guess_labels_in_groups(release: Release, guesses: LabelGuesses, rows: pa.Table) -> tuple[str, LabelGuesses] | None:
    """Guess each label from those of rows with the same value of a column too, and name it; None if that adds nothing.

    The baseline attacker is that of ``guesses``: what the other rows add comes from the release.
    """
    evidence = release.evidence
    found = with_groups(evidence, guesses.prior, keys_of(rows))
    if found is None:
        return None
    return found[0], replace(guesses, beliefs=bayes_posterior(evidence.likelihood, prior=found[1]))


def _guesses(evidence: ReleasedEvidence, prior: ArrayLike, release: Release) -> LabelGuesses:
    rows = _rows_of(prior, like=evidence.likelihood)
    return LabelGuesses(
        beliefs=bayes_posterior(evidence.likelihood, prior=rows),
        prior=rows,
        guarantee=release.guarantee,
        present=evidence.present,
        classes=evidence.classes,
        coding=release.mechanism.coding,
    )


def _rows_of(prior: ArrayLike, *, like: Array) -> Array:
    rows = np.atleast_2d(check_prior(prior, classes=like.shape[1]))
    if len(rows) not in (1, len(like)):
        raise InvalidInput(f"must be one row, or one for each of {len(like)} labels, got {len(rows)}", field="prior")
    return rows
