"""Leaks: from attack scores and guesses to rates, intervals, and lower bounds on epsilon."""

from tacit.leak.beliefs import LabelBeliefs
from tacit.leak.canaries import PlantedCanaries, plant_canaries
from tacit.leak.epsilon import EpsilonBound, epsilon_from_rates
from tacit.leak.flags import odds_changes
from tacit.leak.guesses import ABSTAIN, leak_from_guesses
from tacit.leak.intervals import Interval, clopper_pearson, difference_interval
from tacit.leak.measure import Leak
from tacit.leak.model_report import ModelReport
from tacit.leak.number_performance import NumberPerformance, judge_numbers
from tacit.leak.odds import LeakVerdict, OddsChange, compare_odds
from tacit.leak.one_run import epsilon_one_run
from tacit.leak.one_run_gaussian import gaussian_epsilon, mu_from_rates, mu_one_run
from tacit.leak.one_run_tails import sharp_tail
from tacit.leak.performance import ClassPerformance, MetricEstimate, judge_classes
from tacit.leak.roc import FPR_GRID, RocCurve, RocPoint
from tacit.leak.scores import leak_from_one_run, leak_from_scores
from tacit.leak.threshold import FixedThreshold, HeldOut, ThresholdRule, UnionBoundThresholds
from tacit.leak.tracking import log_leak
from tacit.leak.utility import (
    advantage_limit,
    largest_accuracy,
    largest_advantage,
)
from tacit.leak.verdict import assert_leak_below

__all__ = [
    "ABSTAIN",
    "FPR_GRID",
    "ClassPerformance",
    "EpsilonBound",
    "FixedThreshold",
    "HeldOut",
    "Interval",
    "LabelBeliefs",
    "Leak",
    "LeakVerdict",
    "MetricEstimate",
    "ModelReport",
    "NumberPerformance",
    "OddsChange",
    "PlantedCanaries",
    "RocCurve",
    "RocPoint",
    "ThresholdRule",
    "UnionBoundThresholds",
    "advantage_limit",
    "assert_leak_below",
    "clopper_pearson",
    "compare_odds",
    "difference_interval",
    "epsilon_from_rates",
    "epsilon_one_run",
    "gaussian_epsilon",
    "judge_classes",
    "judge_numbers",
    "largest_accuracy",
    "largest_advantage",
    "leak_from_guesses",
    "leak_from_one_run",
    "leak_from_scores",
    "log_leak",
    "mu_from_rates",
    "mu_one_run",
    "odds_changes",
    "plant_canaries",
    "sharp_tail",
]
