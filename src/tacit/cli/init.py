"""``tacit init``: a commented plan from a data file, by at most four questions or by flags."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Container
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tacit.cli.options import check_named, check_out, check_tables, print_json
from tacit.privacy.files import ReplaceableFile
from tacit.privacy.plan import SURFACES, check_surfaces
from tacit.privacy.words import join_words, split_words

if TYPE_CHECKING:
    from tacit.audit.first_plan import FirstPlan
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
        typer.Option(
            help="Comma-separated columns an attacker may know. Default: all but ids, names, constants and columns "
            "that reveal every label."
        ),
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
    from tacit.privacy.files import write_atomically

    decided = _decide(data, label=label, features=features, public=public, surfaces=surfaces, epsilon=epsilon)
    text = decided.draft(data, file=_seen_from(data, out))
    with write_atomically(out, force=force, over=PLAN) as file:
        file.write(text.encode())
    for name, how in decided.copies.items():
        by = f", by its {how}" if how else ""
        typer.echo(f"warning: {name} tells every label{by}; leave it out of what you release", err=True)
    if as_json:
        print_json({"path": str(out), **decided.as_dict()})
        return
    for note in decided.notes():
        typer.echo(note)
    typer.echo(f"Wrote {out}; next: tacit audit {quote(str(out))}")


def _decide(
    data: str, *, label: str, features: str, public: str | None, surfaces: str, epsilon: float | None
) -> FirstPlan:
    """Read the table, and ask for what no option gives."""
    from tacit.audit.first_plan import FirstPlan
    from tacit.audit.suggestions import Suggestions, suggest_label
    from tacit.data import open_table, read_rows
    from tacit.data.copies import copies_of
    from tacit.data.rows import labelled_rows

    every = read_rows(open_table(data))
    label = label or _ask("Which column is private", suggest_label(every), flag="--label")
    rows = labelled_rows(every, label)
    usual = Suggestions(table=rows, features=[name for name in rows.column_names if name != label])
    copies = copies_of(rows, label, rows.column_names)
    return FirstPlan(
        rows=rows,
        label=label,
        features=_known_columns(usual, features, label=label, copies=copies),
        surfaces=split_words(surfaces or _ask("Which surfaces release something", ",".join(SURFACES))),
        epsilon=_ask("Which epsilon for each release", 1.0) if epsilon is None else epsilon,
        without_label=every.num_rows - rows.num_rows,
        usual=usual,
        copies=copies,
        public=None if public is None else (public, read_rows(open_table(public))),
    )


def _known_columns(usual: Suggestions, features: str, *, label: str, copies: Container[str]) -> list[str]:
    """Return the columns that an attacker may know: given, answered or suggested; without copies of the label."""
    from tacit.privacy.errors import InvalidInput

    useful = [name for name in usual.features_used if name not in copies] or usual.features_used
    known = split_words(features or _ask("Which columns may an attacker know", join_words(useful)))
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
