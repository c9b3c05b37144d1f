"""``tacit features attack``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import AsJson, AttackSeed, rng_of, show_progress

__all__ = ["attack"]


def attack(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release of feature rows.")],
    raw: Annotated[
        Path, typer.Option(help="The raw table, its rows in the order of the release: whose rows they are.")
    ],
    outsiders: Annotated[
        Path | None, typer.Option(help="Rows like them that are not in the release, to measure membership.")
    ] = None,
    seed: AttackSeed = None,
    as_json: AsJson = False,
) -> None:
    """Link released rows to raw ones by their features alone, and tell members from outsiders.

    The order of the rows is used to count right links, not to find them.

    Example: tacit features attack visits.features.parquet --raw visits.csv
    """
    import numpy as np

    from tacit.data import load_table, read_rows
    from tacit.data.matrix import numeric_matrix
    from tacit.data.names import check_present
    from tacit.features.attack import ReleasedRows, link_rows, linkage_leak, membership_leak
    from tacit.privacy.errors import InvalidInput
    from tacit.privacy.release import read_release

    released = read_release(release)
    seen = ReleasedRows(released)
    names = list(seen.names)

    def rows_of(path: Path) -> np.ndarray:
        table = load_table(path)
        for name in names:
            check_present(name, table.columns, argument=path.name)
        return numeric_matrix(read_rows(table, columns=names), columns=names)

    truth = rows_of(raw)
    if len(truth) != len(seen.rows):
        raise InvalidInput(f"--raw must hold the {len(seen.rows)} released rows, got {len(truth)}")
    with show_progress("linkage") as report:
        linked = link_rows(released, truth, progress=report)
    delta = getattr(released.guarantee, "delta", 0.0)
    leaks = {"linkage": linkage_leak(linked, np.arange(len(truth)), candidates=len(truth), delta=delta)}
    if outsiders is not None:
        leaks["membership"] = membership_leak(released, members=truth, nonmembers=rows_of(outsiders), rng=rng_of(seed))
    if as_json:
        document = {"rows": len(truth), "guarantee": released.guarantee.to_json()}
        typer.echo(json.dumps({**document, **{name: leak.to_json() for name, leak in leaks.items()}}, indent=1))
    else:
        typer.echo(f"{released}.")
        for name, leak in leaks.items():
            typer.echo(f"{name}: {leak}")
