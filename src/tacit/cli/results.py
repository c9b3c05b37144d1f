"""The result of a side: on standard output, or in the file that was named."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tacit.cli.options import print_json
from tacit.data.locations import BUNDLED, STDIN
from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import ReplaceableFile
from tacit.privacy.unfinished import temporary_folder

if TYPE_CHECKING:
    from tacit.leak import Leak
    from tacit.privacy.releases import Release

__all__ = [
    "GUESSES",
    "MODEL",
    "Destination",
    "print_leak",
    "print_model",
    "print_release",
    "stem_of",
    "write_guesses",
    "write_model",
]

MODEL = ReplaceableFile("a model by tacit learn", re.compile(rb"\A\x80.*?tacit\.", re.DOTALL))
"""What a new model may replace: a pickle with a class of tacit."""

_GUESSES = "tacit_guesses"
GUESSES = ReplaceableFile("a table of guesses by tacit attack", re.compile(_GUESSES.encode()))
"""What new guesses may replace."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a result is written; with ``--out -`` a file whose content goes to standard output at the end."""

    path: Path
    is_stdout: bool = False

    @classmethod
    @contextmanager
    def of(cls, out: Path, *, suffix: str, as_json: bool) -> Iterator[Destination]:
        """Yield the path of ``--out``; for ``-`` the summary goes to standard error."""
        if out != Path(STDIN):
            yield cls(out)
            return
        if not suffix:
            raise InvalidInput("must name a folder: this release has several files", field="out")
        if as_json:
            raise InvalidInput("must be a file with --json: both would go to standard output", field="out")
        if sys.stdout.isatty():
            raise InvalidInput("- writes to standard output; redirect it to a file or into a command", field="out")
        with temporary_folder() as folder:
            path = folder / f"result{suffix}"
            yield cls(path, is_stdout=True)
            with path.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)

    def say(self, lines: list[str], *, what: str) -> None:
        """Print the summary, and where the result is."""
        typer.echo("\n".join(lines if self.is_stdout else [*lines, f"{what}: {self.path}"]), err=self.is_stdout)


def stem_of(table: str) -> str:
    """Return the name of a table's release: that of the file, or of the table in a database."""
    place, _, inside = table.partition("#") if "://" in table else (table, "", "")
    named = inside or Path(place.removeprefix(BUNDLED).partition("?")[0]).stem
    return re.sub(r"[^\w.-]+", "_", named).strip("_.-") or "table"


def print_release(release: Release, to: Destination, *, as_json: bool) -> None:
    """Print the release's header as JSON, or a summary for its owner."""
    if as_json:
        print_json({"path": str(to.path), **release.to_json()})
    else:
        assumptions = getattr(release.guarantee, "assumptions", ())
        lines = [f"{release}.", *release.notes()]
        lines += [f"Assumed: {'; '.join(assumptions)}."] if assumptions else []
        lines += (
            ["This is an earlier release: nothing was charged. --again charges for a new one."]
            if release.repeated
            else []
        )
        lines += [f"{release.receipt}."] if release.receipt else []
        to.say(lines, what="The release")
    for line in getattr(release, "warnings", list)():
        typer.echo(f"warning: {line}", err=True)
    if release.seeded:
        typer.echo("warning: seeded, so anyone who knows the seed can remove the noise; never publish it", err=True)


def print_model(model: Any, to: Destination | None, *, as_json: bool) -> None:  # noqa: ANN401
    """Print a model's evaluation and its guarantee."""
    notes = list(getattr(model, "notes", ()))
    if as_json:
        document = {**model.report_.to_json(), "guarantee": model.guarantee_.to_json(), "model": to and str(to.path)}
        print_json({**document, "notes": notes})
    else:
        _say([f"{model.report_}", *notes, f"{model.guarantee_}."], to, what="The model")


def print_leak(leak: Leak, to: Destination | None, *, as_json: bool) -> None:
    """Print what an attack measured."""
    if as_json:
        print_json({**leak.to_json(), "path": to and str(to.path)})
    else:
        _say([*leak.notes, f"{leak}"], to, what="The guesses")


def _say(lines: list[str], to: Destination | None, *, what: str) -> None:
    if to is None:
        typer.echo("\n".join(lines))
    else:
        to.say(lines, what=what)


def write_model(model: Any, out: Path, *, force: bool) -> None:  # noqa: ANN401
    """Write a model that joblib loads."""
    import joblib

    from tacit.privacy.files import write_atomically

    with write_atomically(out, force=force, over=MODEL) as file:
        joblib.dump(model, file)


def write_guesses(leak: Leak, out: Path, *, force: bool) -> None:
    """Write the guess of each row as Parquet."""
    import pyarrow.parquet as pq

    from tacit.privacy.files import write_atomically

    if leak.guesses is None:
        raise InvalidInput("must be left out: this attack has no guesses for rows", field="out")
    marked = leak.guesses.replace_schema_metadata({**(leak.guesses.schema.metadata or {}), _GUESSES: "1"})
    with write_atomically(out, force=force, over=GUESSES) as file:
        pq.write_table(marked, file)
