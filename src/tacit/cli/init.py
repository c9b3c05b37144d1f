"""``tacit init``: a commented plan from a data file, by at most four questions or by flags."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tacit.cli.options import check_named, check_out, check_tables
from tacit.privacy.files import ReplaceableFile
from tacit.privacy.plan import SURFACES, check_surfaces
from tacit.privacy.words import counted, join_words, split_words

if TYPE_CHECKING:
    from tacit.audit.suggestions import Suggestions

__all__ = ["app"]

app = typer.Typer(no_args_is_help=False)

PLAN = ReplaceableFile("a plan by tacit init", re.compile(rb"\A# The releases that are planned, for: tacit audit"))
"""What a new plan may replace."""

Answer = TypeVar("Answer", str, float)


@app.command()
def init(
    data: Annotated[str, typer.Argument(metavar="IN", help="Your table: a file, a folder, a pattern, or a URL.")],
    label: Annotated[str, typer.Option(help="The private column.")] = "",
    features: Annotated[
        str,
        typer.Option(help="Comma-separated columns an attacker may know. Default: all but ids, names and constants."),
    ] = "",
    public: Annotated[
        str | None,
        typer.Option(help="A public table with the same columns, whose ranges and words the plan declares."),
    ] = None,
    surfaces: Annotated[
        str, typer.Option(help="Comma-separated surfaces: labels,bags,features,scores,models. Default: all.")
    ] = "",
    epsilon: Annotated[float | None, typer.Option(help="The epsilon of each release. Default: 1.")] = None,
    out: Annotated[Path, typer.Option(help="Where to write the plan.")] = Path("tacit.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing plan.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was decided as JSON.")] = False,
) -> None:
    """Write a commented tacit.toml for tacit audit.

    In a terminal it asks for what no option gives, with a suggestion; elsewhere --label is required and the rest has
    defaults. The plan has the names of columns, their ranges and the words of text columns with few words; it has no
    row. Ranges and words come from the private rows unless --public names a table: replace them before you release.

    Example: tacit init clicks.csv --label clicked --surfaces labels,scores --epsilon 1 --out tacit.toml
    """
    check_named(out)
    check_tables({"data": data, "public": public}, "data", "public")
    check_out(out, data, public, written="TOML", force=force, over=PLAN)
    if surfaces:
        check_surfaces(split_words(surfaces))
    from tacit.audit.draft import draft_plan
    from tacit.audit.numeric_label import NumericLabel
    from tacit.audit.source import check_size, source_from_file
    from tacit.audit.suggestions import RowOrder, Suggestions, suggest_label
    from tacit.data import open_table, read_rows
    from tacit.data.encoder.written_numbers import words_among_numbers
    from tacit.data.names import check_present
    from tacit.privacy.files import write_atomically

    rows = read_rows(open_table(data))
    label = label or _ask("Which column is private", suggest_label(rows), flag="--label")
    check_present(label, rows.column_names, argument="label")
    usual = Suggestions(table=rows, features=[name for name in rows.column_names if name != label])
    known = _known_columns(usual, features, label=label)
    chosen = split_words(surfaces or _ask("Which surfaces release something", ",".join(SURFACES)))
    strength = _ask("Which epsilon for each release", 1.0) if epsilon is None else epsilon
    source = check_size(source_from_file(data, label=label, features=known, rows=rows))
    left_out = {name: why for name, why in usual.left_out if name not in known}
    shown = read_rows(open_table(public)) if public else rows
    numeric = NumericLabel.of(rows[label], shown[label] if public and label in shown.column_names else None)
    mixed = {name: words for name in known if (words := words_among_numbers(rows[name])) is not None}
    suggested = Suggestions(table=shown, features=known, chosen=True, public=public is not None)
    order = RowOrder.of(rows, label)
    text = draft_plan(
        suggested,
        file=_seen_from(data, out),
        label=label,
        rows=source.rows,
        numeric=numeric,
        left_out=left_out,
        surfaces=chosen,
        epsilon=strength,
        public=public,
        order=order,
    )
    with write_atomically(out, force=force, over=PLAN) as file:
        file.write(text.encode())
    if as_json:
        decided = {"label": label, "features": known, "surfaces": chosen, "epsilon": strength, "left_out": left_out}
        decided |= {
            "clipped": suggested.clipped,
            "codes": suggested.codes,
            "read_as_text": mixed,
            "order": order.name.lower(),
        }
        amount = None if numeric is None else asdict(numeric)
        typer.echo(json.dumps({"path": str(out), **decided, "numeric_label": amount}, indent=1))
        return
    if numeric is not None:
        typer.echo(f"Treated as an amount: {label}, {numeric}.")
    for name, why in left_out.items():
        typer.echo(f"Left out: {name} ({why}).")
    for name, count in suggested.clipped.items():
        typer.echo(f"Clipped: {name} ({counted(count, 'value')} far from the rest; declare its public range).")
    for name, codes in suggested.codes.items():
        typer.echo(f"Far from the rest: {', '.join(codes)} in {name} (if it stands for a gap, leave it empty).")
    for name, words in mixed.items():
        such = f", such as {' and '.join(map(repr, words[:3]))}" if words else ""
        typer.echo(f"Read as text: {name} (a few values are no numbers{such}; leave those empty to use it as numbers).")
    if order is not RowOrder.RANDOM:
        remedy = "the plan shuffles them" if order is RowOrder.SHUFFLED else "put the rows in random order first"
        typer.echo(f"Follows the order of the rows, which reveals it at any epsilon: {label} ({remedy}).")
    typer.echo(f"Wrote {out}; next: tacit audit {quote(str(out))}")


def _known_columns(usual: Suggestions, features: str, *, label: str) -> list[str]:
    """Return the columns that an attacker may know: given, answered or suggested."""
    from tacit.privacy.errors import InvalidInput

    known = split_words(features or _ask("Which columns may an attacker know", join_words(usual.features_used)))
    if not known:
        raise InvalidInput(
            f"must name a column besides {label!r} that is no id, name or constant; there is none", field="features"
        )
    return known


def _ask(question: str, suggested: Answer, *, flag: str | None = None) -> Answer:
    """Ask in a terminal; elsewhere take the suggestion, or raise if an option is required."""
    from tacit.privacy.errors import InvalidInput

    if sys.stdin.isatty():
        answer: Answer = typer.prompt(question, default=suggested, type=type(suggested), err=True)
        return answer
    if flag is not None:
        raise InvalidInput(f"{flag} must be given without a terminal, perhaps {flag} {suggested}")
    return suggested


def _seen_from(data: str, out: Path) -> str:
    """Return a path as seen from the plan; a URL is the same from everywhere."""
    from tacit.data.locations import database_file, is_location

    if data.startswith("bundled:"):
        return data
    if is_location(data):
        database = database_file(data)
        scheme, _, named = data.partition("://")
        return data if database is None else f"{scheme}:///{database.resolve()}#{named.partition('#')[2]}"
    return Path(os.path.relpath(Path(data).resolve(), out.resolve().parent)).as_posix()
