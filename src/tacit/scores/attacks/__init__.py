"""Attack: every label from a few scores, and how many scores that takes."""

from tacit.scores.attacks.answers import Answers
from tacit.scores.attacks.calibrated import CalibratedDesign
from tacit.scores.attacks.channel import Channel
from tacit.scores.attacks.climb import climb_labels
from tacit.scores.attacks.competition import AttackResult, attack_competition, attack_final_score
from tacit.scores.attacks.counts import RightRowsDesign, TruePositivesDesign
from tacit.scores.attacks.crowded import CrowdedDesign
from tacit.scores.attacks.design import Design
from tacit.scores.attacks.digits import DigitDesign
from tacit.scores.attacks.errors import AttackStopped, InconsistentAnswer, OracleError
from tacit.scores.attacks.hosts import HOST_METRICS, host_metric
from tacit.scores.attacks.http import AsCsv, AsJson, HttpOracle
from tacit.scores.attacks.infer import Oracle, Progress, infer_labels
from tacit.scores.attacks.joint import JointDesign
from tacit.scores.attacks.noise import GaussianNoise, LaplaceNoise, RandomNoise
from tacit.scores.attacks.outcome import Outcome
from tacit.scores.attacks.planning import AttackPlan, Ceilings, plan_attack
from tacit.scores.attacks.posterior import ScoreReading, label_posterior
from tacit.scores.attacks.prior import PriorDesign, prior_design
from tacit.scores.attacks.ranks import RankDesign
from tacit.scores.attacks.reconstruct import (
    CandidatePredictions,
    best_size,
    expected_gain,
    guess_labels,
    rows_worth_asking,
)
from tacit.scores.attacks.repeated import HadamardDesign, RepeatedDesign
from tacit.scores.attacks.view import CompetitionView, candidate_predictions
from tacit.scores.attacks.weighing import DetectingMatrix, detecting_matrix
from tacit.scores.attacks.weights import conway_guy_weights, power_weights

__all__ = [
    "HOST_METRICS",
    "Answers",
    "AsCsv",
    "AsJson",
    "AttackPlan",
    "AttackResult",
    "AttackStopped",
    "CalibratedDesign",
    "CandidatePredictions",
    "Ceilings",
    "Channel",
    "CompetitionView",
    "CrowdedDesign",
    "Design",
    "DetectingMatrix",
    "DigitDesign",
    "GaussianNoise",
    "HadamardDesign",
    "HttpOracle",
    "InconsistentAnswer",
    "JointDesign",
    "LaplaceNoise",
    "Oracle",
    "OracleError",
    "Outcome",
    "PriorDesign",
    "Progress",
    "RandomNoise",
    "RankDesign",
    "RepeatedDesign",
    "RightRowsDesign",
    "ScoreReading",
    "TruePositivesDesign",
    "attack_competition",
    "attack_final_score",
    "best_size",
    "candidate_predictions",
    "climb_labels",
    "conway_guy_weights",
    "detecting_matrix",
    "expected_gain",
    "guess_labels",
    "host_metric",
    "infer_labels",
    "label_posterior",
    "plan_attack",
    "power_weights",
    "prior_design",
    "rows_worth_asking",
]
