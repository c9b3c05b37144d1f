"""What several releases of one table leak together."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.audit.answer import ReleaseState
from tacit.audit.checked_guarantee import CheckedGuarantee, explain

__all__ = ["REFUSED", "JointFinding"]

REFUSED = "it must not be handed out by itself"
"""Why a release is left out of those that may still be handed out together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFinding(CheckedGuarantee):
    """The releases of one table whose attacks guess labels of the same rows, attacked one after the other.

    Parameters
    ----------
    releases
        The releases, in the order in which they were attacked.
    left_out
        The other releases of the table, each with the reason.
    alone, reason_alone
        The most harmful state of one of the releases by itself, and its reason; set by the run.
    """

    releases: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    alone: ReleaseState = ReleaseState.BELOW
    reason_alone: str = ""

    @property
    def state(self) -> ReleaseState:
        """What decides: an attacker may ignore the other releases, so one with a worse answer by itself does."""
        worst = min(self.measured, self.alone, key=lambda state: state.harm)
        return self.measured if worst.answer is self.measured.answer else worst

    @property
    def reason(self) -> str:
        """Why they may all be handed out or not, one sentence."""
        return self.reason_alone if self.state is not self.measured else explain(self)

    @property
    def name(self) -> str:
        """What is released, in words."""
        if any(why == REFUSED for _, why in self.left_out):
            return f"the other {len(self.releases)} releases of {self.data} together"
        return f"all {len(self.releases)} releases of {self.data} together"
