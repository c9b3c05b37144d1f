"""Run the surfaces, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from tacit import __version__
from tacit.audit.bags import audit_bags
from tacit.audit.features import audit_features
from tacit.audit.labels import audit_labels
from tacit.audit.result import AuditResult, Finding
from tacit.audit.scores import audit_scores
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import system_rng

__all__ = ["SURFACES", "run_audit"]


class _Audit(Protocol):
    def __call__(self, *, rng: np.random.Generator, progress: Callable[[str], None]) -> Iterator[Finding]: ...


SURFACES: dict[str, _Audit] = {
    "bags": audit_bags,
    "features": audit_features,
    "labels": audit_labels,
    "scores": audit_scores,
}
"""The surfaces that can be audited, by name."""


def run_audit(
    *, only: Sequence[str] = (), seed: int | None = None, progress: Callable[[str], None] = lambda _: None
) -> AuditResult:
    """Audit the bundled data on every surface, or on some.

    Parameters
    ----------
    only
        Names of surfaces; none means all.
    seed
        Makes the run repeatable.
    progress
        Called with what is being done.

    Examples
    --------
    >>> run_audit(only=["moon"])
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: only must name surfaces among bags, features, labels, scores, got moon
    """
    unknown = [name for name in only if name not in SURFACES]
    if unknown:
        raise InvalidInput(f"only must name surfaces among {', '.join(SURFACES)}, got {', '.join(unknown)}")
    findings: list[Finding] = []
    for name, audit in SURFACES.items():
        if only and name not in only:
            continue
        rng = system_rng() if seed is None else np.random.default_rng(seed)
        findings.extend(audit(rng=rng, progress=progress))
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return AuditResult(findings=tuple(findings), version=__version__, date=date, seed=seed)
