"""Metrics from JSON, strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tacit.privacy.errors import InvalidInput
from tacit.scores.protect.metrics.base import Metric
from tacit.scores.protect.metrics.counts import F1, Auc
from tacit.scores.protect.metrics.numbers import Mae, Rmse
from tacit.scores.protect.metrics.own import OwnMetric
from tacit.scores.protect.metrics.rows import Accuracy, Brier, LogLoss

__all__ = ["METRICS", "metric_from_json"]

METRICS: Mapping[str, type[Metric]] = {kind.name: kind for kind in (LogLoss, Brier, Accuracy, Auc, F1, Rmse, Mae)}
"""The metrics a server offers, by name."""


def metric_from_json(document: Mapping[str, Any], *, own: Mapping[str, OwnMetric] | None = None) -> Metric:
    """Read a metric back; a key too many or too few that has no default is an error.

    Parameters
    ----------
    document
        What :meth:`Metric.to_json` wrote.
    own
        The host's own metrics by name, from whoever runs the server: a function never comes from a document.

    Examples
    --------
    >>> metric_from_json({"metric": "accuracy", "classes": 6})
    Accuracy(classes=6)
    """
    name = document.get("metric")
    if name == "own":
        known = own or {}
        if document.get("name") not in known:
            raise InvalidInput(
                f"name must be one of the server's own metrics {sorted(known)}, got {document.get('name')!r}"
            )
        return known[document["name"]]
    if not isinstance(name, str) or name not in METRICS:
        raise InvalidInput(f"metric must be one of {', '.join([*METRICS, 'own'])}, got {name!r}")
    kind = METRICS[name]
    allowed = {spec.name for spec in fields(kind) if spec.init}  # type: ignore[arg-type]
    given = {key: value for key, value in document.items() if key != "metric"}
    if unknown := set(given) - allowed:
        raise InvalidInput(f"{name} takes {', '.join(sorted(allowed))}, got {', '.join(sorted(map(str, unknown)))}")
    return kind(**given)
