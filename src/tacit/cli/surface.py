"""The three commands of every surface, made from its plan, its methods and the words that all surfaces share."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tacit.cli.options import (
    check_out,
    open_payment,
    rng_of,
    show_progress,
    warn_if_seeded,
    words_of,
)
from tacit.privacy.settings import Setting, choices_of, read_choice, settings_of, to_words

if TYPE_CHECKING:
    from tacit.leak import Leak
    from tacit.privacy.releases import Release

__all__ = ["SIDES", "attack_command", "learn_command", "option", "protect_command", "surface_app"]

SIDES = ("protect", "learn", "attack")

_TABLE = Annotated[
    str,
    typer.Argument(
        metavar="IN",
        help="The private table: a file, pattern or folder of CSV, Parquet, Arrow, JSON lines or Excel; - for standard "
        "input; URL#TABLE of a database.",
    ),
]
_RELEASE = Annotated[Path, typer.Argument(metavar="IN", help="The release.")]
_DATA = Annotated[
    str | None, typer.Option("--data", metavar="TABLE", help="What the outsider has besides the release.")
]
_FEATURES = Annotated[str, typer.Option(metavar="COL,...", help="The columns used. Default: all but the label.")]
_METHOD_HELP = "How: {names}."
_OUT_RELEASE = Annotated[
    Path | None, typer.Option("--out", help="Where to write the release. Default: named after IN.")
]
_OUT = Annotated[Path | None, typer.Option("--out", help="Write the result to this file.")]
_FORCE = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
_LEDGER = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="TACIT_LEDGER",
        metavar="FILE_OR_URL",
        help="Charge this ledger before anything is drawn: a SQLite file, or postgresql://USER@HOST/DATABASE.",
    ),
]
_DATASET = Annotated[
    str | None, typer.Option(help="The ledger's data set to charge. Default: the one it knows this data as.")
]
_PART = Annotated[
    list[str] | None, typer.Option("--part", help="A declared part of the data set that IN holds, and no other row.")
]
_STORE = Annotated[
    Path | None,
    typer.Option(
        "--store", help="The folder of finished releases. Default: LEDGER.releases, beside the ledger's file."
    ),
]
_AGAIN = Annotated[
    bool, typer.Option("--again", help="Pay for another release where the same request has one already.")
]
_ENTRY = Annotated[
    str | None,
    typer.Option("--entry", metavar="ID", help="Resume the release of this charge, for rows without an order."),
]
_ENGINE = Annotated[
    Literal["duckdb", "spark"],
    typer.Option("--engine", help="What reads IN; for spark IN is Parquet, or the name of a table."),
]
_MEMORY = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help="The most memory that DuckDB may use, such as 2GB.")
]
_SEED = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, help="Repeat a run exactly. A seeded release is marked: for experiments, never to publish."
    ),
]
_RUN_SEED = Annotated[int | None, typer.Option("--seed", min=0, help="Repeat a run exactly.")]
_JSON = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
_TEST = Annotated[str | None, typer.Option("--test", metavar="TABLE", help="Rows with true labels to judge by.")]
_HOLD_OUT = Annotated[
    float, typer.Option("--hold-out", help="The share of rows that is held out to judge by, without --test.")
]
_TRUTH = Annotated[
    str | None, typer.Option("--truth", metavar="TABLE", help="The table that was protected, to count right guesses.")
]
_LEVEL = Annotated[float, typer.Option("--level", help="The confidence level of the intervals.")]

_PAYING = ("ledger", "dataset", "part", "store", "again", "entry")


def surface_app(surface: str, *, help: str, reading: Sequence[inspect.Parameter] = ()) -> typer.Typer:
    """Return the Typer app of a surface with its three sides.

    Parameters
    ----------
    reading
        Options of learn and attack that the surface's ``Release.read`` takes.
    """
    app = typer.Typer(no_args_is_help=True, help=help)
    app.command()(protect_command(surface))
    app.command()(learn_command(surface, reading=reading))
    app.command()(attack_command(surface, reading=reading))
    return app


def protect_command(surface: str, *, extras: Sequence[inspect.Parameter] = ()) -> Callable[..., None]:
    """Return ``tacit SURFACE protect``: the plan's fields as options, then where to write and who pays."""
    settings = settings_of(import_module(f"tacit.{surface}.plan").Plan)

    def protect(**given: Any) -> None:  # noqa: ANN401
        from tacit.data.engines import open_table

        module = import_module(f"tacit.{surface}")
        plan = module.Plan(**{one.name: given[one.name] for one in settings if given[one.name] is not None})
        out = given["out"] or Path(f"{_stem(given['table'])}.{surface}{module.Release.suffix_for(plan)}")
        payment = open_payment({name: given[name] for name in _PAYING})
        with show_progress(surface) as report:
            release = module.protect(
                open_table(given["table"], engine=given["engine"], memory=given["memory"]),
                plan,
                out=_target(out, force=given["force"]),
                payment=payment,
                rng=rng_of(given["seed"]),
                progress=report,
                **{extra.name: given[extra.name] for extra in extras},
            )
        _print_release(release, out, as_json=given["as_json"])

    common = [
        option("engine", _ENGINE, "duckdb"),
        option("memory", _MEMORY, None),
        option("out", _OUT_RELEASE, None),
        option("force", _FORCE, False),
        option("ledger", _LEDGER, None),
        option("dataset", _DATASET, None),
        option("part", _PART, None),
        option("store", _STORE, None),
        option("again", _AGAIN, False),
        option("entry", _ENTRY, None),
        option("seed", _SEED, None),
        option("as_json", _JSON, False),
    ]
    fields = [_field(one) for one in settings]
    return _command(protect, surface, [option("table", _TABLE), *fields, *extras, *common])


def learn_command(
    surface: str,
    *,
    extras: Sequence[inspect.Parameter] = (),
    reading: Sequence[inspect.Parameter] = (),
    data: Any = _DATA,  # noqa: ANN401
) -> Callable[..., None]:
    """Return ``tacit SURFACE learn``; ``data`` is how the surface's option --data is read."""
    methods = import_module(f"tacit.{surface}.methods").LearnMethod

    def learn(**given: Any) -> None:  # noqa: ANN401
        module = import_module(f"tacit.{surface}")
        out = given["out"]
        if out is not None:
            check_out(out, given["release"], given["data"], given["test"], written="joblib", force=given["force"])
        with show_progress("steps") as report:
            model = module.learn(
                module.Release.read(given["release"], **{one.name: given[one.name] for one in reading}),
                data=given["data"],
                test=given["test"],
                features=tuple(words_of(given["features"])),
                method=_method(methods, given["method"]),
                hold_out=given["hold_out"],
                rng=rng_of(given["seed"]),
                progress=report,
                **{extra.name: given[extra.name] for extra in extras},
            )
        if out is not None:
            _write_model(model, out, force=given["force"])
        _print_model(model, out, as_json=given["as_json"])

    parameters = [
        option("release", _RELEASE),
        option("data", data, None),
        option("test", _TEST, None),
        option("features", _FEATURES, ""),
        option("method", _method_option(methods), None),
        option("hold_out", _HOLD_OUT, 0.2),
        *extras,
        *reading,
        option("out", _OUT, None),
        option("force", _FORCE, False),
        option("seed", _RUN_SEED, None),
        option("as_json", _JSON, False),
    ]
    return _command(learn, surface, parameters)


def attack_command(
    surface: str,
    *,
    extras: Sequence[inspect.Parameter] = (),
    reading: Sequence[inspect.Parameter] = (),
    data: Any = _DATA,  # noqa: ANN401
) -> Callable[..., None]:
    """Return ``tacit SURFACE attack``; ``data`` is how the surface's option --data is read."""
    methods = import_module(f"tacit.{surface}.methods").AttackMethod

    def attack(**given: Any) -> None:  # noqa: ANN401
        module = import_module(f"tacit.{surface}")
        out = given["out"]
        if out is not None:
            sources = (given["release"], given["data"], given["truth"])
            check_out(out, *sources, written="Parquet", force=given["force"])
        with show_progress("steps") as report:
            leak = module.attack(
                module.Release.read(given["release"], **{one.name: given[one.name] for one in reading}),
                data=given["data"],
                truth=given["truth"],
                method=_method(methods, given["method"]),
                level=given["level"],
                rng=rng_of(given["seed"]),
                progress=report,
                **{extra.name: given[extra.name] for extra in extras},
            )
        if out is not None:
            _write_guesses(leak, out, force=given["force"])
        _print_leak(leak, out, as_json=given["as_json"])
        if leak.facts.get("randomized_as_claimed") is False:
            raise typer.Exit(1)

    parameters = [
        option("release", _RELEASE),
        option("data", data, None),
        option("truth", _TRUTH, None),
        option("method", _method_option(methods), None),
        option("level", _LEVEL, 0.95),
        *extras,
        *reading,
        option("out", _OUT, None),
        option("force", _FORCE, False),
        option("seed", _RUN_SEED, None),
        option("as_json", _JSON, False),
    ]
    return _command(attack, surface, parameters)


def _command(
    function: Callable[..., None], surface: str, parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """Give a function the parameters that Typer reads, and the surface's own words as its help."""
    side = function.__name__
    function.__doc__ = import_module(f"tacit.{surface}.methods").HELP[side]
    function.__signature__ = inspect.Signature(list(parameters))  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    return function


def option(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:  # noqa: ANN401
    """Return a command's option, or its argument, from what Typer reads."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _field(setting: Setting) -> inspect.Parameter:
    """A plan's field as an option: words are read by the plan, so every door refuses in the same sentence."""
    shown = "" if setting.required or setting.default in (None, (), {}) else to_words(setting.default)
    if setting.kind is bool:
        flags = f"{setting.option}/{setting.option.replace('--', '--no-', 1)}"
        return option(setting.name, Annotated[bool, typer.Option(flags, help=setting.help)], setting.default)
    kind: Any = list[str] if setting.repeatable else str
    if setting.required:
        return option(setting.name, Annotated[kind, _typer_option(setting, "")])
    return option(setting.name, Annotated[kind | None, _typer_option(setting, shown)], None)


def _typer_option(setting: Setting, shown: str) -> Any:  # noqa: ANN401
    names = ", ".join(choice.name for choice in choices_of(setting.kind))
    sentences = [setting.help, f"One of: {names}." if names else "", f"Default: {shown}." if shown else ""]
    return typer.Option(setting.option, metavar=setting.metavar, help=" ".join(filter(None, sentences)))


def _method_option(methods: Any) -> Any:  # noqa: ANN401
    names = ", ".join(to_words(choice()) for choice in choices_of(methods))
    return Annotated[str | None, typer.Option("--method", metavar="NAME[:KEY=VALUE,...]", help=f"One of: {names}.")]


def _method(methods: Any, text: str | None) -> Any:  # noqa: ANN401
    return None if text is None else read_choice(methods, text, field="method")


def _stem(table: str) -> str:
    """Return what the release of a table is called: as the file, or as the table in a database."""
    place, _, inside = table.partition("#") if "://" in table else (table, "", "")
    named = inside or Path(place.removeprefix("bundled:").partition("?")[0]).stem
    return re.sub(r"[^\w.-]+", "_", named).strip("_.-") or "table"


def _target(out: Path, *, force: bool) -> Any:  # noqa: ANN401
    from tacit.privacy.delivery import Overwrite

    return Overwrite(out) if force else out


def _print_release(release: Release, out: Path, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"path": str(out), **release.to_json()}, indent=1))
    else:
        assumptions = getattr(release.guarantee, "assumptions", ())
        lines = [f"{release}.", *release.notes()]
        lines += [f"Assumed: {'; '.join(assumptions)}."] if assumptions else []
        lines += (
            ["This is an earlier release: nothing was charged. --again pays for a new one."] if release.repeated else []
        )
        lines += [f"{release.receipt}."] if release.receipt else []
        typer.echo("\n".join([*lines, f"The release: {out}"]))
    warn_if_seeded(release.seeded)


def _print_model(model: Any, out: Path | None, *, as_json: bool) -> None:  # noqa: ANN401
    notes = list(getattr(model, "notes", ()))
    if as_json:
        document = {**model.report_.to_json(), "guarantee": model.guarantee_.to_json(), "model": out and str(out)}
        typer.echo(json.dumps({**document, "notes": notes}, indent=1))
    else:
        lines = [f"{model.report_}", *notes, f"{model.guarantee_}.", *([f"The model: {out}"] if out else [])]
        typer.echo("\n".join(lines))


def _print_leak(leak: Leak, out: Path | None, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**leak.to_json(), "path": out and str(out)}, indent=1))
    else:
        typer.echo("\n".join([*leak.notes, f"{leak}", *([f"The guesses: {out}"] if out else [])]))


def _write_model(model: Any, out: Path, *, force: bool) -> None:  # noqa: ANN401
    import joblib

    from tacit.privacy.files import write_atomically

    with write_atomically(out, force=force) as file:
        joblib.dump(model, file)


def _write_guesses(leak: Leak, out: Path, *, force: bool) -> None:
    import pyarrow.parquet as pq

    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.files import write_atomically

    if leak.guesses is None:
        raise InvalidInput("is not needed: this attack has no guesses for rows", field="out")
    with write_atomically(out, force=force) as file:
        pq.write_table(leak.guesses, file)
