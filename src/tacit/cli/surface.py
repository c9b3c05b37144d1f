"""The three commands of every surface, made from its plan, its methods and the words that all surfaces share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import words
from tacit.cli.options import (
    AsJson,
    check_exists,
    check_ledger,
    check_out,
    check_tables,
    naming,
    open_payment,
    rng_of,
)
from tacit.cli.progress import show_progress
from tacit.cli.results import (
    GUESSES,
    MODEL,
    Destination,
    print_leak,
    print_model,
    print_release,
    stem_of,
    write_guesses,
    write_model,
)
from tacit.data.locations import STDIN, files_read
from tacit.privacy.endings import format_of
from tacit.privacy.files import ReplaceableFile
from tacit.privacy.settings import Setting, choices_of, read_choice, settings_of, to_words
from tacit.privacy.targets import Overwrite, check_target
from tacit.privacy.words import split_words

__all__ = [
    "SIDES",
    "ShortOptions",
    "attack_command",
    "field_option",
    "learn_command",
    "option",
    "protect_command",
    "surface_app",
]

SIDES = ("protect", "learn", "attack")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortOptions:
    """Options that write other options of the same command."""

    options: tuple[inspect.Parameter, ...]
    expand: Callable[[dict[str, Any]], dict[str, Any]]


def surface_app(
    surface: str,
    *,
    help: str,
    reading: Sequence[inspect.Parameter] = (),
    unused: Collection[str] = (),
    short: ShortOptions | None = None,
) -> typer.Typer:
    """Return the Typer app of a surface with its three sides.

    Parameters
    ----------
    reading
        Options of learn and attack that the surface's ``Release.read`` takes.
    unused
        Parameters of learn that have no use on the surface, and so no option.
    short
        Options of learn that write other options.
    """
    app = typer.Typer(no_args_is_help=True, help=help)
    app.command()(protect_command(surface))
    app.command()(learn_command(surface, reading=reading, unused=unused, short=short))
    app.command()(attack_command(surface, reading=reading))
    return app


def protect_command(surface: str, *, extras: Sequence[inspect.Parameter] = ()) -> Callable[..., None]:
    """Return ``tacit SURFACE protect``: the plan's fields as options, then the output and the payment."""
    plan_type = import_module(f"tacit.{surface}.plan").Plan
    settings = [one for one in settings_of(plan_type) if one.name not in plan_type.unused]

    def protect(**given: Any) -> None:  # noqa: ANN401
        plan = plan_type(**{one.name: given[one.name] for one in settings if given[one.name] is not None})
        check_tables(given, *(["table"] if given["engine"] == "duckdb" else []), "data")
        check_ledger(given)
        named = given["out"] or Path(f"{stem_of(given['table'])}.{surface}{plan.suffix}")
        with Destination.of(named, suffix=plan.suffix, as_json=given["as_json"]) as to:
            target = Overwrite(to.path) if given["force"] else to.path
            with naming("out"):
                check_target(target, plan, sources=files_read(given["table"], given.get("data")))
            payment = open_payment(given)
            module = import_module(f"tacit.{surface}")
            with show_progress(surface) as report:
                release = module.protect(
                    _table(given),
                    plan,
                    out=target,
                    payment=payment,
                    rng=rng_of(given["seed"]),
                    progress=report,
                    **{extra.name: given[extra.name] for extra in extras},
                )
            print_release(release, to, as_json=given["as_json"])

    common = [
        option("engine", words.ENGINE, "duckdb"),
        option("memory", words.MEMORY, None),
        option("out", words.OUT_RELEASE, None),
        option("force", words.FORCE, False),
        option("ledger", words.LEDGER, None),
        option("dataset", words.DATASET, None),
        option("part", words.PART, None),
        option("store", words.STORE, None),
        option("again", words.AGAIN, False),
        option("entry", words.ENTRY, None),
        option("reserved", words.RESERVED, None),
        option("seed", words.SEED, None),
        option("as_json", AsJson, False),
    ]
    fields = [field_option(one) for one in settings]
    return _command(protect, surface, [option("table", words.TABLE), *fields, *extras, *common])


def _table(given: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return the table as protect takes it: by its name, which errors repeat, or opened by Spark."""
    if given["memory"] is not None:
        from tacit.data.connection import limit_memory

        limit_memory(given["memory"], engine=given["engine"])
    if given["engine"] == "duckdb":
        return given["table"]
    from tacit.data import open_table

    return open_table(given["table"], engine=given["engine"])


def learn_command(
    surface: str,
    *,
    reading: Sequence[inspect.Parameter] = (),
    unused: Collection[str] = (),
    data: Any = words.DATA,  # noqa: ANN401
    short: ShortOptions | None = None,
) -> Callable[..., None]:
    """Return ``tacit SURFACE learn`` without its unused options; ``data`` is how the option --data is read."""
    parameters = [
        option("data", data, None),
        option("test", words.TEST, None),
        option("features", words.FEATURES, ""),
        _method_option(surface, "learn"),
        option("hold_out", words.HOLD_OUT, 0.2),
    ]
    wanted = [one for one in parameters if one.name not in unused]
    return _reader_command(
        surface,
        "learn",
        wanted,
        reading,
        write=write_model,
        show=print_model,
        suffix=".joblib",
        over=MODEL,
        short=short,
    )


def attack_command(
    surface: str,
    *,
    reading: Sequence[inspect.Parameter] = (),
    data: Any = words.DATA,  # noqa: ANN401
) -> Callable[..., None]:
    """Return ``tacit SURFACE attack``; ``data`` is how the surface's option --data is read."""
    parameters = [
        option("data", data, None),
        option("truth", words.TRUTH, None),
        _method_option(surface, "attack"),
        option("level", words.LEVEL, 0.95),
    ]
    return _reader_command(
        surface, "attack", parameters, reading, write=write_guesses, show=print_leak, suffix=".parquet", over=GUESSES
    )


def _reader_command(
    surface: str,
    side: str,
    own: Sequence[inspect.Parameter],
    reading: Sequence[inspect.Parameter],
    *,
    write: Callable[..., None],
    show: Callable[..., None],
    suffix: str,
    over: ReplaceableFile,
    short: ShortOptions | None = None,
) -> Callable[..., None]:
    """Return the command of a side that reads a release; its own options are the keywords of the side."""
    tables = [one.name for one in own if one.name in ("data", "test", "truth")]

    def command(**given: Any) -> None:  # noqa: ANN401
        if short is not None:
            given = short.expand(given)
        keywords = {one.name: given[one.name] for one in own}
        if given["method"] is not None:
            keywords["method"] = read_choice(_methods(surface, side), given["method"], field="method")
        if "features" in keywords:
            keywords["features"] = tuple(split_words(keywords["features"] or ""))
        with _checked(given, tables, suffix=suffix, over=over) as to:
            module = import_module(f"tacit.{surface}")
            with show_progress("steps") as report:
                release = _read_release(module, given, reading)
                result = getattr(module, side)(release, **keywords, rng=rng_of(given["seed"]), progress=report)
            if to is not None:
                write(result, to.path, force=given["force"])
            show(result, to, as_json=given["as_json"])
        if getattr(result, "facts", {}).get("randomized_as_claimed") is False:
            raise typer.Exit(1)

    command.__name__ = side
    parameters = [
        option("release", words.RELEASE),
        *own,
        *(() if short is None else short.options),
        *reading,
        option("out", words.OUT, None),
        option("force", words.FORCE, False),
        option("seed", words.RUN_SEED, None),
        option("as_json", AsJson, False),
    ]
    return _command(command, surface, parameters)


def _command(
    function: Callable[..., None], surface: str, parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """Give a function the parameters that Typer reads, and the surface's own help."""
    side = function.__name__
    function.__doc__ = import_module(f"tacit.{surface}.methods").HELP[side]
    function.__signature__ = inspect.Signature(list(parameters))  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    return function


def option(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:  # noqa: ANN401
    """Return a command's option, or its argument, from what Typer reads."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def field_option(setting: Setting) -> inspect.Parameter:
    """A plan's field as an option; the plan parses the words, so command, file and Python have the same errors."""
    shown = "" if setting.required or setting.default in (None, (), {}) else to_words(setting.default)
    if setting.kind is bool:
        flags = f"{setting.option}/{setting.option.replace('--', '--no-', 1)}"
        return option(setting.name, Annotated[bool, typer.Option(flags, help=setting.help)], setting.default)
    kind: Any = list[str] if setting.repeatable else str
    if setting.required:
        return option(setting.name, Annotated[kind, _typer_option(setting, "")])
    return option(setting.name, Annotated[kind | None, _typer_option(setting, shown)], None)


def _typer_option(setting: Setting, shown: str) -> Any:  # noqa: ANN401
    names = [choice.name for choice in choices_of(setting.kind)]
    listed = f"One of: {', '.join(names)}." if names and setting.metavar != "|".join(names) else ""
    sentences = [setting.help, listed, f"Default: {shown}." if shown else ""]
    return typer.Option(setting.option, metavar=setting.metavar, help=" ".join(filter(None, sentences)))


def _methods(surface: str, side: str) -> Any:  # noqa: ANN401
    return getattr(import_module(f"tacit.{surface}.methods"), f"{side.title()}Method")


def _method_option(surface: str, side: str) -> inspect.Parameter:
    names = ", ".join(to_words(choice()) for choice in choices_of(_methods(surface, side)))
    shown = typer.Option("--method", metavar="NAME[:KEY=VALUE,...]", help=f"One of: {names}.")
    return option("method", Annotated[str | None, shown], None)


@contextmanager
def _checked(
    given: Mapping[str, Any], tables: Sequence[str], *, suffix: str, over: ReplaceableFile
) -> Iterator[Destination | None]:
    """Check every path of learn or attack before anything is imported; return the output, if any."""
    check_exists(given["release"], "release", remedy="give the path of a release")
    check_tables(given, *tables)
    if given["out"] is None:
        yield None
        return
    sources = [given["release"], *(given[table] for table in tables)]
    check_out(given["out"], *sources, written=format_of(suffix), force=given["force"], over=over)
    with Destination.of(given["out"], suffix=suffix, as_json=given["as_json"]) as to:
        yield to


def _read_release(module: Any, given: Mapping[str, Any], reading: Sequence[inspect.Parameter]) -> Any:  # noqa: ANN401
    path = given["release"]
    if path == Path(STDIN):
        from tacit.data.remote import spooled_stdin

        path = spooled_stdin()
    return module.Release.read(path, **{one.name: given[one.name] for one in reading})
