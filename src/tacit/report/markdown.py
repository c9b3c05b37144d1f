"""A short summary of one audit result in Markdown, where a page does not fit: draws, never computes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tacit.audit import AuditResult, judge

__all__ = ["render_summary"]

_COLUMNS = ("surface", "what is released", "guarantee", "hand it out?", "reason", "utility")
_MARKUP = re.compile(r"[\\`*_\[\]|~$<>&@]|:(?=\S)|(?<=www)\.", re.IGNORECASE)  # addresses become links by themselves


def render_summary(result: AuditResult, *, faults: Sequence[str] = ()) -> str:
    """Return a table of the planned releases, and why the run fails, in GitHub's Markdown.

    Names from the user's data are text: no markup in them has an effect.

    Parameters
    ----------
    faults
        Why the run fails, from :func:`tacit.audit.faults`.
    """
    lines = ["### What your data reveals", ""]
    notes = [f"- **Failed:** {_text(fault)}." for fault in faults]
    notes += [f"- **Skipped:** {_text(skipped.surface)}: {_text(skipped.reason)}." for skipped in result.skipped]
    lines += [*notes, ""] if notes else []
    lines += [_row(_COLUMNS), _row(["---"] * len(_COLUMNS)), *_rows(result), ""]
    lines += [f"- {_text(f'{joint.name}: {joint.answer}. {joint.reason}')}" for joint in result.together]
    lines += [f"- {_text(str(total))}." for total in result.totals]
    lines += [] if result.ledger is None else [f"- {_text(str(result.ledger))}."]
    if result.findings:
        verdict = judge(result)
        lines += [f"- {_text(f'{verdict.headline} {verdict.told}')}"]
        lines += [f"- What to do: {_text(verdict.action)}"] if verdict.action else []
        lines += [""]
    return "\n".join(lines)


def _rows(result: AuditResult) -> Iterator[str]:
    for finding in result.findings:
        utility = finding.utility
        yield _row(
            [
                finding.surface,
                _text(finding.setting),
                "none" if finding.epsilon is None else _text(str(finding.guarantee)),
                finding.answer.value,
                _text(finding.reason),
                f"{utility.protected:.1%} of {utility.unprotected:.1%}",
            ]
        )


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(words: str) -> str:
    return _MARKUP.sub(lambda mark: f"&#{ord(mark.group())};", " ".join(words.split()))
