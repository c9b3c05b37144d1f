"""Attacks of the papers that tacit is compared with, and all labels from one score of enough precision."""

from papers.score_attacks.attacks.baselines import boosted_labels, exhaustive_labels, random_prediction_labels
from papers.score_attacks.attacks.one_score import labels_from_one_score, precision_for
from papers.score_attacks.attacks.two_columns import TwoColumnLogLoss

__all__ = [
    "TwoColumnLogLoss",
    "boosted_labels",
    "exhaustive_labels",
    "labels_from_one_score",
    "precision_for",
    "random_prediction_labels",
]
