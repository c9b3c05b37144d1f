"""Learn from released features: Fisher's rules, with the release's noise taken out."""

from tacit.features.learn.fisher import FisherClassifier
from tacit.features.learn.released import learn_release
from tacit.features.learn.rules import Full, Independence, Rule

__all__ = ["FisherClassifier", "Full", "Independence", "Rule", "learn_release"]
