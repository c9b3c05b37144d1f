"""Attack: every label from a few scores, and how many scores that takes."""

from tacit.scores.attacks.answers import HostAnswers
from tacit.scores.attacks.channel import LossChannel
from tacit.scores.attacks.climb import climb_labels
from tacit.scores.attacks.competition import AttackResult, attack_competition, attack_final_scores
from tacit.scores.attacks.crowded import CrowdedDesign
from tacit.scores.attacks.design import QueryDesign
from tacit.scores.attacks.digits import DigitDesign
from tacit.scores.attacks.errors import OracleError
from tacit.scores.attacks.http import CsvBody, HttpOracle, JsonBody
from tacit.scores.attacks.infer import AttackProgress, AttackStopped, RecoveredLabels, infer_labels
from tacit.scores.attacks.joint import JointDesign
from tacit.scores.attacks.planning import AttackPlan, plan_attack
from tacit.scores.attacks.posterior import ScoreReading, label_posterior
from tacit.scores.attacks.reconstruct import CandidatePredictions, best_size, guess_labels

__all__ = [
    "AttackPlan",
    "AttackProgress",
    "AttackResult",
    "AttackStopped",
    "CandidatePredictions",
    "CrowdedDesign",
    "CsvBody",
    "DigitDesign",
    "HostAnswers",
    "HttpOracle",
    "JointDesign",
    "JsonBody",
    "LossChannel",
    "OracleError",
    "QueryDesign",
    "RecoveredLabels",
    "ScoreReading",
    "attack_competition",
    "attack_final_scores",
    "best_size",
    "climb_labels",
    "guess_labels",
    "infer_labels",
    "label_posterior",
    "plan_attack",
]
