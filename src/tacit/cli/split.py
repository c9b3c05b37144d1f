"""``tacit split``: divide a table as an audit does, into rows to protect and rows to withhold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tacit.cli import words
from tacit.cli.options import AsJson, check_named, check_out, check_tables, naming, print_json
from tacit.privacy.files import ReplaceableFile

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["app"]

app = typer.Typer(no_args_is_help=False)

_PARTS = ("protected", "known", "withheld")
_MARK = "tacit_split"
_PART = ReplaceableFile("a part by tacit split", re.compile(_MARK.encode()))

_WITHHOLD = Annotated[
    Literal["half", "pairs", "none"],
    typer.Option(help="Rows to withhold: half of each label, a random row of each pair, or none."),
]


@app.command()
def split(
    table: words.TABLE,
    label: Annotated[str, typer.Option(metavar="COL", help="The private column.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the result, a folder of Parquet files.")],
    features: words.FEATURES = "",
    rows: Annotated[
        int, typer.Option(min=1, help="Of a longer table, this many rows are drawn first, always the same ones.")
    ] = 20_000,
    withhold: _WITHHOLD = "half",
    seed: Annotated[int, typer.Option(min=0, help="Repeat a run exactly: decides which rows are withheld.")] = 0,
    force: words.FORCE = False,
    as_json: AsJson = False,
) -> None:
    """Divide a table into rows to protect and rows to withhold, as tacit audit does.

    The folder gets protected.parquet, the rows to make a release from; known.parquet, what an outsider knows of them,
    without the label; and withheld.parquet, rows that were never used, to judge models by and to attack with. Rows
    without a label are left out. The same seed gives the same rows. The parts are as private as the table.

    Example: tacit split visits.csv --label ill --out halves

    Example: tacit split visits.csv --label ill --withhold pairs --seed 1 --out members
    """
    check_named(out)
    check_tables({"table": table}, "table")
    _check_folder(out, table, force=force)
    from tacit.audit.source import source_from_file
    from tacit.audit.split import split_rows
    from tacit.privacy.words import counted, split_words

    source = source_from_file(table, label=label, features=split_words(features), most_rows=rows)
    made = split_rows(source, withheld=withhold, seed=seed)
    written = {part: made.part(part).num_rows for part in made.parts}
    _write(out, {part: made.part(part) for part in made.parts}, force=force)
    if as_json:
        told = {"path": str(out), "rows": written, "left_out": made.left_out, "without_label": source.without_label}
        print_json(told)
        return
    for part, count in written.items():
        typer.echo(f"{out / part}.parquet: {count:,} rows")
    if made.left_out:
        typer.echo(f"Left out: {counted(made.left_out, 'row')} without another of their label.")
    if source.without_label:
        typer.echo(f"Left out: {counted(source.without_label, 'row')} without a label.")


def _check_folder(folder: Path, table: str, *, force: bool) -> None:
    """Raise if the parts cannot be written, before anything is read."""
    from tacit.data.locations import files_read
    from tacit.privacy.endings import check_ending
    from tacit.privacy.files import check_writable

    if folder.is_dir():
        for part in _PARTS:
            check_out(folder / f"{part}.parquet", table, written="Parquet", force=force, over=_PART)
        return
    with naming("out"):
        check_writable(folder, sources=files_read(table))
        check_ending(folder, written="a folder")


def _write(folder: Path, parts: Mapping[str, pa.Table], *, force: bool) -> None:
    import pyarrow.parquet as pq

    from tacit.privacy.files import write_atomically

    is_new = not folder.exists()
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        with ExitStack() as every:  # no part takes its name before all are written
            for name, rows in parts.items():
                marked = rows.replace_schema_metadata({**(rows.schema.metadata or {}), _MARK: name})
                place = write_atomically(folder / f"{name}.parquet", force=force, mode=0o600, over=_PART)
                pq.write_table(marked, every.enter_context(place))
            for name in set(_PARTS) - set(parts):  # of an earlier split: rows that this one protects
                (folder / f"{name}.parquet").unlink(missing_ok=True)
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
