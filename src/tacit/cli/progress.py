"""Progress on standard error: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import typer

__all__ = ["ProgressCallback", "show_progress"]

_EVERY = 10.0  # seconds between two lines


class ProgressCallback(Protocol):
    """A callable that takes the steps done, the steps in all, and what is being done if that changes."""

    def __call__(self, done: int, total: int | None, /, what: str | None = None) -> None:
        """Record the progress that is shown."""


@contextmanager
def show_progress(what: str, *, every: float = _EVERY) -> Iterator[ProgressCallback]:
    """Show the progress of the block; yields the callable to report to."""
    is_terminal = sys.stderr.isatty() or os.environ.get("FORCE_COLOR")  # as Rich reads it
    with _bar(what) if is_terminal else _lines(what, every=every) as report:
        yield report


@contextmanager
def _bar(what: str) -> Iterator[ProgressCallback]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)

        def report(done: int, total: int | None, /, what: str | None = None) -> None:
            progress.update(task, completed=done, total=total, description=what)

        yield report


@contextmanager
def _lines(what: str, *, every: float) -> Iterator[ProgressCallback]:
    """Print a line if nothing was printed for a while, even if nothing was reported: a step may be long."""
    state: list[tuple[str, int, int | None]] = [(what, 0, None)]
    ended, started = threading.Event(), time.monotonic()

    def report(done: int, total: int | None, /, what: str | None = None) -> None:
        state[0] = (what or state[0][0], done, total)

    def beat() -> None:
        while not ended.wait(every):
            name, done, total = state[0]
            far = f", {done:,} of {total:,}" if total else ""
            typer.echo(f"{name}{far}, {time.monotonic() - started:.0f} s", err=True)

    beating = threading.Thread(target=beat, daemon=True)
    beating.start()
    try:
        yield report
    finally:
        ended.set()
        beating.join()
