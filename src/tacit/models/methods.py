"""The methods that load a released model and attack it, and the help of the commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from tacit.models.trained import EstimatorName
from tacit.privacy.lazy import lazy_method
from tacit.privacy.settings import Choice, about, count, positive

__all__ = [
    "HELP",
    "AttackMethod",
    "LearnMethod",
    "LiraAttack",
    "LoadModel",
    "LossAttack",
    "MarginAttack",
    "ReconstructionAttack",
    "RmiaAttack",
]


@dataclass(frozen=True, kw_only=True)
class LoadModel(Choice):
    """Load the model unchanged."""

    name: ClassVar[str] = "load"


@dataclass(frozen=True, kw_only=True)
class ModelAttack(Choice):
    """A way to attack a model."""

    black_box: bool = field(
        default=False, metadata=about("Use only the model's outputs, not its weights; an .onnx model is run.")
    )


@dataclass(frozen=True, kw_only=True)
class MarginAttack(ModelAttack):
    """Guess that rows at the margin of a two-layer ReLU network, or in the span of its weights, are members."""

    name: ClassVar[str] = "margin"
    attack = lazy_method("tacit.models.attacks.network_attack", "attack_network")
    margin: float | None = field(
        default=None,
        metadata=positive("The margin, if the attacker knows it. Default: the least output of the members."),
    )


@dataclass(frozen=True, kw_only=True)
class ConfidenceAttack(ModelAttack):
    """An attack that scores rows by the model's confidence in their labels."""

    attack = lazy_method("tacit.models.attacks.by_confidence", "attack_by_confidence")
    scorer: ClassVar[Callable[..., Any]]
    """(self, target, rows): what scores them."""
    coins: Literal["none", "rows", "pairs"] = field(
        default="none",
        metadata=about(
            "Coins that chose the rows, so that epsilon has a lower bound: one for each row (rows), or one for each "
            "pair of row k of --truth and row k of --data."
        ),
    )


@dataclass(frozen=True, kw_only=True)
class LossAttack(ConfidenceAttack):
    """Guess that a row with a low loss is a member."""

    name: ClassVar[str] = "loss"
    scorer = lazy_method("tacit.models.attacks.by_confidence", "score_by_loss")


@dataclass(frozen=True, kw_only=True)
class ShadowAttack(ConfidenceAttack):
    """An attack that compares with models trained the same way on random halves of the rows."""

    models: int = field(
        default=16,
        metadata=about(
            "How many shadow models to train.",
            rule="an even number >= 4",
            holds=lambda models: models >= 4 and models % 2 == 0,
        ),
    )
    estimator: EstimatorName = field(
        default="logistic", metadata=about("The shadow models, if the release does not state how it was trained.")
    )


@dataclass(frozen=True, kw_only=True)
class LiraAttack(ShadowAttack):
    """The likelihood-ratio attack (Carlini et al. 2022)."""

    name: ClassVar[str] = "lira"
    scorer = lazy_method("tacit.models.attacks.by_confidence", "score_by_likelihood")


@dataclass(frozen=True, kw_only=True)
class RmiaAttack(ShadowAttack):
    """The robust membership attack (Zarifzadeh et al. 2024)."""

    name: ClassVar[str] = "rmia"
    scorer = lazy_method("tacit.models.attacks.by_confidence", "score_by_ratio")


@dataclass(frozen=True, kw_only=True)
class ReconstructionAttack(ModelAttack):
    """Reconstruct training points from the weights of a homogeneous two-layer ReLU network."""

    name: ClassVar[str] = "reconstruct"
    attack = lazy_method("tacit.models.attacks.network_attack", "reconstruct_network")
    points: int = field(default=10, metadata=count("How many points of each label to look for.", most=10**6))
    steps: int = field(default=2000, metadata=count("Steps of the search.", most=10**7))
    margin: float | None = field(
        default=None, metadata=positive("The margin of a network of one feature, if the attacker knows it.")
    )


LearnMethod = LoadModel
AttackMethod = MarginAttack | LossAttack | LiraAttack | RmiaAttack | ReconstructionAttack

HELP = {
    "protect": """Train a model and write it with its guarantee, charging the ledger before the first step.

    By default a two-layer ReLU network is trained by DP-SGD. Its epsilon is for one record replaced by another, so
    the number of records is public. Other tools report the smaller epsilon for one record added or removed.
    label_private protects labels only; margin, early_stop and plain protect nothing and require --epsilon none.

    Example: tacit models protect visits.csv --label ill --ranges '*=0,100' --epsilon 3 --delta 1e-6 --ledger ledger.db

    Example: tacit models protect visits.csv --label ill --epsilon none --mechanism margin:width=200 --out model.pt
    """,
    "learn": """Load a released model, and evaluate it on rows with true labels.

    The model is used unchanged: nothing is trained. A file that tacit did not write has no guarantee; a pickle opens
    only with --trust.

    Example: tacit models learn visits.models.safetensors --test later.csv
    """,
    "attack": """Measure what a model reveals about the rows it was trained on.

    --truth has rows that the model was trained on, --data similar rows that it was not; rows of --data that equal a
    member are left out. margin guesses that rows at the margin of a homogeneous two-layer ReLU network were trained
    on; "covered" is whether that is proved for these rows at an exact KKT point, expected, or neither. loss guesses
    that rows with a low loss were trained on. lira and rmia compare the loss with that of shadow models. reconstruct
    finds training points from the weights.
    Default: margin for a network trained to its margin, and for such a network of which nothing is known; else loss.

    Example: tacit models attack model.pt --truth visits.csv --data later.csv

    Example: tacit models attack model.pt --truth visits.csv --data later.csv --method lira

    Example: tacit models attack model.pt --method reconstruct --json
    """,
}
