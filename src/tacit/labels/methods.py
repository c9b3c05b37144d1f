"""The methods that learn from released labels and attack them, and the help of the three commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tacit.privacy.lazy import lazy_method
from tacit.privacy.settings import Choice, about, count, positive

__all__ = [
    "HELP",
    "AttackMethod",
    "Bayes",
    "Denoised",
    "ImageTraining",
    "LabelCanaries",
    "LearnMethod",
    "Regressor",
    "ReleasedLikelihood",
    "TextNeighbors",
    "TwinRepresentation",
]

Estimator = Literal["logistic", "trees"]
_ESTIMATOR = about("Logistic regression, or boosted trees.")
_COLUMNS = lazy_method("tacit.labels.learners.cells", "encode_columns")


@dataclass(frozen=True, kw_only=True)
class Denoised(Choice):
    """Denoise the released labels, train, and train again on the model's own predictions; costs no privacy."""

    name: ClassVar[str] = "denoised"
    numbers: ClassVar[bool] = False
    learner = lazy_method("tacit.labels.learners.named", "denoised_learner")
    columns = _COLUMNS

    denoise: Literal["auto", "forward", "backward", "neighbors", "none"] = field(
        default="auto", metadata=about("How released labels become targets. auto: forward, or none for trees.")
    )
    retrain: Literal["auto", "none", "full", "consensus", "confidence"] = field(
        default="auto",
        metadata=about(
            "The rows to train on again: all, those where prediction and label agree, or the most confident."
        ),
    )
    rounds: int = field(default=1, metadata=count("How many times to train again.", least=0))
    estimator: Estimator = field(default="logistic", metadata=_ESTIMATOR)


@dataclass(frozen=True, kw_only=True)
class ReleasedLikelihood(Choice):
    """Maximize the likelihood of the released labels, which also choose the penalty, or size and number of trees."""

    name: ClassVar[str] = "likelihood"
    numbers: ClassVar[bool] = False
    learner = lazy_method("tacit.labels.learners.named", "likelihood_learner")
    columns = _COLUMNS

    estimator: Estimator = field(default="logistic", metadata=_ESTIMATOR)


@dataclass(frozen=True, kw_only=True)
class TwinRepresentation(Choice):
    """Learn a representation from the features alone, then from the votes of neighbors in it; needs torch."""

    name: ClassVar[str] = "twins"
    numbers: ClassVar[bool] = False
    learner = lazy_method("tacit.labels.learners.named", "twins_learner")
    columns = _COLUMNS

    epochs: int = field(default=10, metadata=count("Passes over the features."))


@dataclass(frozen=True, kw_only=True)
class ImageTraining(Choice):
    """For a column of images: a network learns to represent them, neighbors vote, it trains on that; needs torch."""

    name: ClassVar[str] = "images"
    numbers: ClassVar[bool] = False
    learner = lazy_method("tacit.labels.learners.named", "image_learner")
    columns = lazy_method("tacit.labels.learners.cells", "encode_pictures")

    encoder: str = field(
        default="own", metadata=about("own: learned from the images. Or an .onnx file that takes images.")
    )
    minutes: float = field(default=10.0, metadata=positive("How long to train; a GPU is used where there is one."))
    side: int | None = field(
        default=None, metadata=count("The side that images are scaled to. Default: theirs up to 64, else 32.", least=4)
    )
    width: int | None = field(
        default=None, metadata=count("Filters of the first layer. Default: 64 with a GPU, 16 without.")
    )
    checkpoint: str | None = field(
        default=None, metadata=about("A file from which the same training continues if interrupted.", metavar="FILE")
    )


@dataclass(frozen=True, kw_only=True)
class TextNeighbors(Choice):
    """For a column of text: neighbors in a representation of the texts vote, and a regression learns from that."""

    name: ClassVar[str] = "text"
    numbers: ClassVar[bool] = False
    learner = lazy_method("tacit.labels.learners.named", "text_learner")
    columns = lazy_method("tacit.labels.learners.cells", "encode_texts")

    encoder: str = field(
        default="own",
        metadata=about("own: the texts' own words. Or a package or a folder with a sentence encoder; needs torch."),
    )


@dataclass(frozen=True, kw_only=True)
class Regressor(Choice):
    """For numbers: least squares on released values, as far from their mean as held-out ones support."""

    name: ClassVar[str] = "regressor"
    numbers: ClassVar[bool] = True
    learner = lazy_method("tacit.labels.learners.named", "number_learner")
    columns = _COLUMNS

    estimator: Literal["ridge", "trees"] = field(default="ridge", metadata=about("Ridge regression, or boosted trees."))


@dataclass(frozen=True, kw_only=True)
class Bayes(Choice):
    """The likeliest label of each row, given the release, the features and what was known before."""

    name: ClassVar[str] = "bayes"
    attack = lazy_method("tacit.labels.attacks.bayes", "guess_by_bayes")

    estimator: Estimator = field(default="logistic", metadata=_ESTIMATOR)


@dataclass(frozen=True, kw_only=True)
class LabelCanaries(Choice):
    """Hide a coin in every label, protect these labels by the same plan, and guess the coins: bounds epsilon."""

    name: ClassVar[str] = "canaries"
    attack = lazy_method("tacit.labels.attacks.canary", "plant_and_guess")


LearnMethod = Denoised | ReleasedLikelihood | TwinRepresentation | ImageTraining | TextNeighbors | Regressor
AttackMethod = Bayes | LabelCanaries

HELP = {
    "protect": """Release one randomized label per row, and nothing else of the private column.

    The release has a column called label, in the order of the rows, and the columns that --features names. With a
    ledger, the same request gives the same release and costs nothing more.

    Example: tacit labels protect visits.csv --label ill --epsilon 1 --classes no,yes --features age,city

    Example: tacit labels protect visits.csv --label days --epsilon 2 --mechanism bins --values 0:30:1
    """,
    "learn": """Train a model on released labels, and report its accuracy.

    Without --test, part of the rows is held out and evaluated by their released labels: an unbiased estimate inside the
    guarantee. Features come from the release, or from --data, a table with the same rows.

    Example: tacit labels learn visits.labels.parquet --test checked.csv

    Example: tacit labels learn visits.labels.parquet --method likelihood:estimator=trees --out model.joblib

    Example: tacit labels learn scans.labels.parquet --images scans/ --method images:minutes=30 --out model.joblib

    Example: tacit labels learn letters.labels.parquet --data letters.parquet --text body
    """,
    "attack": """Guess each label from a release, with and without features.

    Without --truth it prints the expected share of correct guesses, and the largest advantage that the guarantee
    allows. With --truth it counts correct guesses and tests whether the labels were randomized as claimed; if they
    were not, the exit code is 1.
    canaries hide a coin in every label of --truth, protect these labels by the same plan, and bound epsilon by the
    coins that the new release reveals.

    Example: tacit labels attack visits.labels.parquet --truth visits.csv

    Example: tacit labels attack visits.labels.parquet --truth visits.csv --method canaries
    """,
}
