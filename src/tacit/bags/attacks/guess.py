"""The best guess of every label from totals of bags, compared with guessing without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import poisson

from tacit.bags.attacks.determined_labels import DeterminedLabels
from tacit.bags.attacks.published_totals import PublishedTotals, read_totals
from tacit.bags.attacks.reconstruction import NoiseModel, posterior
from tacit.bags.attacks.small_components import posterior_of_small_components
from tacit.bags.mechanisms.noise import has_laplace_law
from tacit.bags.partition import BagTotals
from tacit.leak import LabelBeliefs

__all__ = ["BagGuesses", "guess_labels", "noise_model"]

Floats = NDArray[np.float64]


class BagGuesses(LabelBeliefs):
    """The attacker's beliefs about every label after a release of bags."""

    def with_certain(self, fixed: DeterminedLabels) -> BagGuesses:
        """Return the guesses with certainty about the labels that the totals determine."""
        codes = np.nan_to_num(fixed.labels).astype(np.int64)
        certain = np.eye(self.beliefs.shape[1])[codes]
        return replace(self, beliefs=np.where(fixed.known[:, None], certain, self.beliefs))


def guess_labels(release: BagTotals, table: object, *, prior: ArrayLike | None = None) -> BagGuesses:
    """Guess each label from the totals and the features: by Bayes' rule in small components, else a convex problem.

    Parameters
    ----------
    release
        Totals for the log loss, cross-entropy or Poisson loss; noisy or not.
    table
        The features of the same rows.
    prior
        P(label) without the release: one row for all, or one per row, such as a model's of other data
        (:func:`prior_from_features`). None: the shares of all rows, as the release estimates them.

    References
    ----------
    Wu et al. (2023) (expected attack utility); Busa-Fekete et al. (2024). docs/proofs/bags_attack.md.
    """
    published = read_totals(release, table)
    values = release.loss.label_values()
    known = _common_prior(published, values) if prior is None else np.atleast_2d(np.asarray(prior, dtype=np.float64))
    totals, noise = published.expected_totals(), noise_model(release, published, prior=known, values=values)
    q = posterior(published.membership, totals, values=values, prior=known, noise=noise)
    if values.tolist() == [[0.0], [1.0]] and not published.bernoulli and not release.mechanism.get("consistent"):
        chance = np.broadcast_to(known, q.shape)[:, 1]
        for rows, ones in posterior_of_small_components(
            published.membership, totals[:, 0], chance=chance, likelihood=noise.likelihood
        ):
            q[rows] = np.column_stack([1 - ones, ones])
    return BagGuesses(beliefs=q, prior=known, guarantee=release.guarantee)


def noise_model(release: BagTotals, published: PublishedTotals, *, prior: Floats, values: Floats) -> NoiseModel:
    """Return the noise of the release; a Bernoulli draw of a bag's label is noise too."""
    if published.bernoulli:
        share = prior.mean(axis=0) @ values
        drawn = (share * (1 - share)).mean() * np.square(published.sizes.astype(np.float64))
        return NoiseModel.gaussian(drawn)
    law = NoiseModel.laplace if has_laplace_law(release.mechanism) else NoiseModel.gaussian
    return law(published.variance)


def _common_prior(published: PublishedTotals, values: Floats) -> Floats:
    """The share of each label among all rows, from the totals; for counts, the Poisson law with their mean."""
    rows = max(int(published.sizes.sum()), 1)
    mean = np.maximum(published.expected_totals().sum(axis=0) / rows, 0.5 / rows)
    if len(values) == 2 and len(mean) == 1:
        one = min(float(mean[0]), 1 - 0.5 / rows)
        return np.array([[1 - one, one]])
    weights = mean if len(mean) > 1 else poisson.pmf(values[:, 0], mean[0])
    return np.asarray(weights / weights.sum())[None, :]
