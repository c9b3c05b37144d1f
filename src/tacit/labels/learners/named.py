"""The learners that the methods of learning name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from tacit.labels.fitting.denoise import DenoisingRule, ForwardCorrection, NoCorrection
from tacit.labels.fitting.model import named_estimator
from tacit.labels.learners.backward import BackwardCorrection
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.neighbors import NeighborVotes
from tacit.labels.learners.regressor import LabelPrivateRegressor
from tacit.labels.learners.retrain import AllRows, ConfidentRows, ConsensusRows, RetrainingRule
from tacit.labels.learners.texts import OWN
from tacit.labels.methods import (
    Denoised,
    ImageTraining,
    Regressor,
    ReleasedLikelihood,
    TextNeighbors,
    TwinRepresentation,
)
from tacit.privacy.edge import Progress
from tacit.privacy.extras import load_extra

__all__ = [
    "denoised_learner",
    "image_learner",
    "likelihood_learner",
    "number_learner",
    "text_learner",
    "twins_learner",
]

_REPRESENTING = 0.25  # of the time for images

_DENOISE: dict[str, DenoisingRule] = {
    "forward": ForwardCorrection(),
    "backward": BackwardCorrection(),
    "neighbors": NeighborVotes(),
    "none": NoCorrection(),
}
_RETRAIN: dict[str, RetrainingRule | None] = {
    "auto": None,
    "none": None,
    "full": AllRows(),
    "consensus": ConsensusRows(),
    "confidence": ConfidentRows(),
}


def denoised_learner(method: Denoised, rng: np.random.Generator, progress: Progress | None) -> LabelPrivateClassifier:
    """Return the classifier that denoises and retrains."""
    # forward correction takes several fits, and trees are for many rows
    automatic = "none" if method.estimator == "trees" else "forward"
    return LabelPrivateClassifier(
        named_estimator(method.estimator),
        denoise=_DENOISE[automatic if method.denoise == "auto" else method.denoise],
        retrain=_RETRAIN[method.retrain],
        rounds=0 if method.retrain == "none" else method.rounds,
        progress=progress,
        random_state=rng,
    )


def likelihood_learner(
    method: ReleasedLikelihood, rng: np.random.Generator, progress: Progress | None
) -> LabelPrivateClassifier:
    """Return the classifier that is fitted once, to the likelihood."""
    estimator = named_estimator(method.estimator)
    return LabelPrivateClassifier(estimator, rounds=0, progress=progress, random_state=rng)


def twins_learner(
    method: TwinRepresentation, rng: np.random.Generator, progress: Progress | None
) -> LabelPrivateClassifier:
    """Return the classifier of a learned representation."""
    from tacit.labels.learners.network import BarlowTwins

    return LabelPrivateClassifier(
        LogisticRegression(C=0.01, max_iter=1000),
        representation=BarlowTwins(dimensions=64, epochs=method.epochs, random_state=int(rng.integers(2**31))),
        denoise=NeighborVotes(),
        progress=progress,
        random_state=rng,
    )


def image_learner(method: ImageTraining, rng: np.random.Generator, progress: Progress | None) -> Any:  # noqa: ANN401
    """Return the network that learns from images; a smaller one, in smaller steps, without a GPU."""
    torch = load_extra("torch")
    if method.encoder != OWN:
        return text_learner(method, rng, progress)
    from tacit.labels.learners.images import ImageClassifier, PatchRepresentation, VotedTraining

    fast, seconds = torch.cuda.is_available(), 60 * method.minutes
    represent, train = (
        PatchRepresentation(seconds=_REPRESENTING * seconds),
        VotedTraining(seconds=(1 - _REPRESENTING) * seconds),
    )
    if not fast:
        represent = replace(represent, patches=8, images=64, hidden=512, outputs=256, patches_read=4)
        train = replace(train, batch_size=128)
    return ImageClassifier(
        representation=represent,
        training=train,
        width=method.width or (64 if fast else 16),
        checkpoint=method.checkpoint,
        progress=progress,
        random_state=rng,
    )


def text_learner(
    method: TextNeighbors | ImageTraining,  # noqa: ARG001
    rng: np.random.Generator,
    progress: Progress | None,
) -> LabelPrivateClassifier:
    """Return the regression on what neighbors vote; rows of length 1 suit the usual penalty."""
    return LabelPrivateClassifier(
        LogisticRegression(max_iter=1000), denoise=NeighborVotes(), progress=progress, random_state=rng
    )


def number_learner(method: Regressor, rng: np.random.Generator, _: Progress | None) -> LabelPrivateRegressor:
    """Return the regressor of released numbers."""
    estimators: dict[str, Any] = {"ridge": Ridge, "trees": HistGradientBoostingRegressor}
    return LabelPrivateRegressor(estimators[method.estimator](), random_state=rng)
