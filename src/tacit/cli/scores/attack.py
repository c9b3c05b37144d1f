"""``tacit scores plan`` and ``attack``: how many submissions until the labels are public, worked out and done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from tacit.scores.attack import Answers, Design, HttpOracle, Outcome, Plan, Progress

__all__ = ["attack", "plan"]

_METRICS = "log_loss, brier, softmax, sigmoid, bce, accuracy, f1, auc, rmse or mae"

Metric = Annotated[str, typer.Option(help=f"What the host shows: {_METRICS}.")]
Decimals = Annotated[int | None, typer.Option(help="The host rounds scores to this many decimals.")]
Noise = Annotated[float | None, typer.Option(metavar="TAU", help="The host adds noise of at most TAU to scores.")]
DesignName = Annotated[
    str,
    typer.Option(
        help="best, or for losses digits (a few rows a query), joint (all rows at once), or for two classes crowded "
        "(joint, and what stays ambiguous is asked for: fewer queries, how many depends on the labels)."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def plan(
    rows: Annotated[int, typer.Option(help="Rows that the host scores.")],
    classes: Annotated[int, typer.Option(help="Number of labels.")] = 2,
    metric: Metric = "log_loss",
    decimals: Decimals = None,
    noise: Noise = None,
    limit_per_day: Annotated[int | None, typer.Option(help="Submissions a day that the host allows.")] = None,
    design: DesignName = "best",
    as_json: AsJson = False,
) -> None:
    """Work out how many submissions tell every label, and how many days that takes.

    Example: tacit scores plan --rows 2201 --metric log_loss --decimals 5 --limit-per-day 5
    """
    from tacit.scores.attack import find_scorer
    from tacit.scores.attack import plan as make_plan

    chosen = make_plan(
        find_scorer(metric).metric(classes),
        rows=rows,
        answers=_answers(decimals, noise),
        limit_per_day=limit_per_day,
        design=_design(design),
    )
    if as_json:
        typer.echo(json.dumps({"metric": metric, **chosen.to_json()}))
        return
    typer.echo(_describe(chosen))


def attack(
    labels: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Labels to attack: a table, or titanic, iris or satellite."),
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column with the labels, if the table has several.")] = None,
    metric: Metric = "log_loss",
    decimals: Decimals = None,
    noise: Noise = None,
    seed: Annotated[int | None, typer.Option(help="Shuffle the rows and draw noise by this seed.")] = None,
    design: DesignName = "best",
    url: Annotated[
        str | None, typer.Option(help="A scoring endpoint that you own: predictions are posted, a score comes back.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="With --url: rows that the host scores.")] = None,
    classes: Annotated[int | None, typer.Option(help="Number of labels. Default: as many as the table has.")] = None,
    body: Annotated[str, typer.Option(help="With --url: post predictions as json or csv.")] = "json",
    score_field: Annotated[str, typer.Option(help="With --url: where the score is in a JSON answer.")] = "score",
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME: VALUE", help="With --url: sent along; repeatable.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="With --url: seconds to wait for an answer.")] = 30.0,
    state: Annotated[
        Path | None, typer.Option(help="Keep what was recovered in this file, and go on from it if it is there.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the recovered labels to this CSV file, -1 where unknown.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Recover labels from scores alone: of a table, scored by the real scorer, or of a live endpoint.

    With --labels the scorer runs here and the recovered labels are checked. With --url every query is a
    submission to the endpoint: attack only what you own or may test.

    Example: tacit scores attack --labels titanic --metric log_loss --decimals 5 --seed 0
    """
    import numpy as np

    from tacit.privacy.errors import InvalidInput
    from tacit.scores.attack import AttackStopped, find_scorer, hidden, infer_labels
    from tacit.scores.attack import plan as make_plan

    if (labels is None) == (url is None):
        raise InvalidInput("give either --labels (a table to attack here) or --url (an endpoint that you own)")
    if out is not None and out.exists() and not force:
        raise InvalidInput(f"{out} exists already; choose another path or add --force")
    rng = np.random.default_rng(seed)
    scorer = find_scorer(metric)
    truth: NDArray[np.int64] | None = None
    if url is not None:
        if rows is None:
            raise InvalidInput("rows must be given with --url: the number of rows that the host scores")
        oracle: Any = _http(url, body, score_field, header or [], timeout)
        answers, count, kinds = _answers(decimals, noise), rows, classes or 2
    else:
        truth, kinds = _labels(str(labels), column, classes)
        count = len(truth)
        oracle, answers = hidden(scorer.oracle(truth, classes=kinds), decimals=decimals, tau=noise, rng=rng)
    loss = scorer.metric(kinds)
    chosen = make_plan(loss, rows=count, answers=answers, design=_design(design))
    order = None if seed is None else rng.permutation(count)
    try:
        with _bar() as progress:
            outcome = infer_labels(oracle, loss, rows=count, plan=chosen, order=order, state=state, progress=progress)
    except AttackStopped as stopped:
        if out is not None:
            _write(out, stopped.outcome, force=force)
        raise
    if out is not None:
        _write(out, outcome, force=force)
    _print(metric, chosen, outcome, truth, as_json=as_json)


def _answers(decimals: int | None, noise: float | None) -> Answers:
    import numpy as np

    from tacit.scores.attack import hidden

    return hidden(lambda _: 0.0, decimals=decimals, tau=noise, rng=np.random.default_rng())[1]


def _design(name: str) -> Callable[..., Design] | None:
    from tacit.privacy.errors import InvalidInput
    from tacit.scores.attack import CrowdedDesign, DigitDesign, JointDesign

    known: dict[str, Callable[..., Design] | None] = {
        "best": None,
        "digits": DigitDesign,
        "joint": JointDesign,
        "crowded": CrowdedDesign,
    }
    if name not in known:
        raise InvalidInput(f"design must be one of {', '.join(known)}, got {name!r}")
    return known[name]


def _labels(source: str, column: str | None, classes: int | None) -> tuple[NDArray[np.int64], int]:
    """Return labels 0..K-1 and K: of a bundled set, or of a table's column."""
    import numpy as np

    from tacit.data import iris, label_column, load_table, satellite, titanic
    from tacit.privacy.errors import InvalidInput
    from tacit.scores.losses import check_labels

    bundled = {"titanic": titanic, "iris": iris, "satellite": satellite}
    if source in bundled:
        data = bundled[source]()
        return data.codes, len(data.classes)
    table = load_table(source)
    if column is None and len(table.columns) > 1:
        raise InvalidInput(f"column must be given: {source} has the columns {', '.join(table.columns)}")
    values = label_column(table, column or table.columns[0])
    if classes is not None:
        return check_labels(values, classes=classes), classes
    kinds, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), len(kinds)


def _http(url: str, body: str, score_field: str, headers: list[str], timeout: float) -> HttpOracle:
    from tacit.privacy.errors import InvalidInput
    from tacit.scores.attack import AsCsv, AsJson, HttpOracle

    bodies = {"json": AsJson(), "csv": AsCsv()}
    if body not in bodies:
        raise InvalidInput(f"body must be json or csv, got {body!r}")
    parts = [header.partition(":") for header in headers]
    if any(not colon for _, colon, _ in parts):
        raise InvalidInput("header must have the form 'NAME: VALUE'")
    sent = {name.strip(): value.strip() for name, _, value in parts}
    return HttpOracle(url=url, body=bodies[body], score_field=score_field, headers=sent, timeout=timeout)


def _bar() -> Any:  # noqa: ANN401
    """Return a context whose value is told the progress and draws it on standard error."""
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    @contextmanager
    def bar() -> Iterator[Callable[[Progress], None]]:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
            task = shown.add_task("queries", total=None)
            yield lambda now: shown.update(
                task,
                completed=now.queries,
                total=now.planned,
                description=f"{now.recovered:,} of {now.rows:,} labels, queries",
            )

    return bar()


def _write(path: Path, outcome: Outcome, *, force: bool) -> None:
    from tacit.privacy.files import write_atomically

    with write_atomically(path, force=force, mode=0o600) as file:
        file.write(("label\n" + "\n".join(map(str, outcome.labels.tolist())) + "\n").encode())


def _print(metric: str, chosen: Plan, outcome: Outcome, truth: NDArray[np.int64] | None, *, as_json: bool) -> None:
    right = outcome.recovered if truth is None else int((outcome.labels == truth).sum())
    result = {
        "metric": metric,
        "rows": chosen.rows,
        "classes": chosen.metric.classes,
        "queries": outcome.queries,
        "labels_per_query": chosen.rows / outcome.queries,
        "recovered": right,
        "recovered_share": right / chosen.rows,
        "checked": truth is not None,
        "seconds": outcome.seconds,
        **{key: value for key, value in chosen.to_json().items() if key.startswith(("ceiling", "design"))},
    }
    if truth is not None:
        leak = outcome.leak(truth)
        result |= {"baseline": leak.baseline, "advantage": leak.advantage}
    if as_json:
        typer.echo(json.dumps(result))
        return
    checked = "right labels" if truth is not None else "labels"
    typer.echo(
        f"{right:,} of {chosen.rows:,} {checked} from {outcome.queries:,} scores in {outcome.seconds:.1f} s: "
        f"{chosen.rows / outcome.queries:.1f} a query."
    )
    typer.echo(_ceiling(chosen))


def _describe(chosen: Plan) -> str:
    about = "About " if chosen.design.expected else ""
    days = "" if chosen.days is None else f", {chosen.days:,} days at {chosen.limit_per_day:,} a day"
    return (
        f"{about}{chosen.queries:,} submissions tell all {chosen.rows:,} labels{days}: "
        f"{chosen.labels_per_query:.1f} a query.\n{_ceiling(chosen)}"
    )


def _ceiling(chosen: Plan) -> str:
    return (
        f"No design fixed beforehand can tell more than {chosen.ceilings.entropy:.1f} a query "
        f"(entropy: {chosen.ceilings.formulas['entropy']})."
    )
