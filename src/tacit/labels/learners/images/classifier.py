"""From images and a release of their labels to a classifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tacit.labels.learners.classifier import generator_from
from tacit.labels.learners.images.checkpoint import TrainingCheckpoint, identify
from tacit.labels.learners.images.network import ImageNetwork, ResidualNetwork
from tacit.labels.learners.images.reading import read_images
from tacit.labels.learners.images.representation import PatchRepresentation
from tacit.labels.learners.images.targets import LabelEvidence
from tacit.labels.learners.images.training import VotedTraining
from tacit.labels.learners.network.device import NetworkClassifier
from tacit.labels.releases.release import Release
from tacit.privacy.errors import InvalidInput

__all__ = ["ImageClassifier"]


class ImageClassifier(NetworkClassifier):
    """Represent images without labels, let neighbors vote by released labels, train on what they agree on, and renew.

    The guarantee is that of the release, whatever is done with it. On an H200 the defaults take about ten minutes for
    50,000 images of 32 pixels, and a minute to compile; without a GPU, use a smaller ``width`` and fewer epochs.

    Parameters
    ----------
    representation
        How a network learns to represent images; default :class:`PatchRepresentation`.
    training
        How it learns classes; default :class:`VotedTraining`.
    width
        Of the residual network.
    device
        ``"auto"`` uses a GPU if there is one; or any name that torch knows.
    checkpoint
        A file in which a fit keeps where it has come to, every minute or so. A fit that was interrupted goes on from
        there; that of other images, labels or settings is refused. With ``random_state`` a number, the network is the
        one that an uninterrupted fit on the same processor gives.
    progress
        Called with the steps done and the steps of the current stage.
    random_state
        Two fits with the same one on the same processor give the same network.

    Attributes
    ----------
    classes_, guarantee_
        The class list and the guarantee of the release.
    network_
        The trained network.
    """

    def __init__(
        self,
        *,
        representation: PatchRepresentation | None = None,
        training: VotedTraining | None = None,
        width: int = 64,
        device: str = "auto",
        checkpoint: str | Path | None = None,
        progress: Callable[[int, int], None] | None = None,
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.representation = representation
        self.training = training
        self.width = width
        self.device = device
        self.checkpoint = checkpoint
        self.progress = progress
        self.random_state = random_state

    def __getstate__(self) -> Any:  # noqa: ANN401
        state = super().__getstate__()
        return {**state, "progress": None} if "network_" in state else state

    def fit(self, X: ArrayLike, y: Release) -> ImageClassifier:
        """Train on images of bytes, (n, side, side) or (n, side, side, channels), and a release of their labels."""
        pictures = _as_images(X)
        evidence = _evidence(y, rows=len(pictures))
        rng, device = generator_from(self.random_state), self._device()
        tell = self.progress or (lambda *_: None)
        images, evidence = pictures.to(device), evidence.to(device)
        representation, training = self.representation or PatchRepresentation(), self.training or VotedTraining()
        checkpoint = TrainingCheckpoint(
            self.checkpoint,
            identity=identify(
                pictures, evidence.outputs, evidence.transition, f"{representation}{training}{self.width}"
            ),
        )
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(int(rng.integers(2**63)))
            body = ResidualNetwork(images.shape[1], width=self.width).to(device)
            features = None
            if not checkpoint.reached("training"):
                features = representation.learn(images, body, progress=tell, checkpoint=checkpoint)
            network = ImageNetwork(body, len(evidence.transition)).to(device)
            self.network_ = training.train(images, network, evidence, features, progress=tell, checkpoint=checkpoint)
        self.classes_ = np.asarray(y.settled["classes"])
        self.guarantee_ = y.guarantee
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | image), one column for each of ``classes_``."""
        check_is_fitted(self)
        device = self._device()
        _, probabilities = read_images(self.network_.to(device), _as_images(X).to(device))
        return np.asarray(probabilities.double().cpu())


def _as_images(X: ArrayLike) -> torch.Tensor:
    """Return images as torch orders them: (n, channels, side, side)."""
    images = np.asarray(X)
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or images.shape[1] != images.shape[2]:
        raise InvalidInput(
            f"must be square images of bytes, (n, side, side) or (n, side, side, channels), got {images.dtype} "
            f"{images.shape}",
            field="X",
        )
    layers = images[..., None] if images.ndim == 3 else images
    return torch.from_numpy(np.ascontiguousarray(layers.transpose(0, 3, 1, 2)))


def _evidence(release: Release, *, rows: int) -> LabelEvidence:
    evidence = release.evidence
    if release.asked.mechanism.numbers or evidence.channel is None:
        raise InvalidInput("must be a release of classes by randomized response", field="y")
    if release.rows != rows:
        raise InvalidInput(f"must have one label for each of the {rows} images, got {release.rows}", field="y")
    return LabelEvidence(
        outputs=torch.from_numpy(evidence.channel.outputs),
        transition=torch.from_numpy(evidence.channel.transition).float(),
    )
