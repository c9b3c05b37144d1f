"""Learn from label totals: additive models from curated bags without loss, and estimators for random bags."""

from tacit.bags.learners.additive import AdditiveModel
from tacit.bags.learners.crosses import CrossSolver, Lbfgs
from tacit.bags.learners.evaluation import Calibration
from tacit.bags.learners.parts import MLP, BoostedTrees, FeatureCross, ModelPart, TorchModule
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
    "BoostedTrees",
    "Calibration",
    "CrossSolver",
    "EasyLabels",
    "FeatureCross",
    "Lbfgs",
    "ModelPart",
    "NoiseRidge",
    "Penalty",
    "RandomBagModel",
    "Ridge",
    "TorchModule",
    "UnbiasedObjective",
]
