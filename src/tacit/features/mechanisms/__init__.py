"""What a release of features can be; importing this loads neither NumPy nor Arrow."""

from tacit.features.mechanisms.named import RowMechanism, TotalsMechanism

__all__ = ["RowMechanism", "TotalsMechanism"]
