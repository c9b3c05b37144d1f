"""A competition from the attacker's side: the attack that fits its rules, against anything that takes submissions."""

from tacit.scores.contest.opponent import Opponent, menu_of

__all__ = ["Opponent", "menu_of"]
