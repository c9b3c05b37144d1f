"""The ways of training a model; each is one object that a plan names."""

from tacit.models.mechanisms.dp_sgd import DpSgd
from tacit.models.mechanisms.early_stop import EarlyStop
from tacit.models.mechanisms.label_private import LabelPrivate
from tacit.models.mechanisms.margin import Margin
from tacit.models.mechanisms.plain import Plain

__all__ = ["DpSgd", "EarlyStop", "LabelPrivate", "Margin", "Plain"]
