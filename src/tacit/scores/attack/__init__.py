"""Attack: every label from a few scores, and how many scores that takes."""

from tacit.scores.attack.answers import Answers, Bounded, Exact, GaussianNoise, LaplaceNoise, RandomNoise, Rounded
from tacit.scores.attack.calibrated import CalibratedDesign, Shifted
from tacit.scores.attack.channel import Channel
from tacit.scores.attack.climb import climb_labels
from tacit.scores.attack.crowded import CrowdedDesign
from tacit.scores.attack.design import Design
from tacit.scores.attack.digits import DigitDesign
from tacit.scores.attack.errors import AttackStopped, InconsistentAnswer, OracleError
from tacit.scores.attack.http import AsCsv, AsJson, HttpOracle
from tacit.scores.attack.infer import Oracle, Progress, infer_labels
from tacit.scores.attack.joint import JointDesign
from tacit.scores.attack.metrics import (
    AUC,
    F1,
    AbsoluteError,
    Accuracy,
    CountDesign,
    Metric,
    RankDesign,
    RootMeanSquaredError,
)
from tacit.scores.attack.outcome import Outcome
from tacit.scores.attack.planning import Ceilings, Plan, plan
from tacit.scores.attack.posterior import Reading, label_posterior
from tacit.scores.attack.prior import PriorDesign, prior_design
from tacit.scores.attack.reconstruct import Menu, best_size, expected_gain, guess_labels, rows_worth_asking
from tacit.scores.attack.repeated import HadamardDesign, RepeatedDesign
from tacit.scores.attack.scorers import SCORERS, Scorer, find_scorer, hidden
from tacit.scores.attack.weighing import DetectingMatrix, detecting_matrix
from tacit.scores.attack.weights import conway_guy_weights, power_weights

__all__ = [
    "AUC",
    "F1",
    "SCORERS",
    "AbsoluteError",
    "Accuracy",
    "Answers",
    "AsCsv",
    "AsJson",
    "AttackStopped",
    "Bounded",
    "CalibratedDesign",
    "Ceilings",
    "Channel",
    "CountDesign",
    "CrowdedDesign",
    "Design",
    "DetectingMatrix",
    "DigitDesign",
    "Exact",
    "GaussianNoise",
    "HadamardDesign",
    "HttpOracle",
    "InconsistentAnswer",
    "JointDesign",
    "LaplaceNoise",
    "Menu",
    "Metric",
    "Oracle",
    "OracleError",
    "Outcome",
    "Plan",
    "PriorDesign",
    "Progress",
    "RandomNoise",
    "RankDesign",
    "Reading",
    "RepeatedDesign",
    "RootMeanSquaredError",
    "Rounded",
    "Scorer",
    "Shifted",
    "best_size",
    "climb_labels",
    "conway_guy_weights",
    "detecting_matrix",
    "expected_gain",
    "find_scorer",
    "guess_labels",
    "hidden",
    "infer_labels",
    "label_posterior",
    "plan",
    "power_weights",
    "prior_design",
    "rows_worth_asking",
]
