"""``tacit bags attack``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.bags.coding import read_labels
from tacit.cli.options import AsJson, AttackSeed, rng_of, show_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tacit.bags.attacks import BagGuesses, DeterminedLabels
    from tacit.bags.partition import BagTotals
    from tacit.leak import Leak

__all__ = ["attack"]


def attack(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a release of bags.")],
    features: Annotated[Path, typer.Option(help="The features of the rows that the bags were made from.")],
    truth: Annotated[
        Path | None,
        typer.Option(help="A table with the true labels in the same order, to count right guesses; may be the same."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column of true labels there. Default: the release's.")] = None,
    limit: Annotated[
        int, typer.Option(help="The largest connected group of cells that is searched for all its solutions.")
    ] = 400,
    whole: Annotated[
        bool, typer.Option("--whole", help="For squared totals: labels are known to be whole numbers in the range.")
    ] = False,
    seed: AttackSeed = None,
    as_json: AsJson = False,
) -> None:
    """Find the labels that the totals fix, and guess the others as well as can be.

    A fixed label is certain: no other labels have these totals. With noise none is. With --truth the guesses are
    counted, against the guesses of a model that knows such rows, but neither the release nor these rows' labels.

    Example: tacit bags attack clicks.bags --features clicks.csv

    Example: tacit bags attack clicks.bags --features clicks.csv --truth clicks.csv --label click --json
    """
    from tacit.bags.attacks import SearchLimits, determined
    from tacit.bags.partition import read_bags
    from tacit.data import load_table
    from tacit.privacy.errors import InvalidInput

    if label is not None and truth is None:
        raise InvalidInput("--label must stand with --truth, the table that it is in")
    released = read_bags(release)
    known = None if truth is None else read_labels(released, truth, label=label)
    rows = load_table(features)
    with show_progress("components") as report:
        fixed = determined(
            released, rows, whole=whole, witness=known, effort=SearchLimits(variables=limit), progress=report
        )
    guesses = _guesses(released, rows, fixed, known, private=(label or released.label, released.label), seed=seed)
    leak = None if guesses is None or known is None else guesses.leak(known)
    right = None if known is None else _right(fixed, known)
    if as_json:
        typer.echo(json.dumps(_result(released, fixed, guesses, leak, right), indent=1))
    else:
        _print(released, fixed, guesses, leak, right)


def _guesses(
    release: BagTotals,
    rows: Any,  # noqa: ANN401
    fixed: DeterminedLabels,
    truth: NDArray[np.float64] | None,
    *,
    private: tuple[str, ...],
    seed: int | None,
) -> BagGuesses | None:
    """The best guesses; None where labels are numbers without a short list of values."""
    from tacit.bags.attacks import guess_labels, prior_from_features
    from tacit.bags.attacks.guess import class_values
    from tacit.data import read_rows
    from tacit.privacy.errors import InvalidInput

    try:
        values = class_values(release.loss)
    except InvalidInput:
        return None
    features = [name for name in rows.columns if name not in private]
    prior = None
    if truth is not None and features:
        read = read_rows(rows, columns=features)
        prior = prior_from_features(read, truth, classes=len(values), rng=rng_of(seed))
    return guess_labels(release, rows, prior=prior).with_certain(fixed)


def _right(fixed: DeterminedLabels, truth: NDArray[np.float64]) -> int:
    import numpy as np

    return int(np.isclose(fixed.labels[fixed.known], truth[fixed.known]).sum())


def _result(
    release: BagTotals, fixed: DeterminedLabels, guesses: BagGuesses | None, leak: Leak | None, right: int | None
) -> dict[str, Any]:
    return {
        **fixed.to_json(),
        "determined_right": right,
        "guarantee": release.guarantee.to_json(),
        "advantage": _advantage(guesses, leak),
        "advantage_is": "measured" if leak else "expected",
        "expected_rate": guesses and float(guesses.confidence.mean()),
        "largest_advantage": guesses.ceiling if guesses and leak else None,
        "leak": leak and leak.to_json(),
        "sentence": str(leak) if leak else None,
    }


def _advantage(guesses: BagGuesses | None, leak: Leak | None) -> float | None:
    if leak is not None:
        return leak.advantage
    return None if guesses is None else float(guesses.confidence.mean() - guesses.prior.max(axis=1).mean())


def _print(
    release: BagTotals, fixed: DeterminedLabels, guesses: BagGuesses | None, leak: Leak | None, right: int | None
) -> None:
    typer.echo(f"{release}.")
    checked = f"; {right:,} of them are as the truth has them" if right is not None and fixed.count else ""
    typer.echo(f"{fixed}{checked}.")
    if guesses is None:
        return
    typer.echo(
        f"By the attacker's own count {guesses.confidence.mean():.1%} of the guesses are right, "
        f"{guesses.prior.max(axis=1).mean():.1%} without the release{_limit(release, guesses, leak)}."
    )
    if leak is not None:
        typer.echo(f"{leak}")


def _limit(release: BagTotals, guesses: BagGuesses, leak: Leak | None) -> str:
    """What the guarantee allows over a rival who knows such rows; what groups tell about everyone is not in it."""
    from tacit.privacy.guarantee import Guarantee

    if leak is None:
        return ". Part of that is what rows of a group have in common: --truth measures against a rival who knows it"
    if not isinstance(release.guarantee, Guarantee):
        return ""
    return f"; the guarantee allows an advantage of at most {guesses.ceiling:.3f} under that prior"
