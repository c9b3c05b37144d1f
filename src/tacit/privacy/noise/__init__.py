"""Noise and its privacy cost: exact integer samplers, and the generator they draw from."""

from tacit.privacy.loss.curve import gaussian_scale
from tacit.privacy.noise.choice import WeightedChoice, keep_coin, keep_or_switch, max_log_ratio, max_ratio
from tacit.privacy.noise.coin import BiasedCoin, ExpCoin, flip_each
from tacit.privacy.noise.concentrated import zcdp_delta, zcdp_epsilon, zcdp_rho
from tacit.privacy.noise.coordinates import CoordinateNoise
from tacit.privacy.noise.entropy import SystemGenerator, is_seeded, system_rng
from tacit.privacy.noise.gaussian import DiscreteGaussian
from tacit.privacy.noise.grid import NoiseGrid
from tacit.privacy.noise.laplace import DiscreteLaplace
from tacit.privacy.noise.response import randomize_codes, response_matrix

__all__ = [
    "BiasedCoin",
    "CoordinateNoise",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExpCoin",
    "NoiseGrid",
    "SystemGenerator",
    "WeightedChoice",
    "flip_each",
    "gaussian_scale",
    "is_seeded",
    "keep_coin",
    "keep_or_switch",
    "max_log_ratio",
    "max_ratio",
    "randomize_codes",
    "response_matrix",
    "system_rng",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
