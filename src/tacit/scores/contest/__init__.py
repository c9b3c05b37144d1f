"""A competition from the attacker's side: the attack that fits its rules, against anything that takes submissions."""
