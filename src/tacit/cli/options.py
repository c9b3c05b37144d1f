"""Options, checked before anything heavy is imported, then converted to what the library takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.data.locations import STDIN, check_source, files_read
from tacit.privacy.errors import InvalidInput, LedgerError

if TYPE_CHECKING:
    import numpy as np

    from tacit.privacy.files import ReplaceableFile
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.payment import Payment

__all__ = [
    "AsJson",
    "check_exists",
    "check_ledger",
    "check_named",
    "check_out",
    "check_tables",
    "naming",
    "open_ledger",
    "open_payment",
    "print_json",
    "rng_of",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

_NEEDS_LEDGER = ("dataset", "part", "store", "again", "entry", "reserved")


def print_json(document: object) -> None:
    """Print a result for programs."""
    typer.echo(json.dumps(document, indent=1))


def rng_of(seed: int | None) -> np.random.Generator:
    """Return the operating system's generator, or a seeded one."""
    import numpy as np

    from tacit.privacy.noise import system_rng

    return system_rng() if seed is None else np.random.default_rng(seed)


@contextmanager
def naming(field: str) -> Iterator[None]:
    """Name the option in an error that does not know it, such as an error about a path."""
    try:
        yield
    except (InvalidInput, LedgerError) as error:
        if getattr(error, "field", None) is not None:
            raise
        raise InvalidInput(str(error), field=field) from None


def check_tables(given: Mapping[str, Any], *fields: str) -> None:
    """Raise if an option names a table by a path where nothing is; nothing is opened."""
    for field in fields:
        with naming(field):
            check_source(given.get(field))


def check_exists(path: Path | None, field: str, *, remedy: str) -> None:
    """Raise if an option names a file that is not there."""
    if path not in (None, Path(STDIN)) and not path.exists():
        raise InvalidInput(f"{path} does not exist; {remedy}", field=field)


def check_out(out: Path, *sources: object, written: str, force: bool, over: ReplaceableFile | None = None) -> None:
    """Raise if a file of this format cannot be written there, is an input, or has the ending of another format."""
    from tacit.privacy.endings import check_ending
    from tacit.privacy.files import check_writable

    if out == Path(STDIN):
        return
    with naming("out"):
        check_writable(out, force=force, sources=files_read(*sources), over=over)
        check_ending(out, written=written)


def check_named(out: Path) -> None:
    """Raise if a command that prints something else is asked to write to standard output."""
    if out == Path(STDIN):
        raise InvalidInput("must name a file: standard output has the summary", field="out")


def check_ledger(given: Mapping[str, Any]) -> None:
    """Raise if there is no ledger where one is named, or an option is given that only makes sense with one."""
    location = given["ledger"]
    if location is None:
        for name in _NEEDS_LEDGER:
            if given[name]:
                raise InvalidInput("requires --ledger, which says what is charged", field=name)
        return
    if given["seed"] is not None:
        raise InvalidInput(
            "must not be given with --ledger: a seeded release is not for publication, so it is never charged",
            field="seed",
        )
    if "://" not in location:
        from tacit.privacy.ledger.sqlite_file import check_file

        if not Path(location).exists():
            raise InvalidInput(
                f"{location} does not exist; create a ledger with: tacit ledger create --ledger {location}",
                field="ledger",
            )
        with naming("ledger"):
            check_file(Path(location))


def open_ledger(location: str) -> Ledger:
    """Open a ledger; a scoring server's with its key, which is in the environment or beside the ledger."""
    from tacit.privacy.ledger.sqlite_file import check_file

    if "://" not in location:
        check_file(Path(location))  # before SQLAlchemy is imported
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger.secret import SealedLedger

    try:
        return Ledger.open(location)
    except SealedLedger:
        from tacit.server.key import ServerKey

        file = Path(location).with_name("labels.key")
        if not ServerKey.exists(file):
            raise
        return Ledger.open(location, sealing=ServerKey.find(file))


def open_payment(given: Mapping[str, Any]) -> Payment | None:
    """Return the payment, if a ledger is named."""
    if given["ledger"] is None:
        return None
    from tacit.privacy.payment import Payment

    return Payment(
        ledger=open_ledger(given["ledger"]),
        dataset=given["dataset"],
        parts=given["part"] or None,
        store=given["store"],
        again=given["again"],
        entry=given["entry"],
        reserved=given["reserved"],
    )
