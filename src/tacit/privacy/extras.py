"""Optional packages, imported where they are first needed."""

from __future__ import annotations

import importlib
from typing import Any, Literal

from tacit.privacy.errors import MissingExtra

__all__ = ["load_extra"]


def load_extra(
    package: str, *, extra: Literal["torch", "server", "spark", "postgres", "excel", "images", "text"] = "torch"
) -> Any:  # noqa: ANN401
    """Import a package of an optional extra, or raise with the command that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise MissingExtra(f"the package {package} is missing; install it with: pip install 'tacit[{extra}]'") from None
