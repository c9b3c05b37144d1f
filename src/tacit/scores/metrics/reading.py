"""Metrics by name, and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.privacy.errors import InvalidInput
from tacit.scores.choices import choice_from_json
from tacit.scores.metrics.accuracy import Accuracy
from tacit.scores.metrics.auc import Auc
from tacit.scores.metrics.base import Metric
from tacit.scores.metrics.errors import Mae, Rmse
from tacit.scores.metrics.f1 import F1
from tacit.scores.metrics.own import Own
from tacit.scores.metrics.probabilities import Brier, LogLoss

__all__ = ["METRICS", "metric_from_json"]

METRICS: Mapping[str, type[Metric]] = {kind.name: kind for kind in (LogLoss, Brier, Accuracy, Auc, F1, Rmse, Mae)}
"""The metrics a host may choose, by name."""


def metric_from_json(document: Mapping[str, Any], *, own: Mapping[str, Own] | None = None) -> Metric:
    """Read what :meth:`Metric.to_document` wrote; an unknown key is an error.

    Parameters
    ----------
    document
        The metric's name under ``metric``, and its parameters.
    own
        The host's own metrics by name, from whoever runs the server: a function never comes from a document.

    Examples
    --------
    >>> metric_from_json({"metric": "accuracy", "classes": 6})
    Accuracy(classes=6)
    """
    if document.get("metric") != "own":
        return choice_from_json(document, METRICS, kind="metric", also=("own",))
    known = own or {}
    if document.get("name") not in known:
        raise InvalidInput(
            f"must be one of the server's own metrics {sorted(known)}, got {document.get('name')!r}", field="name"
        )
    return known[document["name"]]
