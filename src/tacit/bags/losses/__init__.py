"""Semilinear losses: b(f) - T(y)'f + c(y), all that a total of T(y) can train."""

from tacit.bags.losses.categorical import CategoricalLoss
from tacit.bags.losses.logistic import LogisticLoss
from tacit.bags.losses.numbers import PoissonLoss, SquaredLoss
from tacit.bags.losses.semilinear import SemilinearLoss

__all__ = ["CategoricalLoss", "LogisticLoss", "PoissonLoss", "SemilinearLoss", "SquaredLoss"]
