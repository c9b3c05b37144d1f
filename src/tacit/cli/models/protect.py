"""``tacit models protect``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import (
    AsJson,
    ClassList,
    DataSetOfTable,
    Force,
    LedgerAt,
    Seed,
    open_ledger,
    rng_of,
    show_progress,
    warn_if_seeded,
    words_of,
)

if TYPE_CHECKING:
    import torch

    from tacit.cli.models.points import LabelledPoints
    from tacit.models.network import TwoLayerReLU
    from tacit.models.releases.files import ModelRelease
    from tacit.models.training import PrivateModel

__all__ = ["protect"]


BatchSize = Annotated[
    int | None, typer.Option(help="The expected number of records a step. Default: 256, at most a tenth of all.")
]
Scale = Annotated[float, typer.Option(help="Features are divided by this public number, not read off the data.")]


def protect(
    table: Annotated[Path, typer.Argument(metavar="IN", help="A CSV, TSV, Parquet or Arrow file of numeric features.")],
    label: Annotated[str, typer.Option(help="The private label column: two values.")],
    epsilon: Annotated[float, typer.Option(help="The promise for one record, its label included.")],
    delta: Annotated[float, typer.Option(help="The delta of the promise, in (0, 1); well below 1/rows.")],
    out: Annotated[Path, typer.Option(help="The model file: .pt, .safetensors or .onnx.")],
    width: Annotated[int, typer.Option(help="How many hidden neurons; more need more noise in all.")] = 32,
    clip: Annotated[float, typer.Option(help="The largest norm of one record's gradient.")] = 1.0,
    epochs: Annotated[float, typer.Option(help="How often a record is drawn, in expectation.")] = 10.0,
    batch_size: BatchSize = None,
    learning_rate: Annotated[float, typer.Option(help="Of SGD with momentum 0.9.")] = 0.5,
    scale: Scale = 1.0,
    features: Annotated[str, typer.Option(metavar="COL,...", help="Feature columns. Default: all others.")] = "",
    classes: ClassList = "",
    force: Force = False,
    ledger: LedgerAt = None,
    dataset: DataSetOfTable = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Train a two-layer ReLU network by DP-SGD, so that no record shows in it; the ledger pays before the first step.

    Epsilon is for one record replaced by another: the number of records is public. Other tools report the smaller
    number for one record added or removed.

    Example: tacit models protect visits.csv --label ill --epsilon 3 --delta 1e-6 --out model.pt --ledger ledger.db
    """
    from tacit.cli.models.points import read_points
    from tacit.models.releases.files import check_model_path
    from tacit.models.training import train_dp_sgd
    from tacit.privacy.errors import InvalidInput

    check_model_path(out, force=force)
    if not 0 < scale < float("inf"):
        raise InvalidInput(f"--scale must be > 0, got {scale!r}")
    paying = open_ledger(ledger, dataset=dataset)
    points = read_points(table, label=label, features=words_of(features), classes=words_of(classes))
    rng = rng_of(seed)
    module = _module(len(points.features), width, seed=int(rng.integers(2**63)))
    with show_progress("steps") as report:
        made = train_dp_sgd(
            module,
            points.rows / scale,
            points.signs,
            epsilon=epsilon,
            delta=delta,
            clip=clip,
            epochs=epochs,
            batch_size=max(1, min(256, len(points.rows) // 10)) if batch_size is None else batch_size,
            learning_rate=learning_rate,
            rng=rng,
            ledger=paying,
            dataset=dataset,
            table=points.table,
            progress=report,
        )
    release = _release(made, points, label=label, scale=scale)
    release.write(out, force=force)
    if as_json:
        typer.echo(json.dumps(_document(made, release, out, rows=len(points.rows)), indent=1))
    else:
        typer.echo("\n".join(_words(made, release, out)))
    warn_if_seeded(made.seeded)


def _release(made: PrivateModel, points: LabelledPoints, *, label: str, scale: float) -> ModelRelease:
    """Return the model file's content: the network of the features as they are, and what is public about it."""
    from tacit.models.releases.files import ModelRelease

    mechanism = {**made.mechanism, **points.header(label=label), "scale": scale}
    known = () if points.declared else ("which classes occur is public",)
    guarantee = replace(made.guarantee, assumptions=(*made.guarantee.assumptions, *known))
    return ModelRelease.of_network(
        _network(made.module, scale), guarantee=guarantee, mechanism=mechanism, seeded=made.seeded
    )


def _document(made: PrivateModel, release: ModelRelease, out: Path, *, rows: int) -> dict[str, Any]:
    return {
        "path": str(out),
        "rows": rows,
        "guarantee": release.guarantee.to_json(),
        "mechanism": dict(release.mechanism),
        "seeded": made.seeded,
        "charge": made.receipt and made.receipt.id,
    }


def _words(made: PrivateModel, release: ModelRelease, out: Path) -> list[str]:
    from tacit.privacy.guarantee import Guarantee

    assert isinstance(release.guarantee, Guarantee)
    steps, noise = made.mechanism["steps"], made.mechanism["noise"]
    return [
        f"{out}: {release}.",
        f"{steps} steps, noise {noise:.4g} times the clipping norm.",
        f"Assumed: {'; '.join(release.guarantee.assumptions)}.",
        *([f"{made.receipt}."] if made.receipt else []),
    ]


def _module(features: int, width: int, *, seed: int) -> torch.nn.Sequential:
    from tacit.privacy.extras import load_extra
    from tacit.privacy.rounding import check_count

    check_count(width, name="--width")
    load_extra("torch")
    import torch

    torch.manual_seed(seed)
    layers = [torch.nn.Linear(features, width), torch.nn.ReLU(), torch.nn.Linear(width, 1, bias=False)]
    return torch.nn.Sequential(*layers)


def _network(module: torch.nn.Module, scale: float) -> TwoLayerReLU:
    """Return the network of the features as they are: the scale goes into its weights."""
    from tacit.models.network import TwoLayerReLU

    state = {name: value.detach().cpu().double().numpy() for name, value in module.state_dict().items()}
    return TwoLayerReLU(weights=state["0.weight"] / scale, biases=state["0.bias"], outputs=state["2.weight"][0])
