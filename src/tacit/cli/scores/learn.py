"""``tacit scores learn``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import (
    AsJson,
    ClassList,
    DataSet,
    LedgerAt,
    RowsPerPerson,
    Seed,
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
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tacit.privacy.guarantee import Guarantee
    from tacit.privacy.ledger import Receipt
    from tacit.scores.learners import Choice
    from tacit.scores.metrics import Metric
    from tacit.scores.policies.several import ProtectedScores

__all__ = ["learn"]


def learn(
    predictions: Annotated[
        list[Path],
        typer.Argument(
            metavar="PREDICTIONS",
            help="A file for each model: id if the labels have it, and one column, or one for each class.",
        ),
    ],
    labels: LabelFile,
    epsilon: Annotated[float, typer.Option(help="The promise for one label, over the scores of all models.")],
    label: LabelColumn = None,
    metric: MetricOption = "log_loss",
    within: Annotated[
        float, typer.Option(help="How far from the best a choice may be; said is how surely it is that near.")
    ] = 0.01,
    classes: ClassList = "",
    rows_per_person: RowsPerPerson = 1,
    ledger: LedgerAt = None,
    dataset: DataSet = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Choose the best of several models by noised scores of their predictions, and say how sure the choice is.

    Epsilon is split evenly over the models; the choice costs nothing more. The metric is a mean over rows: auc and f1
    are not, and rmse is taken as the mean of the squared errors, whose order is the same.

    Example: tacit scores learn linear.csv forest.csv boosted.csv --labels truth.csv --label ill --epsilon 1
    """
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.guarantee import Guarantee
    from tacit.privacy.rounding import check_epsilon
    from tacit.scores.choices import choice_from_words
    from tacit.scores.learners import choose
    from tacit.scores.policies import Laplace

    check_epsilon(epsilon, name="--epsilon")
    check_epsilon(within, name="--within", zero=True)
    if len(predictions) < 2:
        raise InvalidInput("PREDICTIONS must be two files or more; for one model there is tacit scores protect")
    paying = open_ledger(ledger, dataset=dataset)
    truth = read_truth(labels, label=label, metric=choice_from_words(metric, kind="metric"), classes=words_of(classes))
    losses = _losses(truth, predictions)
    policy = Laplace(epsilon=_each(epsilon, len(predictions)))
    policy.choice_means.scale(rows=len(truth.labels))  # noise that cannot be drawn is refused before the charge
    # all shares together are one score's epsilon
    promise = truth.promise(Laplace(epsilon=epsilon), rows_per_person=rows_per_person)
    assert isinstance(promise, Guarantee)
    rng, purpose = rng_of(seed), f"{truth.metric.name} scores of {len(predictions)} models by laplace"
    receipt = truth.charge(promise, ledger=paying, dataset=dataset, purpose=purpose)
    scores = policy.protect(losses, rng=rng)
    choice = choose(predictions, scores, within=within / _width(truth.metric))
    result = _result(choice, scores, predictions, truth, within)
    if as_json:
        paid = {"guarantee": promise.to_json(), "not_protected": NOT_PROTECTED, "charge": receipt and receipt.id}
        typer.echo(json.dumps({**result, "seeded": scores.seeded, **paid}, indent=1))
    else:
        typer.echo("\n".join(_words(result, promise, receipt)))
    warn_if_seeded(scores.seeded)


def _losses(truth: Truth, files: Sequence[Path]) -> NDArray[np.float64]:
    """Return (models, rows) losses as shares of the metric's range, lower is better."""
    import numpy as np

    from tacit.privacy.errors import InvalidInput

    metric = truth.metric
    if not metric.additive:
        raise InvalidInput(
            f"--metric must be a mean over rows, such as log_loss, brier, accuracy, rmse or mae, got {metric.name}"
        )
    low, _ = metric.term_bounds
    given = [metric.measure(truth.labels, read_predictions(file, truth=truth)) for file in files]
    shares = (np.array([one.terms for one in given]) - low) / _width(metric)
    return shares if metric.lower_is_better else 1.0 - shares


def _width(metric: Metric) -> float:
    low, high = metric.term_bounds
    return high - low


def _each(epsilon: float, models: int) -> float:
    """Return epsilon / models, rounded down until so many of it are at most epsilon; floats are read as decimals."""
    from tacit.privacy.rounding import exact

    share = epsilon / models
    while models * exact(share) > exact(epsilon):
        share = math.nextafter(share, 0.0)
    return share


def _result(
    choice: Choice[Path], scores: ProtectedScores, files: Sequence[Path], truth: Truth, within: float
) -> dict[str, Any]:
    low, high = truth.metric.term_bounds
    losses = [min(max(value, 0.0), 1.0) for value in scores.values]  # noise may leave the range; the choice is made
    values = [low + x * (high - low) if truth.metric.lower_is_better else high - x * (high - low) for x in losses]
    return {
        "choice": str(choice.model),
        "index": choice.index,
        "score": values[choice.index],
        "scored_by": "the mean squared error" if truth.metric.name == "rmse" else truth.metric.title,
        "lower_is_better": truth.metric.lower_is_better,
        "scores": [{"file": str(file), "score": value} for file, value in zip(files, values, strict=True)],
        "tied": list(choice.tied),
        "within": within,
        "probability_within": choice.probability_within,
        "expected_regret": choice.expected_regret * (high - low),
        "metric": truth.metric.to_json(),
        "rows": len(truth.labels),
    }


def _words(result: dict[str, Any], promise: Guarantee, receipt: Receipt | None) -> list[str]:
    best = "lowest" if result["lower_is_better"] else "highest"
    scores = ", ".join(f"{Path(one['file']).name} {one['score']:.4g}" for one in result["scores"])
    sure = math.floor(1000 * result["probability_within"]) / 10  # a bound is never rounded up
    measure = f" in {result['scored_by']}" if result["metric"]["metric"] == "rmse" else ""  # not in its root
    near = f"within {result['within']:g} of the best of them{measure} on these {result['rows']:,} rows"
    chance = (
        f"With probability at least {sure:g}% it is {near}"
        if sure
        else f"The noise is too large to promise that it is {near}: take a larger --epsilon or --within"
    )
    return [
        f"{result['choice']} has the {best} noised score: {result['scored_by']} {result['score']:.4g}.",
        f"All: {scores}.",
        f"{chance}. On average the best is better by at most {result['expected_regret']:.2g}.",
        f"Guarantee: {promise}, over all {len(result['scores'])} scores together.",
        f"Assumed: {'; '.join(promise.assumptions)}.",
        f"Not protected: {NOT_PROTECTED}.",
        *([f"{receipt}."] if receipt else []),
    ]
