"""Submissions that are models: networks that answer with chosen predictions (Appendix G), and how to find them."""

from papers.score_attacks.networks.inspection import NetworkInspection, inspect_network
from papers.score_attacks.networks.network import LinearLayer, MutatorNetwork
from papers.score_attacks.networks.row_hash import RowHash

__all__ = ["LinearLayer", "MutatorNetwork", "NetworkInspection", "RowHash", "inspect_network"]
