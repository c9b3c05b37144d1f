"""Train two-layer networks to a certified KKT point of the margin problem."""

from tacit.models.margin.certificate import Certificate, kkt
from tacit.models.margin.classifier import MarginClassifier
from tacit.models.margin.fit import MarginFit, NotSeparated, fit_margin, fit_margins
from tacit.models.margin.losses import Exponential, Logistic, Loss
from tacit.models.margin.univariate import LeastNorm, fit_least_norm

__all__ = [
    "Certificate",
    "Exponential",
    "LeastNorm",
    "Logistic",
    "Loss",
    "MarginClassifier",
    "MarginFit",
    "NotSeparated",
    "fit_least_norm",
    "fit_margin",
    "fit_margins",
    "kkt",
]
