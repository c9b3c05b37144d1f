"""Scores of hosts elsewhere: ``tacit scores plan``, and ``tacit scores attack --url``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from tacit.cli.options import AsJson, check_out, print_json, rng_of
from tacit.cli.progress import show_progress
from tacit.cli.surface import option
from tacit.privacy.files import ReplaceableFile
from tacit.privacy.rounding import check_count
from tacit.privacy.words import counted

if TYPE_CHECKING:
    from tacit.scores.attacks import AttackPlan, HttpOracle, RecoveredLabels

__all__ = ["EndpointAttack", "plan"]

_HEADING = "recovered_label"
_LABELS = ReplaceableFile("labels by tacit scores attack --url", re.compile(rf"\A{_HEADING}\n".encode()))
_SKLEARN = f"log_loss:floor={2.0**-52!r}"

Metric = Annotated[
    str,
    typer.Option(
        metavar="NAME[:KEY=VALUE,...]",
        help="What the host shows: log_loss (floor; the default is scikit-learn's), brier, accuracy, f1, auc, rmse or "
        "mae, or of torch softmax, sigmoid or bce.",
    ),
]
Policy = Annotated[
    str,
    typer.Option(
        metavar="NAME[:KEY=VALUE,...]", help="How the host answers: exact, rounded:decimals=5, bounded:tau=0.01."
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="best, or for losses digits (a few rows per query), joint (all rows at once), or for two classes crowded "
        "(joint, then again for what stays ambiguous: fewer queries, how many depends on the labels).",
    ),
]


def plan(
    rows: Annotated[int, typer.Option(help="Rows that the host scores.")],
    class_count: Annotated[int, typer.Option(help="Number of classes.")] = 2,
    metric: Metric = _SKLEARN,
    policy: Policy = "exact",
    per_day: Annotated[int | None, typer.Option(help="Submissions per day that the host allows.")] = None,
    method: Method = "best",
    as_json: AsJson = False,
) -> None:
    """Compute how many submissions reveal every label, and how many days that takes.

    Example: tacit scores plan --rows 2201 --policy rounded:decimals=5 --per-day 5
    """
    check_count(rows, name="rows")  # before half a second of imports
    check_count(class_count, name="class_count", least=2)
    chosen = _plan(metric, rows=rows, class_count=class_count, policy=policy, method=method, per_day=per_day)
    if as_json:
        print_json({"metric": metric, **chosen.to_json()})
    else:
        typer.echo(_describe(chosen))


@dataclass(frozen=True, kw_only=True)
class EndpointAttack:
    """The options of an attack on a live endpoint."""

    url: Annotated[
        str | None, typer.Option(help="The address of a scoring endpoint that you own, which takes predictions.")
    ] = None
    rows: Annotated[int | None, typer.Option(help="With --url: rows that the host scores.")] = None
    class_count: Annotated[int | None, typer.Option(help="With --url: number of classes. Default: 2.")] = None
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="With --url: what the host shows, as in tacit scores plan. Default: scikit-learn's log loss.",
        ),
    ] = None
    policy: Annotated[
        str | None, typer.Option(metavar="NAME[:KEY=VALUE,...]", help="With --url: how it answers. Default: exact.")
    ] = None
    body: Annotated[str, typer.Option(help="With --url: post predictions as json or csv.")] = "json"
    score_field: Annotated[str, typer.Option(help="With --url: where the score is in a JSON answer.")] = "score"
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME: VALUE", help="With --url: an HTTP header to send; repeatable.")
    ] = None
    timeout: Annotated[float, typer.Option(help="With --url: seconds to wait for an answer.")] = 30.0
    state: Annotated[
        Path | None, typer.Option(help="With --url: keep the answers in this file, and resume from it if it exists.")
    ] = None

    @classmethod
    def extend(cls, command: Callable[..., None], standard: Callable[..., None]) -> None:
        """Give a command the parameters of the standard attack, IN no longer required, and these options."""
        kinds = get_type_hints(cls, include_extras=True)
        added = [option(one.name, kinds[one.name], one.default) for one in fields(cls)]
        release, *others = inspect.signature(standard).parameters.values()
        optional = release.replace(
            default=None,
            annotation=Annotated[Path | None, typer.Argument(metavar="IN", help="The release; none with --url.")],
        )
        parameters = [optional, *others, *added]
        command.__doc__ = standard.__doc__
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}

    def check_unused(self, release: Path | None) -> None:
        """Raise if there is nothing to attack, or an option has no use without an endpoint."""
        from tacit.privacy.errors import InvalidInput

        if release is None:
            raise InvalidInput("IN or --url must be given: a release, or an endpoint that you own")
        for one in fields(self):
            if getattr(self, one.name) != one.default and getattr(self, one.name):
                raise InvalidInput("requires --url, an endpoint that you own", field=one.name)

    def run(self, given: Mapping[str, Any]) -> None:
        """Recover the labels of the endpoint, write them to ``out``, and print how many there are."""
        from tacit.privacy.errors import InvalidInput
        from tacit.scores.attacks.infer import STATE, check_rows

        for name in ("release", "data", "truth"):
            if given[name]:
                raise InvalidInput("has no use with --url: the endpoint has the labels", field=name)
        if self.rows is None:
            raise InvalidInput("must be given with --url: the number of rows that the host scores", field="rows")
        check_rows(self.rows)
        out, force = given["out"], given["force"]
        for path, written, replaced, over in ((out, "CSV", force, _LABELS), (self.state, "JSON", True, STATE)):
            if path is not None:  # submissions may be few: no file may fail after they are made
                check_out(path, written=written, force=replaced, over=over)
        chosen = _plan(
            self.metric or _SKLEARN,
            rows=self.rows,
            class_count=2 if self.class_count is None else self.class_count,
            policy=self.policy or "exact",
            method=given["method"] or "best",
        )
        order = None if given["seed"] is None else rng_of(given["seed"]).permutation(self.rows)
        outcome = _infer(self._oracle(), chosen, order=order, state=self.state, out=out, force=force)
        _print(self.metric or _SKLEARN, chosen, outcome, as_json=given["as_json"])

    def _oracle(self) -> HttpOracle:
        from tacit.privacy.errors import InvalidInput
        from tacit.scores.attacks import CsvBody, HttpOracle, JsonBody

        bodies: dict[str, JsonBody | CsvBody] = {"json": JsonBody(), "csv": CsvBody()}
        if self.body not in bodies:
            raise InvalidInput(f"must be json or csv, got {self.body!r}", field="body")
        parts = [header.partition(":") for header in self.header or []]
        if any(not colon for _, colon, _ in parts):
            raise InvalidInput("must have the form 'NAME: VALUE'", field="header")
        sent = {name.strip(): value.strip() for name, _, value in parts}
        return HttpOracle(
            url=str(self.url),
            body=bodies[self.body],
            score_field=self.score_field,
            headers=sent,
            timeout=self.timeout,
        )


def _plan(
    metric: str, *, rows: int, class_count: int, policy: str, method: str, per_day: int | None = None
) -> AttackPlan:
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.settings import read_choice
    from tacit.scores.attacks.attack import plan_by_method
    from tacit.scores.methods import AttackMethod
    from tacit.scores.metrics import HostMetric
    from tacit.scores.policies import Bounded, Exact, Rounded

    check_count(class_count, name="class_count", least=2)
    planned = plan_by_method(
        read_choice(AttackMethod, method, field="method"),
        read_choice(HostMetric, metric, field="metric").for_classes(class_count),
        rows=rows,
        policy=read_choice(Exact | Rounded | Bounded, policy, field="policy"),
        per_day=per_day,
    )
    if planned.classes != class_count:
        raise InvalidInput(f"must be {planned.classes} for {metric}, got {class_count}", field="class_count")
    return planned


def _infer(
    oracle: HttpOracle,
    chosen: AttackPlan,
    *,
    order: Any,  # noqa: ANN401
    state: Path | None,
    out: Path | None,
    force: bool,
) -> RecoveredLabels:
    """Run the plan; what was recovered is written even if the host stopped it."""
    from tacit.scores.attacks import AttackStopped, infer_labels

    try:
        with show_progress("queries") as report:
            outcome = infer_labels(
                oracle,
                chosen,
                order=order,
                state=state,
                host=oracle.url,
                progress=lambda now: report(
                    now.queries, now.planned, f"{now.recovered:,} of {now.rows:,} labels, queries"
                ),
            )
    except AttackStopped as stopped:
        if out is not None:
            _write(out, stopped.outcome, force=force)
        raise
    if out is not None:
        _write(out, outcome, force=force)
    return outcome


def _write(path: Path, outcome: RecoveredLabels, *, force: bool) -> None:
    from tacit.privacy.files import write_atomically

    with write_atomically(path, force=force, mode=0o600, over=_LABELS) as file:
        file.write((f"{_HEADING}\n" + "\n".join(map(str, outcome.labels.tolist())) + "\n").encode())


def _print(metric: str, chosen: AttackPlan, outcome: RecoveredLabels, *, as_json: bool) -> None:
    if as_json:
        planned = {key: value for key, value in chosen.to_json().items() if key.startswith(("upper_bound", "design"))}
        result = {
            "metric": metric,
            "rows": chosen.rows,
            "classes": chosen.classes,
            "queries": outcome.queries,
            "labels_per_query": chosen.rows / outcome.queries,
            "recovered": outcome.recovered,
            "recovered_share": outcome.recovered / chosen.rows,
            "seconds": outcome.seconds,
        }
        print_json({**result, **planned})
        return
    typer.echo(
        f"{outcome.recovered:,} of {chosen.rows:,} labels from {outcome.queries:,} scores in {outcome.seconds:.1f} s: "
        f"{chosen.rows / outcome.queries:.1f} per query.\n{_upper_bound(chosen)}"
    )


def _describe(chosen: AttackPlan) -> str:
    about = "About " if chosen.design.expected else ""
    labels = "the 1 label" if chosen.rows == 1 else f"all {chosen.rows:,} labels"
    days = "" if chosen.days is None else f", {counted(chosen.days, 'day')} at {chosen.per_day:,} per day"
    return (
        f"{about}{counted(chosen.queries, 'submission')} {'reveals' if chosen.queries == 1 else 'reveal'} {labels}"
        f"{days}: {chosen.labels_per_query:.1f} per query.\n{_upper_bound(chosen)}"
    )


def _upper_bound(chosen: AttackPlan) -> str:
    return (
        f"No design fixed beforehand can reveal more than {chosen.bounds.entropy:.1f} per query "
        f"(entropy: {chosen.bounds.formulas['entropy']})."
    )
