"""Learn from label totals: additive models from curated bags without loss, and estimators for random bags."""

from tacit.bags.learn.additive import AdditiveModel
from tacit.bags.learn.crosses import Lbfgs, Solver
from tacit.bags.learn.evaluation import Calibration, Evaluation, evaluate
from tacit.bags.learn.parts import MLP, Cross, Module, Part, Tree
from tacit.bags.learn.penalty import NoiseRidge, Penalty, Ridge
from tacit.bags.learn.random_bags import BagMean, EasyLabels, ProportionLoss, RandomBagModel, Unbiased
from tacit.bags.learn.training import Training

__all__ = [
    "MLP",
    "AdditiveModel",
    "BagMean",
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
    "Unbiased",
    "evaluate",
]
