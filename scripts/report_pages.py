"""Write the page of an audit in each situation that a reader may meet, and pictures of it.

    python scripts/report_pages.py --out FOLDER [--pictures]

The situations are audits of made-up people with a seed: nothing leaks, one release leaks, all are guaranteed and too
weak, too few rows, no utility, a partial run, and releases that are above the limit together. Pictures are PNGs at 390
and 1,280 pixels, light and dark; they need the development extra (Playwright) and Chromium.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from playwright.sync_api import sync_playwright

from tacit.audit import AuditPlan, AuditResult, PlannedRelease, RunLimits, run_audit
from tacit.audit.plan import planned_release
from tacit.audit.source import AuditedTable
from tacit.report import render_page

SEED, LIMITS = 0, RunLimits(odds=10, epsilon=4)
WIDTHS, SCHEMES = (390, 1280), ("light", "dark")
Release = tuple[str, Mapping[str, Any]]


def people(rows: int) -> AuditedTable:
    """Return people of whom a third are ill, mostly the old ones, in three regions."""
    rng = np.random.default_rng(SEED)
    age = rng.integers(20, 90, rows)
    ill = rng.random(rows) < 1 / (1 + np.exp(-(age - 65) / 6))
    columns = {"age": age, "region": rng.choice(["east", "north", "west"], rows), "ill": np.where(ill, "yes", "no")}
    return AuditedTable(
        name=f"people.csv, {rows:,} rows", table=pa.table(columns), label="ill", features=("age",), groups="region"
    )


def plan_of(rows: int, *releases: Release, epsilons: tuple[float, ...] = ()) -> AuditPlan:
    """Return the plan of an audit of so many people."""
    source = people(rows)
    steps = tuple(
        PlannedRelease(source=source, plan=planned_release(surface, source, keys)) for surface, keys in releases
    )
    return AuditPlan(steps=steps, epsilons=epsilons, limits=LIMITS, command="tacit audit tacit.toml")


def _labels(epsilon: float) -> Release:
    return "labels", {"epsilon": epsilon}


def _bags(epsilon: float | None) -> Release:
    return "bags", {"epsilon": epsilon, "by": [["age", "region"]], "min_size": 1 if epsilon is None else 10}


def _partial() -> AuditResult:
    """Interrupt the second of two releases, as Ctrl-C does."""

    def interrupt(_: str, done: int, __: int) -> None:
        if done:
            raise KeyboardInterrupt

    return run_audit(plan_of(4_000, _labels(0.5), _bags(0.5)), seed=SEED, progress=interrupt)


SITUATIONS: Mapping[str, Callable[[], AuditResult]] = {
    "nothing-leaks": lambda: run_audit(plan_of(4_000, _labels(0.5), _bags(0.5), epsilons=(0.2, 1.0, 3.0)), seed=SEED),
    "one-leaks": lambda: run_audit(plan_of(4_000, _labels(0.5), _bags(None), _bags(0.5)), seed=SEED),
    "too-weak": lambda: run_audit(plan_of(4_000, _labels(5.0), _labels(8.0)), seed=SEED),
    "too-few-rows": lambda: run_audit(plan_of(40, _labels(2.5)), seed=SEED),
    "no-utility": lambda: run_audit(plan_of(4_000, ("bags", {"epsilon": 1.0, "by": [["region"]]})), seed=SEED),
    "partial": _partial,
    "above-together": lambda: run_audit(plan_of(16_000, _labels(1.6), _labels(1.7)), seed=SEED),
}
"""Each situation by its name."""


def main() -> None:
    """Audit, write, draw."""
    parser = argparse.ArgumentParser(description="Write the page of an audit in each situation.")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the pages")
    parser.add_argument("--pictures", action="store_true", help="draw each page too")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, audit in SITUATIONS.items():
        page = options.out / f"{name}.html"
        page.write_text(render_page(audit()), encoding="utf-8")
        print(page)
        for picture in draw(page) if options.pictures else ():
            print(picture)


def draw(page: Path) -> Iterator[Path]:
    """Draw a whole page at each width, light and dark."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    args = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=args)
        for width in WIDTHS:
            for scheme in SCHEMES:
                view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
                view.goto(page.resolve().as_uri())
                path = page.with_name(f"{page.stem}-{width}-{scheme}.png")
                view.screenshot(path=str(path), full_page=True)
                view.close()
                yield path
        browser.close()


if __name__ == "__main__":
    main()
