"""``tacit init``: a commented plan from a data file, by at most four questions or by flags."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tacit.cli.options import check_named

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.audit.source import Source

__all__ = ["app"]

app = typer.Typer(no_args_is_help=False)

Answer = TypeVar("Answer", str, float)


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="Your table: CSV, Parquet or Arrow.")],
    label: Annotated[str, typer.Option(help="The private column.")] = "",
    features: Annotated[
        str, typer.Option(help="Comma-separated columns an attacker may know; default: those that carry information.")
    ] = "",
    surfaces: Annotated[
        str,
        typer.Option(
            help="Comma-separated surfaces to plan releases for; default: labels,bags,features,scores,models."
        ),
    ] = "",
    epsilon: Annotated[float | None, typer.Option(help="Of each release; default: 1.")] = None,
    out: Annotated[Path, typer.Option(help="Where the plan goes.")] = Path("tacit.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing plan.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was decided as JSON.")] = False,
) -> None:
    """Write a commented tacit.toml for tacit audit.

    What no flag says is asked for in a terminal, with a suggestion; elsewhere --label is needed and the rest has
    defaults. The plan names the table, its columns and a bound of its values, and holds no row.

    Example: tacit init clicks.csv --label clicked --surfaces labels,scores --epsilon 1 --out tacit.toml
    """
    from tacit.audit.draft import PLAN, draft_plan, suggest_features, suggest_label
    from tacit.audit.plan import SURFACES
    from tacit.data import load_table, read_rows
    from tacit.privacy.files import check_writable, write_atomically
    from tacit.privacy.words import join_words, split_words

    check_named(out)
    check_writable(out, force=force, source=data, over=PLAN)
    table = read_rows(load_table(data))
    label = label or _ask("Which column is private", suggest_label(table), flag="--label")
    _check_label(table, label, data)
    usual = join_words(suggest_features(table, label=label))
    known = tuple(split_words(features or _ask("Which columns may an attacker know", usual)))
    chosen = split_words(surfaces or _ask("Which surfaces release something", ",".join(SURFACES)))
    strength = _ask("Which epsilon for each release", 1.0) if epsilon is None else epsilon
    source = _source(data, label, known)
    beside = os.path.relpath(data.resolve(), out.resolve().parent)
    text = draft_plan(source, file=Path(beside).as_posix(), surfaces=chosen, epsilon=strength)
    with write_atomically(out, force=force, over=PLAN) as file:
        file.write(text.encode())
    if as_json:
        decided = {"label": label, "features": known, "surfaces": chosen, "epsilon": strength}
        typer.echo(json.dumps({"path": str(out), **decided}, indent=1))
        return
    typer.echo(f"Wrote {out}; next: tacit audit {out}")


def _ask(question: str, suggested: Answer, *, flag: str | None = None) -> Answer:
    """Ask in a terminal; elsewhere take the suggestion, or refuse where a flag must say it."""
    from tacit.privacy.errors import InvalidInput

    if sys.stdin.isatty():
        answer: Answer = typer.prompt(question, default=suggested, type=type(suggested), err=True)
        return answer
    if flag is not None:
        raise InvalidInput(f"{flag} must be given where there is no terminal to ask in, perhaps {flag} {suggested}")
    return suggested


def _check_label(table: pa.Table, label: str, data: Path) -> None:
    from tacit.privacy.errors import InvalidInput

    if label not in table.column_names:
        raise InvalidInput(f"column {label!r} is not in {data.name}; it has {', '.join(table.column_names)}")


def _source(data: Path, label: str, features: tuple[str, ...]) -> Source:
    from tacit.audit.source import check_size, source_from_file
    from tacit.privacy.errors import InvalidInput

    if not features:
        raise InvalidInput(
            f"{data.name} has no column that carries information beside {label!r}; name some by --features"
        )
    return check_size(source_from_file(data, label=label, features=features))
