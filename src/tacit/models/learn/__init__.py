"""Train two-layer networks to a certified KKT point of the margin problem."""

from tacit.models.learn.certificate import Certificate, kkt
from tacit.models.learn.classifier import MarginClassifier
from tacit.models.learn.losses import Exponential, Logistic, Loss
from tacit.models.learn.margin import MarginFit, NotSeparated, fit_margin, fit_margins
from tacit.models.learn.univariate import LeastNorm, fit_least_norm

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
