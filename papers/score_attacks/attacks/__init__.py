"""Attacks that tacit is compared with, with a model's beliefs, through random noise, and all labels from one score."""

from papers.score_attacks.attacks.baselines import boosted_labels, exhaustive_labels, random_prediction_labels
from papers.score_attacks.attacks.noise import GaussianAnswerNoise, LaplaceAnswerNoise
from papers.score_attacks.attacks.one_score import labels_from_one_score, precision_for
from papers.score_attacks.attacks.prior import PriorDesign, prior_design
from papers.score_attacks.attacks.repeated import HadamardDesign, RepeatedDesign, plan_against_noise
from papers.score_attacks.attacks.two_columns import TwoColumnLogLoss

__all__ = [
    "GaussianAnswerNoise",
    "HadamardDesign",
    "LaplaceAnswerNoise",
    "PriorDesign",
    "RepeatedDesign",
    "TwoColumnLogLoss",
    "boosted_labels",
    "exhaustive_labels",
    "labels_from_one_score",
    "plan_against_noise",
    "precision_for",
    "prior_design",
    "random_prediction_labels",
]
