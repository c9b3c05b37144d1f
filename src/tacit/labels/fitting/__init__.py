"""Any scikit-learn classifier on soft targets, and the posterior of true labels given noisy ones."""

__all__: list[str] = []
