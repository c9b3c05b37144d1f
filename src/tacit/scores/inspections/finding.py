"""The findings of an inspection."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SubmissionFinding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionFinding:
    """One reason to think that a network or a submission was crafted.

    Parameters
    ----------
    check
        The check's name: constant, position, recognition, jump, precision, dead layer for networks; those of
        :func:`inspect_submission` for predictions.
    """

    check: str
    reason: str
    measured: float
    limit: float
