"""``tacit labels``: randomize a label column, learn from it, and guess it back."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.surface import ShortOptions, option, surface_app
from tacit.data.locations import is_location
from tacit.privacy.errors import InvalidInput
from tacit.privacy.settings import read_choice, to_words

__all__ = ["app"]


def _read_cells(given: dict[str, Any]) -> dict[str, Any]:
    """Write --images, --text and --encoder as the data, the column and the method that they mean."""
    named = {name: given.pop(name) for name in ("images", "text", "encoder")}
    kinds = [kind for kind in ("images", "text") if named[kind] is not None]
    if not kinds:
        if named["encoder"] is not None:
            raise InvalidInput("requires --images or --text", field="encoder")
        return given
    if len(kinds) == 2:
        raise InvalidInput("must not be given with --images: a model reads one column", field="text")
    (kind,) = kinds
    return given | _place(named[kind], kind, given) | {"method": _method(kind, named["encoder"], given["method"])}


def _place(named: str, kind: str, given: dict[str, Any]) -> dict[str, str]:
    """Return the table that --images names, or the column."""
    if kind == "images" and (is_location(named) or Path(named).exists()):
        if given["data"] is not None:
            raise InvalidInput(f"must be left out, because --images names the data: {named}", field="data")
        return {"data": named}
    if given["features"]:
        raise InvalidInput(f"must be left out, because --{kind} names the column: {named}", field="features")
    return {"features": named}


def _method(kind: str, encoder: str | None, written: str | None) -> str:
    from tacit.labels.methods import LearnMethod

    method = read_choice(LearnMethod, written or kind, field="method")
    if method.to_json()["name"] != kind:
        raise InvalidInput(f"must be {kind}, got {method}", field="method")
    return to_words(method if encoder is None else replace(method, encoder=encoder))


_CELLS = ShortOptions(
    options=(
        option(
            "images",
            Annotated[
                str | None,
                typer.Option(metavar="DIR|FILE|COL", help="A folder of images, an .npz file, or a column of --data."),
            ],
            None,
        ),
        option(
            "text", Annotated[str | None, typer.Option(metavar="COL", help="A column of text to learn from.")], None
        ),
        option(
            "encoder",
            Annotated[
                str | None,
                typer.Option(
                    metavar="own|NAME", help="What represents images or text. own: learned from them, without labels."
                ),
            ],
            None,
        ),
    ),
    expand=_read_cells,
)

app = surface_app(
    "labels", help="One randomized label per row: protect a label column, learn from it, attack it.", short=_CELLS
)
