"""An audit in an MLflow run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tacit.leak.tracking import guarantee_parameters, leak_metrics, load_active_run
from tacit.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from tacit.audit import AuditResult, Finding

__all__ = ["log_audit"]


def log_audit(result: AuditResult) -> None:
    """Log every planned release of an audit to the active MLflow run.

    The releases of a surface are called ``labels_1``, ``labels_2`` and so on, in the plan's order. Each has the keys
    of :func:`tacit.leak.log_leak`, its ``utility`` with both ends, ``utility_unprotected``, and the parameters
    ``data``, ``setting`` and ``answer``. The total of the n-th table is ``total_n``. ``audit.json`` holds the whole
    result, for ``tacit audit --against``.

    Names of the data file and its columns, and rates measured without noise, are among what is logged: who may read
    the tracking server must be allowed to know them.
    """
    mlflow = load_active_run()
    metrics: dict[str, float] = {"broken": float(len(result.broken))}
    parameters: dict[str, object] = {"tacit_version": result.version, "seed": result.seed}
    for name, finding in _named(result):
        parameters |= guarantee_parameters(finding.guarantee, name=name)
        parameters |= {f"{name}/data": finding.data, f"{name}/setting": finding.setting}
        parameters[f"{name}/answer"] = finding.answer.value
        metrics |= leak_metrics(finding.leak, name=name) | _utility_metrics(finding, name=name)
    for number, total in enumerate(result.totals, start=1):
        parameters |= {f"total_{number}/data": total.data, f"total_{number}/guarantee": str(total.guarantee)}
        if isinstance(total.guarantee, Guarantee):
            metrics[f"total_{number}/epsilon"] = total.guarantee.epsilon
    mlflow.log_params(parameters)
    mlflow.log_metrics(metrics)
    mlflow.log_dict(result.to_json(), "audit.json")


def _named(result: AuditResult) -> Iterator[tuple[str, Finding]]:
    seen: Counter[str] = Counter()
    for finding in result.findings:
        seen[finding.surface] += 1
        yield f"{finding.surface}_{seen[finding.surface]}", finding


def _utility_metrics(finding: Finding, *, name: str) -> dict[str, float]:
    utility = finding.utility
    return {
        f"{name}/utility": utility.protected,
        f"{name}/utility_low": utility.interval.low,
        f"{name}/utility_high": utility.interval.high,
        f"{name}/utility_unprotected": utility.unprotected,
    }
