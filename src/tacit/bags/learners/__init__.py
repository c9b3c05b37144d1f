"""Learn from label totals: additive models from curated bags without loss, and estimators for random bags."""

from tacit.bags.learners.additive import AdditiveModel
from tacit.bags.learners.crosses import Lbfgs, Solver
from tacit.bags.learners.evaluation import Calibration, Evaluation, evaluate
from tacit.bags.learners.parts import MLP, Cross, Module, Part, Tree
from tacit.bags.learners.penalty import NoiseRidge, Penalty, Ridge
from tacit.bags.learners.random_bags import (
    BagMeanObjective,
    EasyLabels,
    ProportionLoss,
    RandomBagModel,
    UnbiasedObjective,
)
from tacit.bags.learners.training import Training

__all__ = [
    "MLP",
    "AdditiveModel",
    "BagMeanObjective",
    "Calibration",
    "Cross",
    "EasyLabels",
    "Evaluation",
    "Lbfgs",
    "Module",
    "NoiseRidge",
    "Part",
    "Penalty",
    "ProportionLoss",
    "RandomBagModel",
    "Ridge",
    "Solver",
    "Training",
    "Tree",
    "UnbiasedObjective",
    "evaluate",
]
