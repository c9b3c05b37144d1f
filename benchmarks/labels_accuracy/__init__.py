"""How accurate a model learned from private labels is: every way of learning, on every set, at every epsilon."""
