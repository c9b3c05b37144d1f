"""What all planned releases cost one label together."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.audit.result import Finding, Total
from tacit.privacy.compose import compose
from tacit.privacy.guarantee import Guarantee, NoGuarantee, Promise, Unit

__all__ = ["add_up"]


def add_up(findings: Iterable[Finding], *, delta: float) -> tuple[Total, ...]:
    """Return the composed promise to one label of each data set, as if all of its releases were made.

    A promise to a record covers its label. One release without a promise leaves none for the whole.

    Parameters
    ----------
    findings
        What was audited.
    delta
        Of the total, where one of the promises has a delta.

    Examples
    --------
    >>> add_up([], delta=1e-6)
    ()
    """
    by_data: dict[str, list[Finding]] = {}
    for finding in findings:
        by_data.setdefault(finding.data, []).append(finding)
    return tuple(Total(data=data, promise=_sum(made, delta), releases=len(made)) for data, made in by_data.items())


def _sum(findings: list[Finding], delta: float) -> Promise:
    promises = [finding.promise for finding in findings]
    unprotected = [finding.setting for finding in findings if not isinstance(finding.promise, Guarantee)]
    if unprotected:
        return NoGuarantee(reason=f"no promise holds for {'; '.join(unprotected)}")
    parts = [promise.for_unit(Unit.LABEL) for promise in promises if isinstance(promise, Guarantee)]
    return compose(parts, delta=delta if any(part.delta for part in parts) else None)
