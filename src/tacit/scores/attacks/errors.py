"""Errors that stop an attack."""

from __future__ import annotations

from tacit.privacy.errors import TacitError

__all__ = ["InconsistentAnswer", "OracleError"]


class OracleError(TacitError):
    """The host did not answer a query with a number; the message has the answer."""


class InconsistentAnswer(OracleError):
    """No labels give the answer that came under the planned metric, rounding and noise."""

    def __init__(self) -> None:
        super().__init__("no labels give this score: check metric, rounding, noise and number of rows")
