"""Past the tables: neighbors' votes in the embedding, a linear student of both views, and the two together.

Every label is randomized once. All else reads the texts, which are public, and the released labels. How the numbers
below were fixed, the package's own words say.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.label_retraining.texts.linear import Array, Beside, Linear, Matrix, fit_linear
from papers.label_retraining.texts.neighbors import Near, mean_over
from papers.label_retraining.texts.retraining import Codes
from papers.label_retraining.texts.texts import Texts
from papers.label_retraining.texts.views import View
from tacit.labels.fitting.expect import calibrate, posterior_targets
from tacit.labels.learners.neighbors import expect_from_neighbors
from tacit.labels.learners.retrain import AllRows, ConsensusRows, RetrainingRule
from tacit.labels.mechanisms import PriorRandomizedResponse, RandomizedResponse

CLEAN_DECAY = 1e-5
FLOOR = 1e-4  # a vote of 0 from 30 neighbors is no proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How many votes; how the student is trained.

    A first vote of n neighbors has the variance of 0.2 / (n gap^2), gap = P(z = c | c) - P(z = c | another label):
    ``votes`` / gap^2 neighbors make that the same at every epsilon.
    """

    votes: float = 3.0
    most: int = 470
    later: int = 30
    decay: float = 3e-5
    steps: int = 30


@dataclass(frozen=True, slots=True, eq=False)
class Sure:
    """The rows whose likeliest label has at least this probability."""

    least: float = 0.7

    def choose(self, probabilities: Array, *, given: Codes) -> Codes:  # noqa: ARG002
        """Return the rows."""
        return np.flatnonzero(probabilities.max(axis=1) >= self.least)


STUDENTS: Mapping[str, RetrainingRule] = {"full": AllRows(), "consensus": ConsensusRows(), "sure": Sure()}


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """The public side: both views side by side, and who is whose neighbor."""

    views: Mapping[str, View]
    near: Near
    recipe: Recipe

    def both(self, part: str) -> Beside:
        """Return the rows of both views."""
        return Beside(*(getattr(view, part) for view in self.views.values()))

    def vote(self, likelihood: Array, *, count: int, rounds: int = 1) -> Array:
        """Return what the released labels of a training row's neighbors make of its own."""
        near = self.near.train[:, :count].astype(np.int64)
        return expect_from_neighbors(near, likelihood=likelihood, rounds=rounds)

    def fit(self, X: Matrix, targets: Array) -> Linear:
        """Train the student."""
        return fit_linear(X, targets, decay=self.recipe.decay, steps=self.recipe.steps)


def measure(work: Work, texts: Texts, *, epsilon: float, seed: int) -> dict[str, Any]:
    """Return the test accuracy of the recipe, of its parts and of what did not do better; how right the labels were."""
    begun = time.perf_counter()
    truth, test, classes = texts.labels, texts.test_labels, int(texts.labels.max()) + 1
    rng = np.random.default_rng([seed, 7, round(1000 * epsilon)])
    mechanism = RandomizedResponse(epsilon=epsilon, classes=classes)
    given = mechanism.randomize(truth, rng=rng)
    likelihood = mechanism.likelihood(given)
    count = votes_needed(mechanism, work.recipe)
    votes = work.vote(likelihood, count=count)
    posterior = denoise(work, votes, likelihood, rng=rng)
    first = mean_over(work.near.test, posterior_targets(votes, likelihood), count=count)
    result = {
        "given": right(given, truth),
        "count": count,
        "votes_rows": right(votes.argmax(axis=1), truth),
        "posterior_rows": right(posterior.argmax(axis=1), truth),
        "votes": right(first.argmax(axis=1), test),
        **students(work, posterior, given, test=test),
    }
    result |= {"accuracy": result["full"], "seconds": round(time.perf_counter() - begun, 1)}
    return result | others(work, texts, likelihood, mechanism=mechanism, rng=rng)


def students(work: Work, posterior: Array, given: Codes, *, test: Codes) -> dict[str, float]:
    """Return the test accuracy of the neighbors, of each way to choose a student's rows, and of the two together."""
    heard = mean_over(work.near.test, posterior, count=work.recipe.later)
    predicted = np.eye(posterior.shape[1])[posterior.argmax(axis=1)]
    result = {"heard": right(heard.argmax(axis=1), test)}
    for name, choice in STUDENTS.items():
        rows = choice.choose(posterior, given=given)
        seen = work.fit(work.both("train")[rows], predicted[rows]).probabilities(work.both("test"))
        result |= {
            f"{name}_student": right(seen.argmax(axis=1), test),
            name: right(pool(heard, seen).argmax(axis=1), test),
        }
    return result


def denoise(work: Work, votes: Array, likelihood: Array, *, rng: np.random.Generator) -> Array:
    """Return the posterior of each true label: votes and a student of their posterior, times the row's likelihood.

    The student of a row was trained on the other half of the rows.
    """
    targets, X = posterior_targets(votes, likelihood), work.both("train")
    half, seen = rng.permutation(np.arange(len(votes)) % 2), np.empty_like(votes)
    for number in (0, 1):
        rows, taught = np.flatnonzero(half == number), np.flatnonzero(half != number)
        seen[rows] = work.fit(X[taught], targets[taught]).probabilities(X[rows])
    return posterior_targets(calibrate(pool(votes, seen), likelihood=likelihood), likelihood)


def others(
    work: Work, texts: Texts, likelihood: Array, *, mechanism: RandomizedResponse, rng: np.random.Generator
) -> dict[str, float]:
    """Return the test accuracy of what the recipe was weighed against."""
    test, near = texts.test_labels, work.near
    default = posterior_targets(work.vote(likelihood, count=300, rounds=3), likelihood)
    forward = fit_linear(work.views["minilm"].train, likelihood, decay=1e-4, corrected=True, steps=60)
    staged = two_stages(work, texts.labels, likelihood, mechanism=mechanism, rng=rng)
    return {
        "default_votes": right(mean_over(near.test, default, count=300).argmax(axis=1), test),
        "forward": right(forward.logits(work.views["minilm"].test).argmax(axis=1), test),
        "two_stages": right(
            mean_over(near.test, staged, count=votes_needed(mechanism, work.recipe)).argmax(axis=1), test
        ),
    }


def two_stages(
    work: Work, truth: Codes, likelihood: Array, *, mechanism: RandomizedResponse, rng: np.random.Generator
) -> Array:
    """Return the votes' posterior where half of the labels are released by the best RRTop-k under the others' votes."""
    later = rng.permutation(np.arange(len(truth)) % 2) == 1
    count = votes_needed(mechanism, work.recipe)
    known = np.where(later[:, None], 1.0, likelihood)  # not released yet: every label is as likely
    prior = work.vote(known, count=count)[later]
    staged = PriorRandomizedResponse(epsilon=mechanism.epsilon, prior=prior)
    both = likelihood.copy()
    both[later] = staged.likelihood(staged.randomize(truth[later], rng=rng))
    return posterior_targets(work.vote(both, count=count), both)


def measure_clean(work: Work, texts: Texts) -> dict[str, Any]:
    """Return the test accuracy of the same models on true labels, and of linear ones with a decay that suits those."""
    begun = time.perf_counter()
    targets, test = np.eye(int(texts.labels.max()) + 1)[texts.labels], texts.test_labels
    heard = mean_over(work.near.test, targets, count=work.recipe.later)
    seen = work.fit(work.both("train"), targets).probabilities(work.both("test"))
    result: dict[str, Any] = {
        "heard": right(heard.argmax(axis=1), test),
        "full_student": right(seen.argmax(axis=1), test),
        "accuracy": right(pool(heard, seen).argmax(axis=1), test),
    }
    both = View(work.both("train"), work.both("test"))
    for name, view in {**work.views, "both": both}.items():
        model = fit_linear(view.train, targets, decay=CLEAN_DECAY, steps=60)
        result[name] = right(model.logits(view.test).argmax(axis=1), test)
    return result | {"seconds": round(time.perf_counter() - begun, 1)}


def votes_needed(mechanism: RandomizedResponse, recipe: Recipe) -> int:
    """Return how many neighbors vote first."""
    kept, other = mechanism.transition()[0, :2]
    return min(recipe.most, round(recipe.votes / float(kept - other) ** 2))


def pool(*opinions: Array) -> Array:
    """Return the geometric mean of distributions, scaled."""
    joint = np.exp(np.mean([np.log(np.maximum(opinion, FLOOR)) for opinion in opinions], axis=0))
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def right(labels: Codes, truth: Codes) -> float:
    """Return the share of right labels."""
    return float(np.mean(labels == truth))
