"""``tacit models attack``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import AsJson, rng_of, show_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.leak import Leak
    from tacit.models.releases.files import ModelRelease

__all__ = ["attack"]


def attack(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="A model file: .pt, .safetensors or .onnx.")
    ] = None,
    members: Annotated[Path | None, typer.Option(help="A table of rows that the model was trained on.")] = None,
    nonmembers: Annotated[
        Path | None,
        typer.Option(help="A table of rows like them that it was not; those equal to a member are left out."),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The label column of these tables, if any. Default: the one the model names.")
    ] = None,
    losses: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="IN OUT",
            help="In place of a model: two tables of one loss a row, of rows trained on and of others.",
        ),
    ] = None,
    reconstruct: Annotated[bool, typer.Option("--reconstruct", help="Read training points off the weights.")] = False,
    margin: Annotated[
        float | None,
        typer.Option(help="The margin, where the attacker knows it. Default: the members' own, or what explains most."),
    ] = None,
    points: Annotated[int, typer.Option(help="How many points of each label --reconstruct looks for.")] = 10,
    steps: Annotated[int, typer.Option(help="Steps of that search.")] = 2000,
    black_box: Annotated[
        bool, typer.Option("--black-box", help="Ask an .onnx model for outputs alone, whatever is in it.")
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run exactly.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure what a model tells about the rows it was trained on.

    Membership: rows at the margin of a homogeneous two-layer ReLU network were trained on; "covered" says whether that
    is proved for these rows at an exact KKT point, expected, or neither. There all members lie at 1 margin; where they
    lie here stands beside it. The span of the weights is tried too, and where both tables have labels a threshold on
    the loss. Losses, of a model of any kind: a low loss says "trained on", the score is minus the loss; further columns
    of the two tables are losses of models that did not see the row (LiRA, offline).
    Reconstruction: training points from the weights alone.

    Example: tacit models attack model.pt --members visits.csv --nonmembers later.csv

    Example: tacit models attack --losses in.csv out.csv

    Example: tacit models attack model.pt --reconstruct --json
    """
    _check_asked(model, members, nonmembers, losses, reconstruct=reconstruct)
    if losses is not None:
        document, text = _attack_losses(*losses, seed=seed)
    elif model is not None and reconstruct:
        document, text = _reconstruct(model, margin=margin, points=points, steps=steps, seed=seed)
    else:
        assert model is not None
        assert members is not None
        assert nonmembers is not None
        document, text = _attack_rows(
            model, members, nonmembers, label=label, margin=margin, black_box=black_box, seed=seed
        )
    typer.echo(json.dumps(document, indent=1) if as_json else text)


def _check_asked(
    model: Path | None,
    members: Path | None,
    nonmembers: Path | None,
    losses: tuple[Path, Path] | None,
    *,
    reconstruct: bool,
) -> None:
    from tacit.privacy.errors import InvalidInput

    asked = [losses is not None, reconstruct, members is not None or nonmembers is not None]
    if sum(asked) != 1:
        raise InvalidInput("ask for one of --members with --nonmembers, --losses, --reconstruct")
    if (model is None) == (losses is None):
        raise InvalidInput("give a model file, or --losses in place of one")
    if asked[2] and (members is None or nonmembers is None):
        raise InvalidInput("--members and --nonmembers must stand together: a rate needs its baseline")


def _measures(leak: Leak) -> dict[str, Any]:
    assert leak.roc is not None
    return {
        "auc": leak.roc.auc,
        "tpr_at_0.1%_fpr": leak.roc.at_0_1_percent.tpr,
        "advantage": leak.advantage,
        "advantage_interval": leak.advantage_interval.to_json(),
    }


def _attack_losses(inside: Path, outside: Path, *, seed: int | None) -> tuple[dict[str, Any], str]:
    import numpy as np

    from tacit.cli.models.points import read_features
    from tacit.models.attacks import OfflineLira, Pooled, Shadows, attack_confidence, attack_losses
    from tacit.models.attacks import confidence_from_losses as confidence_of
    from tacit.privacy.errors import InvalidInput

    tables = [read_features(path, features=None, label=None)[0] for path in (inside, outside)]
    if tables[0].shape[1] != tables[1].shape[1]:
        raise InvalidInput(
            f"--losses must name tables of the same columns, got {tables[0].shape[1]} and {tables[1].shape[1]}"
        )
    if tables[0].shape[1] == 1:
        leak = attack_losses(tables[0][:, 0], tables[1][:, 0], rng=rng_of(seed))
        name = "loss threshold"
    else:
        member = np.repeat([True, False], [len(part) for part in tables])
        f = np.column_stack([confidence_of(column) for column in np.concatenate(tables).T])
        shadows = Shadows(confidence=f[:, 1:].T, member=np.zeros(f[:, 1:].T.shape, dtype=bool))
        spread = {"spread": Pooled()} if shadows.models < 64 else {}
        leak = attack_confidence(f[:, 0], member, attack=OfflineLira(shadows=shadows, **spread), rng=rng_of(seed))
        name = f"LiRA, offline, {shadows.models} models"
    document = {"attack": name, **_measures(leak), "margin": None, "covered": None, "leak": leak.to_json()}
    return document, f"{name}: {leak}\nAUC {document['auc']:.4f}, {leak.roc and leak.roc.at_0_1_percent}."


def _attack_rows(
    path: Path,
    members: Path,
    nonmembers: Path,
    *,
    label: str | None,
    margin: float | None,
    black_box: bool,
    seed: int | None,
) -> tuple[dict[str, Any], str]:
    import numpy as np

    from tacit.cli.models.points import not_shared, read_features
    from tacit.models.attacks import KnownMargin, attack_margin
    from tacit.models.releases.files import read_model
    from tacit.models.releases.formats import NETWORK

    found = read_model(path)
    ask, network = _model(path, found, black_box=black_box)
    label = label or found.mechanism.get("label")
    features = found.mechanism.get("features")
    inside, labels = read_features(members, features=features, label=label)
    outside, other_labels = read_features(nonmembers, features=features, label=label)
    kept = not_shared(inside, outside)
    outside, other_labels = outside[kept], None if other_labels is None else other_labels[kept]
    rule = None if margin is None else KnownMargin(margin=margin)
    told = attack_margin(ask, inside, outside, rule=rule, labels=labels)
    # what is proved is about networks of one kind: a black box of another kind may well look like it
    covered = str(told.coverage) if network is not None or found.architecture == NETWORK else "not covered"
    measures = _measures(told.leak)
    largest = float(np.abs(ask(inside)).max()) / told.margin
    document = {
        **measures,
        "margin": told.margin,
        "largest_margin": largest,
        "covered": covered,
        "members": len(inside),
        "nonmembers": len(outside),
        "shared": int((~kept).sum()),
        "guarantee": found.guarantee.to_json(),
        "leak": told.leak.to_json(),
    }
    there = f" at an exact KKT point, where all members lie at 1 margin; here they lie at 1 to {largest:.6g}"
    lines = [
        f"{found}.",
        f"Margin {told.margin:.6g}: {told.leak}",
        f"AUC {measures['auc']:.4f}, {told.leak.roc and told.leak.roc.at_0_1_percent}.",
        f"Theory: {covered}{'' if covered == 'not covered' else there}.",
    ]
    if not kept.all():
        lines.insert(1, f"{(~kept).sum()} of {len(kept)} rows of {nonmembers.name} equal a member and were left out.")
    if min(len(inside), len(outside)) > 1:
        for key, name, leak in _other_attacks(
            found, ask, network, (inside, labels), (outside, other_labels), seed=seed
        ):
            document[key] = {**_measures(leak), "leak": leak.to_json()}
            lines.append(f"{name}: {leak}")
    return document, "\n".join(lines)


def _other_attacks(
    found: ModelRelease,
    ask: Callable[[NDArray[np.float64]], Any],
    network: Any,  # noqa: ANN401
    members: tuple[NDArray[np.float64], NDArray[Any] | None],
    nonmembers: tuple[NDArray[np.float64], NDArray[Any] | None],
    *,
    seed: int | None,
) -> Iterator[tuple[str, str, Leak]]:
    """Yield what the labels and the weights tell, where they are at hand."""
    from tacit.models.attacks import attack_losses, attack_weights

    (inside, labels), (outside, other_labels) = members, nonmembers
    if labels is not None and other_labels is not None:
        classes = found.mechanism.get("classes")
        losses = _losses(ask(inside), labels, classes), _losses(ask(outside), other_labels, classes)
        yield "losses", "Loss threshold", attack_losses(*losses, rng=rng_of(seed))
    if network is not None:
        yield "weights", "Span of the weights", attack_weights(network, inside, outside, rng=rng_of(seed))


def _losses(outputs: Any, labels: NDArray[Any], classes: list[str] | None) -> NDArray[np.float64]:  # noqa: ANN401
    """Return the logistic loss of each row; the second class is +1."""
    import numpy as np

    from tacit.privacy.errors import InvalidInput

    words = [str(label) for label in labels.tolist()]
    known = sorted(set(words)) if classes is None else classes
    if len(known) != 2 or not set(words) <= set(known):
        raise InvalidInput(f"labels must be of two classes, here {', '.join(known[:4])}, got {words[0]!r} and others")
    signs = np.where(np.array(words) == known[1], 1.0, -1.0)
    return np.asarray(np.logaddexp(0.0, -signs * np.asarray(outputs, dtype=np.float64).reshape(len(signs))))


def _model(path: Path, found: ModelRelease, *, black_box: bool) -> tuple[Callable[[NDArray[np.float64]], Any], Any]:
    from tacit.models.releases.onnx_graph import open_onnx
    from tacit.privacy.errors import InvalidInput

    if not black_box:
        return found.network, found.network
    if path.suffix != ".onnx":
        raise InvalidInput(f"--black-box must stand with an .onnx model, which can be run, got {path.name}")
    return open_onnx(path), None


def _reconstruct(
    path: Path, *, margin: float | None, points: int, steps: int, seed: int | None
) -> tuple[dict[str, Any], str]:
    from tacit.models.attacks import reconstruct_points
    from tacit.models.attacks.univariate.reconstruction import reconstruct_univariate
    from tacit.models.releases.files import read_model
    from tacit.privacy.errors import InvalidInput

    network = read_model(path).network
    if network.dimension == 1:
        one = reconstruct_univariate(network, margin=margin)
        return one.to_json(), f"{one}\n" + "\n".join(
            f"{x:.9g} ({y:+d})" for x, y in zip(one.points, one.labels, strict=True)
        )
    if margin is not None:
        raise InvalidInput(
            "--margin must stand with --members, or with --reconstruct of a model of one feature, got a model of "
            f"{network.dimension}: there the search takes it from the weights"
        )
    with show_progress("steps") as report:
        many = reconstruct_points(
            network, points=points, steps=steps, rng=rng_of(seed), report=lambda step: report(step, steps)
        )
    document = {
        "points": many.points.tolist(),
        "labels": many.labels.tolist(),
        "multipliers": many.multipliers.tolist(),
        "residual": many.residual,
        "margin_error": many.margin_error,
        "spread": many.spread if math.isfinite(many.spread) else None,
        "trusted": False,
    }
    return document, (
        f"{len(many.points)} points found, stationarity residual {many.residual:.3g}, spread over the starts "
        f"{many.spread:.3g}. Not to be trusted without a prior: far-off points can satisfy the same equations."
    )
