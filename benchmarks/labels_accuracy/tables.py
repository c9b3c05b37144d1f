"""The tables of the documentation's page, from the measurements alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import replace_between
from benchmarks.labels_accuracy.methods import CLEAN, METHODS, default_of
from benchmarks.labels_accuracy.problems import PROBLEMS, Problem
from tacit.privacy.files import write_atomically

Cells = Mapping[str, Mapping[str, Any]]
SEEDS = 5  # other numbers of seeds are shown
PUBLISHED_LP_2ST = {1: 95.82, 2: 98.78, 3: 99.14, 4: 99.24}


def write_tables(page: Path, results: Sequence[Path]) -> None:
    """Replace what stands between each pair of markers on the page."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in results]
    if any(document["quick"] for document in documents):
        raise SystemExit("a quick run's numbers do not belong on the page")
    cells = {key: cell for document in documents for key, cell in document["cells"].items()}
    tables = {
        "accuracy": accuracies(cells),
        "margins": margins(cells),
        "regime": regime(cells),
        "runs": runs(documents),
    }
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        text = replace_between(text, name, table)
    with write_atomically(page, force=True) as file:
        file.write(text.encode())


def accuracies(cells: Cells) -> str:
    """One table a problem: mean and deviation over the seeds, in percent."""
    return "\n\n".join(_accuracy_table(problem, cells) for problem in _measured(cells))


def _accuracy_table(problem: Problem, cells: Cells) -> str:
    epsilons = _epsilons(problem, cells)
    clean = _mean_and_deviation(_values(cells, problem, CLEAN.name, None))
    lines = [
        f"**{problem.words}.** With the true labels: {clean}.",
        "",
        *_head("", [f"epsilon {e:g}" for e in epsilons]),
    ]
    for method in METHODS:
        shown = [_mean_and_deviation(_values(cells, problem, method.name, e)) for e in epsilons]
        if any(shown):
            lines.append(_row(method.words, shown))
    if problem.set == "mnist":
        lines.append(_row("published LP-2ST", [str(PUBLISHED_LP_2ST.get(e, "")) for e in epsilons]))
    return "\n".join(lines)


def margins(cells: Cells) -> str:
    """Return what the default gains over plain randomized response on the same released labels, in points."""
    problems = _measured(cells)
    epsilons = sorted({e for problem in problems for e in _epsilons(problem, cells)})
    lines = _head("points", [f"epsilon {e:g}" for e in epsilons])
    lines += [_row(p.words, [_gain(cells, p, default_of(p), "rr", e) for e in epsilons]) for p in problems]
    return "\n".join(lines)


def regime(cells: Cells) -> str:
    """How wrong labels and first model are, and what consensus gains over full retraining."""
    lines = _head(
        "", ["epsilon", "labels wrong", "first model wrong", "rows agreed on", "wrong there", "consensus minus full"]
    )
    for problem in _measured(cells):
        for epsilon in _epsilons(problem, cells):
            rows = list(_cells(cells, problem, "consensus", epsilon).values())
            if rows:
                mean = {name: np.mean([row[name] for row in rows]) for name in _REPORTED}
                numbers = [1 - mean["given"], 1 - mean["predicted"], mean["chosen_fraction"], 1 - mean["chosen"]]
                gain = _gain(cells, problem, "consensus", "full", epsilon)
                lines.append(_row(problem.name, [f"{epsilon:g}", *(f"{100 * n:.1f}%" for n in numbers), gain]))
    return "\n".join(lines)


_REPORTED = ("given", "predicted", "chosen", "chosen_fraction")


def runs(documents: Iterable[Mapping[str, Any]]) -> str:
    """When and on what each file was measured."""
    lines = _head("sets", ["date", "machine", "cells", "hours of fitting"])
    for document in documents:
        machine, cells = document["machine"], document["cells"]
        sets = ", ".join(sorted({key.split("/")[0] for key in cells}))
        where = machine.get("gpu") or f"{machine['processor']}, {machine['cores']} cores"
        hours = sum(cell["seconds"] for cell in cells.values()) / 3600
        lines.append(_row(sets, [document["date"], where, str(len(cells)), f"{hours:.2f}"]))
    return "\n".join(lines)


def _measured(cells: Cells) -> list[Problem]:
    return [problem for problem in PROBLEMS if any(key.startswith(f"{problem.name}/") for key in cells)]


def _epsilons(problem: Problem, cells: Cells) -> list[float]:
    found = {key.split("/")[3] for key in cells if key.startswith(f"{problem.name}/")} - {"none"}
    return sorted(float(epsilon) for epsilon in found)


def _cells(cells: Cells, problem: Problem, method: str, epsilon: float | None) -> dict[str, Mapping[str, Any]]:
    """Return the cells by seed."""
    start = f"{problem.name}/{method}/{'none' if epsilon is None else f'{epsilon:g}'}/"
    return {key.removeprefix(start): cells[key] for key in sorted(cells) if key.startswith(start)}


def _by_seed(cells: Cells, problem: Problem, method: str, epsilon: float | None) -> dict[str, float]:
    return {seed: 100 * cell["accuracy"] for seed, cell in _cells(cells, problem, method, epsilon).items()}


def _values(cells: Cells, problem: Problem, method: str, epsilon: float | None) -> list[float]:
    return list(_by_seed(cells, problem, method, epsilon).values())


def _gain(cells: Cells, problem: Problem, better: str, worse: str, epsilon: float) -> str:
    """Mean of the differences seed by seed, with its standard error."""
    one, other = (_by_seed(cells, problem, method, epsilon) for method in (better, worse))
    gains = np.array([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())])
    if not len(gains):
        return ""
    error = f" ± {gains.std(ddof=1) / np.sqrt(len(gains)):.2f}" if len(gains) > 1 else ""
    return f"{gains.mean():+.2f}{error}"


def _mean_and_deviation(values: Sequence[float]) -> str:
    if not values:
        return ""
    deviation = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{deviation}" + (f" ({len(values)})" if len(values) != SEEDS else "")


def _head(first: str, columns: Sequence[str]) -> list[str]:
    return [_row(first, columns), "|" + " --- |" * (len(columns) + 1)]


def _row(first: str, columns: Sequence[str]) -> str:
    return "| " + " | ".join([first, *columns]) + " |"
