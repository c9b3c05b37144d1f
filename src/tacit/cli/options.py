"""Options that the commands of several surfaces share, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import numpy as np

    from tacit.privacy.payment import Payment

__all__ = [
    "AsJson",
    "Table",
    "check_out",
    "open_payment",
    "rng_of",
    "show_progress",
    "warn_if_seeded",
    "words_of",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


Table = Annotated[
    str, typer.Argument(metavar="IN", help="A CSV, TSV, Parquet or Arrow file; for Spark Parquet, or a table's name.")
]


def words_of(text: str) -> list[str]:
    """Split a list with commas; a comma in a word, or a blank at its end, is written with a backslash before it."""
    held = text.replace("\\,", "\0").replace("\\ ", "\1")
    return [word.strip().replace("\0", ",").replace("\1", " ") for word in held.split(",") if word.strip()]


def rng_of(seed: int | None) -> np.random.Generator:
    """Return the operating system's generator, or a seeded one."""
    import numpy as np

    from tacit.privacy.noise import system_rng

    return system_rng() if seed is None else np.random.default_rng(seed)


def check_out(out: Path, *sources: object, written: str, force: bool) -> None:
    """Raise if a file of this format cannot be written there, is read, or has a name that says another format."""
    from tacit.privacy.endings import check_ending
    from tacit.privacy.files import check_writable

    for source in sources or (None,):
        for one in source if isinstance(source, list) else [source]:
            check_writable(out, force=force, source=one)
    check_ending(out, written=written)


def open_payment(given: Mapping[str, Any]) -> Payment | None:
    """Return who pays, if a ledger is named; what only makes sense with one is refused without."""
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.payment import Payment

    location = given["ledger"]
    if location is None:
        for name in ("dataset", "part", "store", "again", "entry"):
            if given[name]:
                raise InvalidInput("requires --ledger, which says what is charged", field=name)
        return None
    return Payment(
        ledger=Ledger.open(location),
        dataset=given["dataset"],
        parts=given["part"] or None,
        store=given["store"],
        again=given["again"],
        entry=given["entry"],
    )


@contextmanager
def show_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error; yields what to call with the steps done and the steps in all."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def warn_if_seeded(seeded: bool) -> None:
    """Say on standard error that a seeded release hides nothing from who knows the seed."""
    if seeded:
        typer.echo("warning: seeded, so whoever knows the seed can remove the noise; never publish it", err=True)
