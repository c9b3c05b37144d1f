"""The best guess of each label from a release, alone or with the features, against guessing without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.data.classes import Classes
from tacit.labels.attacks.learn_prior import learn_prior
from tacit.labels.mechanisms.evidence import Evidence
from tacit.labels.mechanisms.finite import check_prior
from tacit.labels.mechanisms.values import Coding
from tacit.labels.releases.release import Release
from tacit.leak import ABSTAIN, Leak, largest_advantage, leak_from_guesses
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import AnyGuarantee, Guarantee

__all__ = ["LabelGuesses", "bayes_posterior", "guess_labels", "guess_labels_with_features"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelGuesses:
    """The attacker's best guess of every label, and the rival's, who does not see the row's released label.

    Parameters
    ----------
    classes, coding
        The labels that the codes stand for, and how true labels become codes.
    guesses
        The likeliest class of each row given the release; ``ABSTAIN`` where nothing was released.
    rival
        The likeliest class of each row under ``prior``.
    confidence
        How likely the attacker holds each guess to be right.
    prior, posterior
        P(label | what the rival knows), one row for all or one per row; and P(label | the release too).
    guarantee
        The release's guarantee.

    Examples
    --------
    >>> from tacit.labels import Plan, protect
    >>> labels = np.arange(1000) % 4
    >>> release = protect(pa.table({"y": labels}), Plan(label="y", epsilon=2.0), rng=np.random.default_rng(0))
    >>> attack = guess_labels(release, prior=[0.25] * 4)
    >>> print(attack.leak(labels, baseline=0.25))
    69.3% of 1000 guesses are right, against 25.0% without the release: advantage 0.443 (0.413 to 0.471 at 95%), and
    epsilon is at least 1.798 (95% confidence, right guesses of one run).
    >>> round(attack.ceiling, 3)
    0.461
    """

    classes: tuple[Any, ...]
    coding: Coding
    guesses: NDArray[np.int64]
    rival: NDArray[np.int64]
    confidence: Array
    prior: Array
    posterior: Array
    guarantee: AnyGuarantee

    @property
    def labels(self) -> pa.Array:
        """The guessed labels; null where nothing was released."""
        return Classes(values=self.classes).decode(self.guesses)

    @property
    def ceiling(self) -> float:
        """The largest expected advantage over the rival that the guarantee allows, if ``prior`` is right.

        max over k of e^epsilon P_k/(e^epsilon + k - 1), P_k the mass of the k likeliest labels, less P_1, averaged
        over rows. Never above tanh(epsilon/4); for two classes tanh(epsilon/2)/2.
        """
        if not isinstance(self.guarantee, Guarantee):
            return float(1 - self.prior.max(axis=1).mean())
        return largest_advantage(self.prior, epsilon=self.guarantee.epsilon, delta=self.guarantee.delta)

    def leak(self, truth: object, *, baseline: float | None = None, level: float = 0.95) -> Leak:
        """Measure the guesses by the true labels, which are outside the release and used for nothing else.

        Parameters
        ----------
        truth
            The private labels.
        baseline
            None: the advantage over the rival's guesses, row by row; nothing is proved about epsilon, as a rival with
            a wrong prior guesses badly. A number: the largest probability that any of these labels had without the
            release, such as 1/K for labels drawn uniformly; then the leak proves an epsilon.
        level
            Confidence of the intervals and of the bound.
        """
        codes = self.coding.encode(truth)
        if len(codes) != len(self.guesses):
            raise InvalidInput(
                f"must have one label for each of {len(self.guesses)} rows, got {len(codes)}", field="truth"
            )
        guessed = self.guesses != ABSTAIN
        if (codes[guessed] < 0).any():
            raise InvalidInput("must not be missing where a label was released", field="truth")
        against = self.rival if baseline is None else baseline
        delta = self.guarantee.delta if isinstance(self.guarantee, Guarantee) and baseline is not None else 0.0
        return leak_from_guesses(self.guesses, np.where(guessed, codes, 0), baseline=against, level=level, delta=delta)


def bayes_posterior(likelihood: ArrayLike, *, prior: ArrayLike) -> Array:
    """Return P(label | what a row released) as rows; where the prior rules a row out, the release alone decides.

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
        P(label), or P(label | features) a row. None: the release's own word for it, a public prior or the class shares
        estimated from all rows.

    References
    ----------
    Wu et al. (2023) (expected attack utility); Busa-Fekete et al. (2024). Formula sheet c1, c2.
    """
    evidence = release.evidence
    return _guesses(evidence, evidence.prior if prior is None else prior, release)


def guess_labels_with_features(
    release: Release,
    features: Any,  # noqa: ANN401
    *,
    model: Any,  # noqa: ANN401
    folds: int = 5,
    rng: np.random.Generator,
) -> LabelGuesses:
    """Guess each label from the release and the features, with a model fitted on the released labels.

    The rival guesses from P(label | x) alone. Each row's probabilities come from a model that has not seen its released
    label, so that label counts once, in the posterior.

    Parameters
    ----------
    release
        Randomized labels; never the private ones.
    features
        One row a label.
    model
        A scikit-learn classifier with ``predict_proba``.
    folds
        Parts for fitting.
    rng
        Splits the rows, and seeds models without a ``random_state``.

    References
    ----------
    Wu et al. (2023). Formula sheet c1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tacit.labels import Plan, protect
    >>> rng = np.random.default_rng(0)
    >>> X, y = load_iris(return_X_y=True)
    >>> release = protect(pa.table({"y": y}), Plan(label="y", epsilon=1.0), rng=rng)
    >>> alone = guess_labels(release).leak(y)
    >>> both = guess_labels_with_features(release, X, model=GaussianNB(), rng=rng).leak(y)
    >>> alone.rate < both.rate, both.rate > 0.8
    (True, True)
    """
    evidence = release.evidence
    prior = learn_prior(evidence, features, model=model, folds=folds, rng=rng)
    return _guesses(evidence, prior, release)


def _guesses(evidence: Evidence, prior: ArrayLike, release: Release) -> LabelGuesses:
    rows = _rows_of(prior, like=evidence.likelihood)
    posterior = bayes_posterior(evidence.likelihood, prior=rows)
    guesses, confidence = posterior.argmax(axis=1), posterior.max(axis=1)
    return LabelGuesses(
        classes=evidence.classes,
        coding=release.mechanism.coding,
        guesses=np.where(evidence.present, guesses, ABSTAIN),
        rival=np.broadcast_to(rows.argmax(axis=1), len(guesses)),
        confidence=confidence,
        prior=rows,
        posterior=posterior,
        guarantee=release.guarantee,
    )


def _rows_of(prior: ArrayLike, *, like: Array) -> Array:
    rows = np.atleast_2d(check_prior(prior, classes=like.shape[1]))
    if len(rows) not in (1, len(like)):
        raise InvalidInput(f"must be one row, or one for each of {len(like)} labels, got {len(rows)}", field="prior")
    return rows
