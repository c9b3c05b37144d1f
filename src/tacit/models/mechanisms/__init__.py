"""The ways of training a model; each is one object that a plan names."""

from tacit.models.mechanisms.dp_sgd import DpSgd
from tacit.models.mechanisms.early_stop import EarlyStop
from tacit.models.mechanisms.label_private import LabelPrivateTraining
from tacit.models.mechanisms.margin import MarginMechanism
from tacit.models.mechanisms.plain import PlainTraining

__all__ = ["DpSgd", "EarlyStop", "LabelPrivateTraining", "MarginMechanism", "PlainTraining"]
