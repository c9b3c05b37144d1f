"""``tacit scores plan`` and ``attack``: how many submissions until the labels are public, worked out and done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.options import AsJson, check_out
from tacit.cli.scores.attack_options import (
    Attacked,
    Body,
    Classes,
    Column,
    Decimals,
    DesignName,
    ForceOut,
    Header,
    Metric,
    Noise,
    Recovered,
    Rows,
    ScoreField,
    ShuffleSeed,
    State,
    Timeout,
    Url,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from tacit.scores.attacks import AttackPlan, Design, HttpOracle, Outcome, Progress
    from tacit.scores.policies import Policy

__all__ = ["attack", "plan"]


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
    from tacit.scores.attacks import host_metric

    scored = host_metric(metric, classes=classes)
    chosen = _plan(scored, design, rows=rows, policy=_policy(decimals, noise), limit_per_day=limit_per_day)
    if as_json:
        typer.echo(json.dumps({"metric": metric, **chosen.to_json()}))
        return
    typer.echo(_describe(chosen))


def attack(
    labels: Attacked = None,
    column: Column = None,
    metric: Metric = "log_loss",
    decimals: Decimals = None,
    noise: Noise = None,
    seed: ShuffleSeed = None,
    design: DesignName = "best",
    url: Url = None,
    rows: Rows = None,
    classes: Classes = None,
    body: Body = "json",
    score_field: ScoreField = "score",
    header: Header = None,
    timeout: Timeout = 30.0,
    state: State = None,
    out: Recovered = None,
    force: ForceOut = False,
    as_json: AsJson = False,
) -> None:
    """Recover labels from scores alone: of a table, scored by the real scorer, or of a live endpoint.

    With --labels the scorer runs here and the recovered labels are checked. With --url every query is a
    submission to the endpoint: attack only what you own or may test.

    Example: tacit scores attack --labels titanic --metric log_loss --decimals 5 --seed 0
    """
    import hashlib

    import numpy as np

    from tacit.privacy.errors import InvalidInput
    from tacit.scores.attacks import host_metric

    if (labels is None) == (url is None):
        raise InvalidInput("give either --labels (a table to attack here) or --url (an endpoint that you own)")
    if (rows is None) != (url is None):
        raise InvalidInput("rows must be given with --url, the number of rows that the host scores, and only with it")
    for path, written, replaced in ((out, "CSV", force), (state, "JSON", True)):
        if path is not None:
            # submissions may be few: no file may fail after they are made
            check_out(path, labels, written=written, force=replaced)
    rng, policy = np.random.default_rng(seed), _policy(decimals, noise)
    truth: NDArray[np.int64] | None = None
    if url is not None and rows is not None:
        count, kinds = rows, classes or 2
    else:
        truth, kinds = _labels(str(labels), column, classes)
        count = len(truth)
    scored = host_metric(metric, classes=kinds)
    oracle: Any
    if truth is None:
        oracle = _http(str(url), body, score_field, header or [], timeout)
    else:
        oracle = lambda p: policy.release(scored.measure(truth, p), state={}, rng=rng).released  # noqa: E731
    chosen = _plan(scored, design, rows=count, policy=policy)
    order = None if seed is None else rng.permutation(count)
    host = "" if truth is None else hashlib.sha256(truth.tobytes()).hexdigest()  # answers of other labels are no use
    outcome = _infer(oracle, chosen, order=order, state=state, host=host, out=out, force=force)
    _print(metric, chosen, outcome, truth, as_json=as_json)


def _infer(
    oracle: Any,  # noqa: ANN401
    chosen: AttackPlan,
    *,
    order: NDArray[np.int64] | None,
    state: Path | None,
    host: str,
    out: Path | None,
    force: bool,
) -> Outcome:
    """Run the plan; what was recovered is written also where the host stopped it."""
    from tacit.scores.attacks import AttackStopped, infer_labels

    try:
        with _bar() as progress:
            outcome = infer_labels(
                oracle,
                chosen,
                order=order,
                state=state,
                host=host,
                progress=progress,
            )
    except AttackStopped as stopped:
        if out is not None:
            _write(out, stopped.outcome, force=force)
        raise
    if out is not None:
        _write(out, outcome, force=force)
    return outcome


def _policy(decimals: int | None, noise: float | None) -> Policy:
    from tacit.privacy.errors import InvalidInput
    from tacit.scores.policies import Bounded, Exact, Rounded

    if decimals is not None and noise is not None:
        raise InvalidInput("decimals and noise must not both be given: choose the one the host uses")
    if decimals is not None:
        return Rounded(decimals=decimals)
    return Exact() if noise is None else Bounded(tau=noise)


def _plan(metric: Any, design: str, **options: Any) -> AttackPlan:  # noqa: ANN401
    from tacit.privacy.errors import InvalidInput
    from tacit.scores.attacks import CrowdedDesign, DigitDesign, JointDesign, plan_attack
    from tacit.scores.metrics import RowLosses

    known: dict[str, Callable[..., Design] | None] = {
        "best": None,
        "digits": DigitDesign,
        "joint": JointDesign,
        "crowded": CrowdedDesign,
    }
    if design not in known:
        raise InvalidInput(f"design must be one of {', '.join(known)}, got {design!r}")
    if known[design] and (not isinstance(metric.reveals, RowLosses) or metric.reveals.root):
        raise InvalidInput(f"design must be best for a metric that is no loss, got {design!r}: it has one way to ask")
    return plan_attack(metric, design=known[design], **options)


def _labels(source: str, column: str | None, classes: int | None) -> tuple[NDArray[np.int64], int]:
    """Return labels 0..K-1 and K: of a bundled set, or of a table's column."""
    import numpy as np

    from tacit.data import iris, label_column, load_table, satellite, titanic
    from tacit.privacy.errors import InvalidInput
    from tacit.scores.losses import check_labels

    bundled = {"titanic": titanic, "iris": iris, "satellite": satellite}
    if source in bundled:
        if column is not None or classes is not None:
            raise InvalidInput(f"column and classes must stand with a table of your own: {source} has its own")
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
    from tacit.scores.attacks import AsCsv, AsJson, HttpOracle

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
        console = Console(stderr=True)
        with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
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


def _print(
    metric: str, chosen: AttackPlan, outcome: Outcome, truth: NDArray[np.int64] | None, *, as_json: bool
) -> None:
    right = outcome.recovered if truth is None else int((outcome.labels == truth).sum())
    result = {
        "metric": metric,
        "rows": chosen.rows,
        "classes": chosen.classes,
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


def _describe(chosen: AttackPlan) -> str:
    about = "About " if chosen.design.expected else ""
    labels = "the 1 label" if chosen.rows == 1 else f"all {chosen.rows:,} labels"
    days = "" if chosen.days is None else f", {_counted(chosen.days, 'day')} at {chosen.limit_per_day:,} a day"
    return (
        f"{about}{_counted(chosen.queries, 'submission')} {'tells' if chosen.queries == 1 else 'tell'} {labels}{days}: "
        f"{chosen.labels_per_query:.1f} a query.\n{_ceiling(chosen)}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _ceiling(chosen: AttackPlan) -> str:
    return (
        f"No design fixed beforehand can tell more than {chosen.ceilings.entropy:.1f} a query "
        f"(entropy: {chosen.ceilings.formulas['entropy']})."
    )
