"""The optional package."""

from __future__ import annotations

import importlib
from typing import Any

from tacit.privacy.errors import TacitError

__all__ = ["load_torch"]


def load_torch() -> Any:  # noqa: ANN401
    """Return the module ``torch``, which the core does without.

    Examples
    --------
    >>> load_torch().__name__
    'torch'
    """
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError:
        raise TacitError("the package torch is missing; install it with: pip install 'tacit[torch]'") from None
