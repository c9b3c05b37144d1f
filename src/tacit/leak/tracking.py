"""A leak and its guarantee in an MLflow run: metrics to plot, parameters to search by, the whole as an artifact."""

from __future__ import annotations

import importlib
from typing import Any

from tacit.leak.measure import Leak
from tacit.privacy.errors import InvalidInput, MissingExtra
from tacit.privacy.guarantee import AnyGuarantee, Guarantee

__all__ = ["guarantee_parameters", "leak_metrics", "load_active_run", "log_leak"]


def log_leak(leak: Leak, *, guarantee: AnyGuarantee | None = None, name: str = "leak") -> None:
    """Log an attack's result and the guarantee to the active MLflow run.

    Metrics and parameters are called ``name/...``; ``name.json`` holds both whole, for
    :meth:`tacit.leak.Leak.from_json`. MLflow does not change a parameter once it is logged: give a second guarantee of
    the same run another name.

    The rates are measured on private data without noise. They are no private release: only people who may know them
    should be able to read the tracking server.
    """
    mlflow = load_active_run()
    mlflow.log_params(guarantee_parameters(guarantee, name=name))
    mlflow.log_metrics(leak_metrics(leak, name=name))
    document = {"leak": leak.to_json(), "guarantee": None if guarantee is None else guarantee.to_json()}
    mlflow.log_dict(document, f"{name}.json")


def leak_metrics(leak: Leak, *, name: str) -> dict[str, float]:
    """Return a leak's numbers, each with the ends of its interval."""
    metrics = {
        "rate": leak.rate,
        "rate_low": leak.interval.low,
        "rate_high": leak.interval.high,
        "baseline": leak.baseline,
        "advantage": leak.advantage,
        "advantage_low": leak.advantage_interval.low,
        "advantage_high": leak.advantage_interval.high,
        "trials": float(leak.trials),
    }
    if leak.bound is not None:  # no bound is not a bound of 0
        metrics["epsilon_lower_bound"] = leak.bound.value
    return {f"{name}/{key}": value for key, value in metrics.items()}


def guarantee_parameters(guarantee: AnyGuarantee | None, *, name: str) -> dict[str, Any]:
    """Return the guarantee: unit, epsilon, delta, rows, mechanism; or why there is none."""
    if guarantee is None:
        return {}
    parameters: dict[str, Any] = {"guarantee": str(guarantee)}
    if isinstance(guarantee, Guarantee):
        parameters |= {
            "unit": str(guarantee.unit),
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "rows": guarantee.rows,
            "mechanism": "unstated" if guarantee.loss is None else guarantee.loss.kind,
        }
    return {f"{name}/{key}": value for key, value in parameters.items()}


def load_active_run() -> Any:  # noqa: ANN401
    """Return the package mlflow, or raise if it is missing or no run is active.

    MLflow itself would start a run at its default location; measured leaks must go only where the user sends them.
    """
    try:
        mlflow = importlib.import_module("mlflow")
    except ImportError:
        raise MissingExtra("the package mlflow is missing; install it with: pip install mlflow-skinny") from None
    if mlflow.active_run() is None:
        raise InvalidInput("an MLflow run must be active; call this inside: with mlflow.start_run():")
    return mlflow
