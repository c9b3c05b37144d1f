"""Any scikit-learn classifier on soft targets, and what noisy labels say about true ones."""

__all__: list[str] = []
