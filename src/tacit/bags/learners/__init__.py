"""Learn from label totals: additive models from curated bags without loss, and estimators for random bags."""

from tacit.bags.learners.additive import AdditiveModel
from tacit.bags.learners.crosses import CrossSolver, Lbfgs
from tacit.bags.learners.evaluation import Calibration
from tacit.bags.learners.parts import MLP, Cross, ModelPart, Module, Tree
from tacit.bags.learners.penalty import NoiseRidge, Penalty, Ridge
from tacit.bags.learners.random_bags import (
    EasyLabels,
    RandomBagModel,
    UnbiasedObjective,
)
from tacit.bags.learners.training import BatchTraining

__all__ = [
    "MLP",
    "AdditiveModel",
    "BatchTraining",
    "Calibration",
    "Cross",
    "CrossSolver",
    "EasyLabels",
    "Lbfgs",
    "ModelPart",
    "Module",
    "NoiseRidge",
    "Penalty",
    "RandomBagModel",
    "Ridge",
    "Tree",
    "UnbiasedObjective",
]
