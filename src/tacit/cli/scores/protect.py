"""``tacit scores protect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import (
    AsJson,
    ClassList,
    DataSet,
    Force,
    LedgerAt,
    RowsPerPerson,
    Seed,
    check_out,
    open_ledger,
    rng_of,
    warn_if_seeded,
    words_of,
)
from tacit.cli.scores.tables import (
    NOT_PROTECTED,
    LabelColumn,
    LabelFile,
    MetricOption,
    Truth,
    read_predictions,
    read_truth,
)

if TYPE_CHECKING:
    from tacit.privacy.ledger import Receipt
    from tacit.privacy.release import Release
    from tacit.scores.metrics import Metric
    from tacit.scores.policies import Policy

__all__ = ["protect"]


Predictions = Annotated[
    Path,
    typer.Argument(
        metavar="PREDICTIONS",
        help="A CSV, TSV, Parquet or Arrow file: id if the labels have it, and one column, or one for each class.",
    ),
]
PolicyOption = Annotated[
    str,
    typer.Option(
        metavar="NAME[:KEY=NUMBER]",
        help="laplace, noise of --epsilon; rounded (decimals) or exact, which promise nothing.",
    ),
]


def protect(
    predictions: Predictions,
    labels: LabelFile,
    label: LabelColumn = None,
    metric: MetricOption = "log_loss",
    epsilon: Annotated[
        float | None, typer.Option(help="The promise for one label, read as the decimal you type; for laplace.")
    ] = None,
    policy: PolicyOption = "laplace",
    classes: ClassList = "",
    rows_per_person: RowsPerPerson = 1,
    out: Annotated[Path | None, typer.Option(help="Write the release to this JSON file as well.")] = None,
    force: Force = False,
    ledger: LedgerAt = None,
    dataset: DataSet = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Score a file of predictions, and let only a guarded score leave.

    Each run is another score, with its own noise and its own charge: without a ledger nobody counts them. Classes are
    predicted by their names, as they stand in the labels; columns of probabilities are in the order of the classes, or
    named by them. For a competition of many submissions there is tacit serve.

    Example: tacit scores protect predictions.csv --labels truth.csv --label ill --metric log_loss --epsilon 0.1

    Example: tacit scores protect p.csv --labels y.csv --metric auc:class_floor=500 --epsilon 0.5 --ledger ledger.db
    """
    from tacit.privacy.guarantee import Guarantee
    from tacit.privacy.noise import is_seeded
    from tacit.privacy.release import Release
    from tacit.scores.choices import choice_from_words

    chosen = _policy(policy, epsilon, ledger)
    if out is not None:
        check_out(out, labels, predictions, written="JSON", force=force)
    paying = open_ledger(ledger, dataset=dataset)
    truth = read_truth(labels, label=label, metric=choice_from_words(metric, kind="metric"), classes=words_of(classes))
    measured = truth.metric.measure(truth.labels, read_predictions(predictions, truth=truth))
    chosen.check(truth.metric, rows=measured.rows)
    promise = truth.promise(chosen, rows_per_person=rows_per_person)
    mechanism = _mechanism(chosen, truth, rows=measured.rows)  # noise that cannot be drawn is refused before the charge
    rng, purpose = rng_of(seed), f"{truth.metric.name} score by {chosen.kind}"
    receipt = truth.charge(promise, ledger=paying, dataset=dataset, purpose=purpose)
    answer = chosen.release(measured, state={}, rng=rng)
    release = Release(
        value={"score": answer.released, "text": answer.text},
        guarantee=promise,
        surface="scores",
        mechanism=mechanism,
        seeded=is_seeded(rng) and isinstance(promise, Guarantee),
    )
    if out is not None:
        release.write(out, force=force)
    text = _document(release, receipt, out) if as_json else _words(release, truth.metric, receipt, out)
    typer.echo(text)
    warn_if_seeded(release.seeded)


def _policy(text: str, epsilon: float | None, ledger: str | None) -> Policy:
    from tacit.privacy.errors import InvalidInput
    from tacit.scores.choices import choice_from_words
    from tacit.scores.policies import Exact, Laplace, Rounded, policy_from_json

    document = choice_from_words(text, kind="policy")
    private = document["policy"] == Laplace.kind
    if epsilon is not None:
        if not private or "epsilon" in document:
            raise InvalidInput(f"--epsilon must stand with --policy laplace and be said once, got --policy {text}")
        document["epsilon"] = epsilon
    if private and "epsilon" not in document:
        raise InvalidInput("--epsilon must be given: it is the promise for one label, such as 0.1")
    policy = policy_from_json(document)
    if not isinstance(policy, Laplace | Exact | Rounded):
        raise InvalidInput(
            f"--policy must be laplace, rounded or exact for a single score, got {policy.kind}: it remembers a team's "
            "earlier scores, as tacit serve does"
        )
    if ledger is not None and not private:
        raise InvalidInput(f"--ledger must stand with --policy laplace: {policy.kind} has no promise to charge for")
    return policy


def _mechanism(policy: Policy, truth: Truth, *, rows: int) -> dict[str, Any]:
    from tacit.scores.policies import Laplace

    said = {key: value for key, value in policy.to_json().items() if key != "policy"}
    noise = {"noise_scale": policy.scale(truth.metric, rows=rows)} if isinstance(policy, Laplace) else {}
    return {"name": policy.kind, **said, **noise, "metric": truth.metric.to_json(), "rows": rows}


def _document(release: Release, receipt: Receipt | None, out: Path | None) -> str:
    document = {
        "path": out and str(out),
        "score": release.value["score"],
        "text": release.value["text"],
        "guarantee": release.guarantee.to_json(),
        "not_protected": _open_to_all(release),
        "mechanism": dict(release.mechanism),
        "seeded": release.seeded,
        "charge": receipt and receipt.id,
    }
    return json.dumps(document, indent=1)


def _words(release: Release, metric: Metric, receipt: Receipt | None, out: Path | None) -> str:
    from tacit.privacy.guarantee import Guarantee

    said = release.mechanism
    order = "lower" if metric.lower_is_better else "higher"
    title = metric.title[0].upper() + metric.title[1:]
    lines = [f"{title} {release.value['text']} on {said['rows']:,} rows; {order} is better.", f"{release}."]
    if isinstance(release.guarantee, Guarantee):
        of = "mean of the squared errors" if metric.name == "rmse" else "score"
        lines.append(f"Noise of scale {said['noise_scale']:.3g} on the {of}.")
        lines.append(f"Assumed: {'; '.join(release.guarantee.assumptions)}.")
    lines.append(f"Not protected: {_open_to_all(release)}.")
    return "\n".join([*lines, *([f"{receipt}."] if receipt else []), *([f"The release: {out}"] if out else [])])


def _open_to_all(release: Release) -> str:
    from tacit.privacy.guarantee import Guarantee

    return NOT_PROTECTED if isinstance(release.guarantee, Guarantee) else f"the labels, {NOT_PROTECTED}"
