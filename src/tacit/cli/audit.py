"""``tacit audit``: every surface that exists, one summary, one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(no_args_is_help=False)


@app.command()
def audit(
    out: Annotated[Path, typer.Option(help="Where the page goes; an earlier page is replaced.")] = Path("report.html"),
    only: Annotated[str, typer.Option(help="Surfaces to run, with commas between: labels,bags,scores.")] = "",
    seed: Annotated[
        int | None, typer.Option(help="Repeat a run exactly. Without it the operating system's entropy is used.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything the page shows as JSON.")] = False,
) -> None:
    """Measure what the bundled data gives away on each surface, and write one page about it.

    Example: tacit audit --only scores --seed 0 --out report.html
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from tacit.audit import run_audit
    from tacit.privacy.files import write_atomically
    from tacit.report import render_page

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("audit", total=None)
        result = run_audit(
            only=[name.strip() for name in only.split(",") if name.strip()],
            seed=seed,
            progress=lambda what: progress.update(task, description=what),
        )
    with write_atomically(out, force=True) as file:
        file.write(render_page(result).encode())
    if as_json:
        typer.echo(json.dumps(result.to_json(), indent=1))
        return
    _print_summary(result)
    typer.echo(f"The page: {out}")


def _print_summary(result: object) -> None:
    from rich.console import Console
    from rich.table import Table

    from tacit.audit import AuditResult

    assert isinstance(result, AuditResult)
    table = Table("surface", "what leaves", "promise", "leak", "without", "seconds", title="What your data gives away")
    for finding in result.findings:
        table.add_row(
            finding.surface,
            finding.setting,
            str(finding.promise),
            f"{finding.leak.rate:.1%}",
            f"{finding.leak.baseline:.1%}",
            f"{finding.seconds:.1f}",
        )
    console = Console()
    console.print(table)
    if result.worst is not None:
        console.print(result.worst.advice, markup=False, highlight=False)
