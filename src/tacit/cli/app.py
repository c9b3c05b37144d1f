"""The root of the ``tacit`` command: its areas, its version, and how it ends when something goes wrong."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tacit import __version__
from tacit.cli.listing import CommandListing, name_values, usage_sentence

__all__ = ["AREAS", "app", "load_area", "main"]

AREAS = {
    "audit": "Measure what each planned release leaks, and write one page.",
    "bags": "Release label totals of groups of rows, learn from them, and see which labels they reveal.",
    "features": "Release a few features with noise, learn from them, and link them back.",
    "init": "Write a commented tacit.toml for your own data.",
    "labels": "Randomize a label column, learn from it, and see what it still reveals.",
    "ledger": "Show and charge the privacy budgets of data sets, over all surfaces.",
    "models": "Train models privately or without protection, evaluate them, and infer which rows they were trained on.",
    "scores": "Release protected scores, choose by them, and see how many submissions reveal the labels.",
    "serve": "Host a competition whose leaderboard does not leak its labels.",
    "split": "Divide a table into rows to protect and rows to withhold, as an audit does.",
}
"""The name and a sentence of help for each area; ``tacit.cli.<name>`` has its ``app``."""

EXIT_CODES = {
    0: "done",
    1: "an unexpected error, a limit exceeded, or a guarantee violated",
    2: "wrong input, or a refused release",
    3: "an audit that skipped a surface",
    130: "interrupted (143: terminated)",
}

_LONGEST_LINE = 1_000  # characters of an error: it may quote a value, and a value may be a whole file

_COMPLETION = ("install_completion", "show_completion")  # typer gives them to every app; they only work on the root


def load_area(name: str) -> TyperCommand | TyperGroup:
    """Import an area's module and return its command.

    An area is imported when it is used: the listing of ``tacit --help`` needs none of them.
    """
    return _command(import_module(f"tacit.cli.{name}").app, name)


@cache
def _command(area: typer.Typer, name: str) -> TyperCommand | TyperGroup:
    area.rich_markup_mode = None  # help is plain text, so brackets and examples are printed unchanged
    area.info.cls = CommandListing
    command = cast(TyperCommand | TyperGroup, get_command(area))
    command.name = name
    command.params = [option for option in command.params if option.name not in _COMPLETION]
    name_values(command)
    return command


class _LazyAreas(CommandListing):
    """Lists the areas without importing them, and imports the one that is called."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=sentence) for name, sentence in AREAS.items()}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401
        found = super().get_command(ctx, cmd_name)
        return found and load_area(cmd_name) if ctx.invoked_subcommand else found

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and load_area(str(name)), rest

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, RuntimeError) as error:  # typer itself would exit silently
            stop = error.__cause__ if isinstance(error, RuntimeError) else error  # DuckDB wraps it
            if not isinstance(stop, KeyboardInterrupt):
                raise
            raise typer.Exit(_fail("interrupted", code=getattr(stop, "exit_code", 130))) from None


app = typer.Typer(
    cls=_LazyAreas,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Exit codes: "
    + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())
    + ". TACIT_TRACEBACK=1 shows the traceback of an error."
)
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Learn from labels you are not allowed to see, and measure what every release leaks.

    Results go to standard output, progress and errors to standard error; with --json both are JSON, and an error is
    one line: {"error": SENTENCE, "field": NAME, "exit": CODE}.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the ``tacit`` command and exit; an error that a person can act on has one sentence and exit code 2.

    Parameters
    ----------
    arguments
        The words after ``tacit`` on the command line; default: those of the process.
    """
    as_json = "--json" in (sys.argv if arguments is None else arguments)
    if arguments is None:
        _handle_signals()
        warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a path may have bytes that are no text
    try:
        try:
            code = get_command(app).main(arguments, prog_name="tacit", standalone_mode=False)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # the interpreter flushes once more as it ends, and would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        code = _explain(error, as_json=as_json)
    sys.exit(code or 0)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a sentence, without the place in the code that gave it."""
    typer.echo(f"warning: {message}", err=True)


class _EndedBySignal(KeyboardInterrupt):
    """A signal that asks the process to end, handled like Ctrl-C."""

    exit_code = 128 + signal.SIGTERM


def _handle_signals() -> None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _EndedBySignal

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, stop)


def _explain(error: Exception, *, as_json: bool) -> int:
    """Print what went wrong in one sentence, and return the exit code."""
    from tacit.privacy.errors import TacitError  # imports the kernel: not before there is an error to explain

    if os.environ.get("TACIT_TRACEBACK"):
        traceback.print_exception(error)
    if isinstance(error, TacitError):
        return _fail(str(error), code=2, field=getattr(error, "field", None), as_json=as_json)
    if isinstance(error, OSError) and error.filename is not None:
        return _fail(f"{error.filename}: {error.strerror}", code=2, as_json=as_json)
    if isinstance(error, UnicodeEncodeError):
        return _fail("a name or a path has bytes that are not UTF-8; write it in UTF-8", code=2, as_json=as_json)
    if isinstance(error, typer.Abort):
        return _fail("interrupted", code=130, as_json=as_json)
    if isinstance(error, MemoryError):
        return _fail("this needs more memory than there is; use fewer rows or smaller numbers", code=2, as_json=as_json)
    if hasattr(error, "format_message"):  # of the parser: an unknown option, a missing one, a wrong number
        return _explain_usage(error, as_json=as_json)
    return _fail(
        f"unexpected {type(error).__name__}: {error}; please report it with the traceback that TACIT_TRACEBACK=1 shows",
        code=1,
        as_json=as_json,
    )


def _explain_usage(error: Any, *, as_json: bool) -> int:  # noqa: ANN401
    if type(error).__name__ == "NoArgsIsHelpError" and not as_json:
        error.show()
        return 2
    param = getattr(error, "param", None)
    return _fail(usage_sentence(error), code=2, field=param and param.name, as_json=as_json)


def _fail(sentence: str, *, code: int, field: str | None = None, as_json: bool = False) -> int:
    line = _shortened(" ".join(sentence.split()))
    typer.echo(json.dumps({"error": line, "field": field, "exit": code}) if as_json else line, err=True)
    return code


def _shortened(line: str) -> str:
    """Return a sentence without its middle, if it is too long to read."""
    half = _LONGEST_LINE // 2
    return line if len(line) <= _LONGEST_LINE else f"{line[:half]} ... {line[-half:]}"
