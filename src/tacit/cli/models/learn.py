"""``tacit models learn``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import AsJson, Force, rng_of, show_progress, words_of

if TYPE_CHECKING:
    from tacit.models.learn import Certificate

__all__ = ["learn"]


def learn(
    table: Annotated[Path, typer.Argument(metavar="IN", help="A CSV, TSV, Parquet or Arrow file of numeric features.")],
    label: Annotated[str, typer.Option(help="The label column: two values.")],
    width: Annotated[int, typer.Option(help="How many hidden neurons.")],
    out: Annotated[Path, typer.Option(help="The model file: .pt, .safetensors or .onnx.")],
    features: Annotated[str, typer.Option(metavar="COL,...", help="Feature columns. Default: all others.")] = "",
    steps: Annotated[int, typer.Option(help="Gradient steps.")] = 2000,
    polished: Annotated[
        bool,
        typer.Option("--polished", help="Write the polished network, which is at a KKT point but may be another one."),
    ] = False,
    force: Force = False,
    seed: Annotated[int | None, typer.Option(help="Repeat a run exactly.")] = None,
    as_json: AsJson = False,
) -> None:
    """Train a two-layer ReLU network until it is near a KKT point of the margin problem, and certify how near.

    The model carries no guarantee: its weights tell about the rows. The certificate has the stationarity residual, the
    margins of the points and their multipliers, for the network that gradients trained and for the polished one.

    Example: tacit models learn visits.csv --label ill --width 1000 --out model.pt
    """
    from tacit.cli.models.points import read_points
    from tacit.models.files import ModelRelease, check_model_path
    from tacit.models.learn import fit_margin
    from tacit.privacy.guarantee import NoGuarantee

    check_model_path(out, force=force)
    points = read_points(table, label=label, features=words_of(features))
    with show_progress("steps") as report:
        fit = fit_margin(
            points.rows,
            points.signs,
            width=width,
            steps=steps,
            rng=rng_of(seed),
            report=lambda step: report(step, steps),
        )
    mechanism = {
        "name": "margin",
        "label": label,
        "features": list(points.features),
        "classes": [str(value) for value in points.classes],
        "polished": polished,
    }
    promise = NoGuarantee(reason="trained to the margin, so its weights tell about the rows")
    network = fit.best if polished else fit.network
    made = ModelRelease.of_network(network, guarantee=promise, mechanism=mechanism, seeded=False)
    made.write(out, force=force)
    if as_json:
        document: dict[str, Any] = {
            "path": str(out),
            "points": len(points.rows),
            "width": network.width,
            "certificate": _certificate(fit.certificate),
            "polished_certificate": fit.polished_certificate and _certificate(fit.polished_certificate),
            "written": "polished" if polished else "trained",
            "shortfall": fit.shortfall,
            "guarantee": promise.to_json(),
        }
        typer.echo(json.dumps(document, indent=1))
        return
    typer.echo(f"{made} in {out}.")
    typer.echo(f"Trained: {fit.certificate}.")
    if fit.polished_certificate is not None:
        typer.echo(f"Polished: {fit.polished_certificate}.")
    if fit.shortfall:
        typer.echo(f"Stopped short: {fit.shortfall}.")


def _certificate(certificate: Certificate) -> dict[str, Any]:
    import math

    slackness = certificate.slackness
    return {
        "residual": certificate.residual,
        "margin": certificate.margin,
        "least_margin": certificate.least_margin,
        "largest_margin": certificate.largest_margin,
        "slackness": slackness if math.isfinite(slackness) else None,
        "feasible": bool(certificate.feasible),
        "kinks": certificate.kinks,
        "tolerance": certificate.tolerance,
        "multipliers": certificate.multipliers.tolist(),
    }
