"""How submissions are chosen by their scores and labels recovered from them, and the help of the three commands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tacit.privacy.lazy import lazy_method
from tacit.privacy.settings import Choice, about

__all__ = ["HELP", "AttackMethod", "BestAttack", "BestScore", "Crowded", "Digits", "Joint", "LearnMethod"]


@dataclass(frozen=True, kw_only=True)
class BestScore(Choice):
    """Choose the submission with the best released score, with bounds on its regret."""

    name: ClassVar[str] = "best"
    within: float = field(
        default=0.01,
        metadata=about(
            "Regret tolerance, in units of the score; the probability of staying within it is printed.",
            rule="a finite number >= 0",
            holds=lambda regret: 0 <= regret < math.inf,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class BestAttack(Choice):
    """Recover as many labels as the offer's submissions allow, by the attack that suits the policy."""

    name: ClassVar[str] = "best"
    design: ClassVar[Callable[..., Any] | None] = None
    """How labels are read one by one; None: all scores are weighed together where that recovers more."""


@dataclass(frozen=True, kw_only=True)
class Digits(Choice):
    """Ask for a few rows per submission, as the digits of its score."""

    name: ClassVar[str] = "digits"
    design = staticmethod(lazy_method("tacit.scores.attacks.digits", "DigitDesign"))


@dataclass(frozen=True, kw_only=True)
class Joint(Choice):
    """Ask for all rows at once, and solve for the labels at the end."""

    name: ClassVar[str] = "joint"
    design = staticmethod(lazy_method("tacit.scores.attacks.joint", "JointDesign"))


@dataclass(frozen=True, kw_only=True)
class Crowded(Choice):
    """Ask for all rows at once, and again for those that stay ambiguous: fewer submissions, for two classes."""

    name: ClassVar[str] = "crowded"
    design = staticmethod(lazy_method("tacit.scores.attacks.crowded", "CrowdedDesign"))


LearnMethod = BestScore
AttackMethod = BestAttack | Digits | Joint | Crowded

HELP = {
    "protect": """Score submissions and release the scores with noise, or offer to score them.

    Each --data is a table of predictions: the column id if IN has it, and one column, or one for each class, in the
    order of the classes or named by them. Epsilon is for all submissions together. Without --data the release is an
    offer: it states the rules, and tacit scores attack plays the host with it. For a competition of many teams there
    is tacit serve.

    Example: tacit scores protect truth.csv --label ill --epsilon 0.1 --data predictions.csv

    Example: tacit scores protect truth.csv --label ill --metric auc:class_floor=500 --epsilon 0.5 --submissions 2
    --data linear.csv --data forest.csv

    Example: tacit scores protect truth.csv --label ill --epsilon none --policy rounded:decimals=5 --submissions 400
    """,
    "learn": """Choose the best of several submissions by their released scores, and bound the regret of the choice.

    The choice costs nothing more. Give the submissions again with --data, in the same order, to see the chosen one's
    name. The metric is a mean over rows; rmse is compared by the mean of the squared errors where noise was added.

    Example: tacit scores learn truth.scores.json --data linear.csv --data forest.csv --method best:within=0.02
    """,
    "attack": """Recover labels from scores alone: play an offer's host, or query a live endpoint with --url.

    With an offer and --truth the policy answers as many submissions as the offer allows, here and without charge. With
    --url every query is a submission to the endpoint: attack only what you own or may test.

    Example: tacit scores attack truth.scores.json --truth truth.csv

    Example: tacit scores attack --url http://127.0.0.1:8000/score --rows 2201 --policy rounded:decimals=5
    """,
}
