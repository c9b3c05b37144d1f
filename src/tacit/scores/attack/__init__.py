"""Attack: every label from a few scores."""
from tacit.scores.attack.answers import Answers, Bounded, Exact, GaussianNoise, LaplaceNoise, RandomNoise, Rounded
