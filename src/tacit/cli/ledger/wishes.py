"""``tacit ledger needs``: from a wish to an epsilon, and whether it fits what is left."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tacit.cli.ledger.options import HERE, Where
from tacit.cli.options import AsJson, open_ledger, print_json

__all__ = ["needs"]


def needs(
    name: Annotated[str | None, typer.Argument(help="The data set to charge later. Default: none.")] = None,
    suspicion: Annotated[
        str | None,
        typer.Option(metavar="BEFORE:AFTER", help="The most that suspicion of a label may grow, such as 0.004:0.1."),
    ] = None,
    kept: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE[:CLASSES]", help="The share of labels that randomized response keeps; 2 classes if left out."
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="ERROR[:LEVEL]",
            help="The largest error of a noisy count, with probability LEVEL (0.95 if left out).",
        ),
    ] = None,
    ledger: Where = HERE,
    as_json: AsJson = False,
) -> None:
    """Compute the epsilon that an accuracy requires, and the largest epsilon for a limit on suspicion; charge nothing.

    With a data set, also print what is left for one more release from it.

    Example: tacit ledger needs --suspicion 0.004:0.1

    Example: tacit ledger needs adult --kept 0.9:3 --within 20
    """
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.ledger.records import format_down
    from tacit.privacy.rounding import format_up
    from tacit.privacy.wishes import epsilon_for_error, epsilon_for_kept, epsilon_for_suspicion

    if suspicion is None and kept is None and within is None:
        raise InvalidInput("give --suspicion, --kept or --within: what the release must keep to")
    found: dict[str, Any] = {"name": name}
    lines = []
    if suspicion is not None:
        before, after = _numbers(suspicion, "suspicion", least=2)
        most = found["most"] = epsilon_for_suspicion(before, after)
        lines.append(f"Suspicion from {before:g} to at most {after:g}: epsilon {format_down(most)} or less.")
    if kept is not None:
        share, classes = (*_numbers(kept, "kept"), 2)[:2]
        found["kept"] = epsilon_for_kept(share, classes=classes)  # type: ignore[arg-type]  # checked there
        lines.append(f"{share:g} of labels of {classes:g} classes kept: epsilon {format_up(found['kept'])} or more.")
    if within is not None:
        error, level = (*_numbers(within, "within"), 0.95)[:2]
        found["within"] = epsilon_for_error(error, level=level)  # type: ignore[arg-type]  # checked there
        chance = f"with probability {level:g}"
        lines.append(f"A count within {error:g} {chance}: epsilon {format_up(found['within'])} or more.")
    if name is not None:
        found["fits"] = open_ledger(ledger).fitting(name)
        lines.append(f"{name}: epsilon {format_down(found['fits'])} is left for one more release.")
    least, limits = max(found.get("kept", 0.0), found.get("within", 0.0)), [found.get("most"), found.get("fits")]
    found["possible"] = all(limit is None or least <= limit for limit in limits)
    if not found["possible"]:
        lines.append("Not all of this is possible in one release.")
    if as_json:
        print_json(found)
    else:
        typer.echo("\n".join(lines))


def _numbers(text: str, option: str, *, least: int = 1) -> list[float]:
    from tacit.privacy.errors import InvalidInput

    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if not least <= len(numbers) <= 2:
        wanted = "two numbers" if least == 2 else "a number, or two"
        raise InvalidInput(f"must be {wanted} with a colon between, got {text!r}", field=option)
    return numbers
