"""``tacit models learn``."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import AsJson, Force, rng_of, show_progress, words_of

if TYPE_CHECKING:
    from tacit.cli.models.points import LabelledPoints
    from tacit.models.margin import Certificate
    from tacit.models.network import TwoLayerReLU

__all__ = ["learn"]


class NetworkName(StrEnum):
    """Which network is written."""

    TRAINED = "trained"
    POLISHED = "polished"
    EXACT = "exact"


def learn(
    table: Annotated[Path, typer.Argument(metavar="IN", help="A CSV, TSV, Parquet or Arrow file of numeric features.")],
    label: Annotated[str, typer.Option(help="The label column: two values.")],
    out: Annotated[Path, typer.Option(help="The model file: .pt, .safetensors or .onnx.")],
    width: Annotated[int, typer.Option(help="How many hidden neurons.")] = 1000,
    features: Annotated[str, typer.Option(metavar="COL,...", help="Feature columns. Default: all others.")] = "",
    steps: Annotated[int, typer.Option(help="Gradient steps.")] = 2000,
    initial_scale: Annotated[
        float, typer.Option(help="Norm of the first network: larger ones separate more points, less near the theory.")
    ] = 1e-3,
    network: Annotated[
        NetworkName,
        typer.Option(
            help="Which one to write. trained: by gradients. polished: a KKT point from its activation patterns, which "
            "may be a smaller network. exact: the network of least norm; one feature only."
        ),
    ] = NetworkName.TRAINED,
    force: Force = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run exactly.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a two-layer ReLU network until it is near a KKT point of the margin problem, and certify how near.

    The model carries no guarantee: its weights tell about the rows. The certificate has the stationarity residual, the
    margins of the points and their multipliers, for the network that gradients trained and for the polished one.

    Example: tacit models learn visits.csv --label ill --width 1000 --out model.pt
    """
    from tacit.cli.models.points import read_points
    from tacit.models.releases.files import ModelRelease, check_model_path
    from tacit.privacy.guarantee import NoGuarantee

    check_model_path(out, force=force)
    points = read_points(table, label=label, features=words_of(features))
    if network is NetworkName.EXACT:
        fitted = _fit_exact(points)
    else:
        polished = network is NetworkName.POLISHED
        fitted = _fit(points, width=width, steps=steps, initial_scale=initial_scale, seed=seed, polished=polished)
    mechanism = {"name": "margin", "network": str(network), **points.header(label=label)}
    promise = NoGuarantee(reason="trained to the margin, so its weights tell about the rows")
    made = ModelRelease.of_network(fitted.network, guarantee=promise, mechanism=mechanism, seeded=False)
    made.write(out, force=force)
    if as_json:
        document: dict[str, Any] = {
            "path": str(out),
            "network": str(network),
            "points": len(points.rows),
            "width": fitted.network.width,
            "certificate": _certificate(fitted.certificate),
            "polished_certificate": fitted.polished and _certificate(fitted.polished),
            "shortfall": fitted.shortfall,
            "guarantee": promise.to_json(),
        }
        typer.echo(json.dumps(document, indent=1))
        return
    typer.echo(f"{out}: {made}.")
    typer.echo(f"{'Exact' if network is NetworkName.EXACT else 'Trained'}: {fitted.certificate}.")
    if fitted.polished is not None:
        typer.echo(f"Polished: {fitted.polished}.")
    if fitted.shortfall:
        typer.echo(f"Stopped short: {fitted.shortfall}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """The network to write, and what is certified."""

    network: TwoLayerReLU
    certificate: Certificate
    polished: Certificate | None = None
    shortfall: str | None = None


def _fit(
    points: LabelledPoints, *, width: int, steps: int, initial_scale: float, seed: int | None, polished: bool
) -> _Fitted:
    from tacit.models.margin import fit_margin

    with show_progress("steps") as report:
        fit = fit_margin(
            points.rows,
            points.signs,
            width=width,
            steps=steps,
            initial_scale=initial_scale,
            rng=rng_of(seed),
            report=lambda step: report(step, steps),
        )
    return _Fitted(
        network=fit.best if polished else fit.network,
        certificate=fit.certificate,
        polished=fit.polished_certificate,
        shortfall=fit.shortfall,
    )


def _fit_exact(points: LabelledPoints) -> _Fitted:
    from tacit.models.margin import kkt
    from tacit.models.margin.univariate import fit_least_norm

    network = fit_least_norm(points.rows, points.signs).network
    return _Fitted(network=network, certificate=kkt(network, points.rows, points.signs, slack=1e-6))


def _certificate(certificate: Certificate) -> dict[str, Any]:
    return {
        "residual": certificate.residual,
        "margin": certificate.margin,
        "least_margin": _finite(certificate.least_margin),
        "largest_margin": _finite(certificate.largest_margin),
        "slackness": _finite(certificate.slackness),
        "feasible": bool(certificate.feasible),
        "kinks": certificate.kinks,
        "tolerance": certificate.tolerance,
        "multipliers": certificate.multipliers.tolist(),
    }


def _finite(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if math.isfinite(value) else None
