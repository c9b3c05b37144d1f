"""What the release says of each image, and the images to train on: where neighbors, network and label agree."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["AgreedTargets", "ClassOpinions", "LabelEvidence", "choose_targets"]

_LEAST = 10  # of ``classes * _LEAST`` rows, one per class is always trained on: the most confident one
_FLOOR = 1e-4  # no network is surer than that


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEvidence:
    """Each image's released label, -1 where there is none, and P(released | true)."""

    outputs: Tensor
    transition: Tensor

    def to(self, device: torch.device) -> LabelEvidence:
        """Return the same on a device."""
        return LabelEvidence(outputs=self.outputs.to(device), transition=self.transition.to(device))

    @property
    def likelihood(self) -> Tensor:
        """P(own released label | class), a line per image; 1 where nothing was released."""
        known = (self.outputs >= 0)[:, None]
        return torch.where(known, self.transition[:, self.outputs.clamp_min(0)].T, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOpinions:
    """What neighbors, network and released label say of each row's class.

    Parameters
    ----------
    votes
        The mix of classes around each row.
    predictions
        The network's; None before there is one.
    likelihood
        P(own released label | class).
    """

    votes: Tensor
    predictions: Tensor | None
    likelihood: Tensor

    def at(self, rows: Tensor, *, predictions: Tensor) -> ClassOpinions:
        """Return those of some rows, with other predictions."""
        return ClassOpinions(votes=self.votes[rows], predictions=predictions, likelihood=self.likelihood[rows])

    def posterior(self, *, vote_weight: float) -> Tensor:
        """Return prior times likelihood, scaled; the prior is votes^a predictions^(1-a) for a = ``vote_weight``."""
        prior = self.votes
        if self.predictions is not None:
            prior = prior**vote_weight * self.predictions.clamp_min(_FLOOR) ** (1 - vote_weight)
        posterior = prior * self.likelihood
        return posterior / posterior.sum(dim=1, keepdim=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedTargets:
    """Rows, the class of each, and how often to draw it: every class as often as any other."""

    rows: Tensor
    classes: Tensor
    cumulated: Tensor

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        """Return random rows and their classes."""
        level = torch.rand(count, device=self.rows.device) * self.cumulated[-1]
        places = torch.searchsorted(self.cumulated, level).clamp_max(len(self.rows) - 1)
        return self.rows[places], self.classes[places]


@torch.no_grad()
def choose_targets(opinions: ClassOpinions, *, sure: float, vote_weight: float) -> AgreedTargets:
    """Return the rows whose posterior is sure, and whose class neighbors and network each find likeliest.

    Both weigh the row's own released label. So that label decides where they waver, and no network confirms itself.

    Parameters
    ----------
    vote_weight
        As in :meth:`ClassOpinions.posterior`.
    """
    votes = opinions.votes
    certainty, classes = opinions.posterior(vote_weight=vote_weight).max(dim=1)
    agreed = (votes * opinions.likelihood).argmax(dim=1) == classes
    if opinions.predictions is not None:
        agreed &= (opinions.predictions * opinions.likelihood).argmax(dim=1) == classes
    chosen = agreed & (certainty > sure)
    least = max(1, len(votes) // (_LEAST * votes.shape[1]))
    for label in range(votes.shape[1]):
        mine = torch.where(classes == label)[0]
        if chosen[mine].sum() < min(least, len(mine)):
            chosen[mine[certainty[mine].topk(min(least, len(mine))).indices]] = True
    rows = torch.where(chosen)[0]
    counts = torch.bincount(classes[rows], minlength=votes.shape[1]).clamp_min(1)
    return AgreedTargets(rows=rows, classes=classes[rows], cumulated=(1 / counts[classes[rows]]).cumsum(dim=0))
