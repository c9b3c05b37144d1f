"""Errors that stop an attack, with the labels recovered by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.privacy.errors import TacitError

if TYPE_CHECKING:
    from tacit.scores.attacks.outcome import RecoveredLabels

__all__ = ["AttackStopped", "InconsistentAnswer", "OracleError"]


class OracleError(TacitError):
    """The host did not answer a query with a number; the message has the answer."""


class InconsistentAnswer(OracleError):
    """No labels give the answer that came under the planned metric, rounding and noise."""

    def __init__(self) -> None:
        super().__init__("no labels give this score: check metric, rounding, noise and number of rows")


class AttackStopped(TacitError):
    """The attack ended early; ``outcome`` holds the labels recovered so far."""

    def __init__(self, message: str, *, outcome: RecoveredLabels) -> None:
        super().__init__(message)
        self.outcome = outcome
