"""Measure one planned release by the functions that users call: protect, learn, attack."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.audit.advice import advise, tell_leak
from tacit.audit.bounds import with_bound
from tacit.audit.finding import Finding
from tacit.audit.plan import Step
from tacit.audit.score_utility import order_utility
from tacit.audit.source import Halves
from tacit.audit.utility import Utility, share_utility
from tacit.leak import Leak
from tacit.privacy.releases import Release

__all__ = ["measure"]

Tell = Callable[[str], None]


def measure(step: Step, *, rng: np.random.Generator, tell: Tell) -> Finding:
    """Protect one half of the rows, attack the release, and judge on the other half what is learned from it.

    Scores are of all rows: their utility is the order of honest submissions, which needs no rows withheld.
    """
    setting = step.plan.describe()
    tell(f"{step.surface}: {setting}")
    start = time.perf_counter()
    release, leak, utility = _scores(step, rng) if step.surface == "scores" else _rows(step, rng)
    return Finding(
        surface=step.surface,
        data=step.source.name,
        setting=setting,
        guarantee=release.guarantee,
        leak=replace(leak, roc=None, guesses=None, after=None),  # without what has a number per row
        utility=utility,
        told=tell_leak(leak),
        remedy=advise(step, leak, utility),
        certain=int(leak.facts.get("determined", 0)),
        seconds=time.perf_counter() - start,
    )


def _rows(step: Step, rng: np.random.Generator) -> tuple[Release, Leak, Utility]:
    """A release of rows, totals or a model."""
    surface: Any = import_module(f"tacit.{step.surface}")
    of_models = step.surface == "models"  # whose attacker has rows that were never used, by coins that bound epsilon
    halves = step.source.coins(rng) if of_models else step.source.halves(rng)
    release = surface.protect(halves.kept, step.plan, rng=rng)
    rows = halves.known(step.plan.person) if step.surface in ("labels", "bags") else None
    leak = surface.attack(
        release,
        data=halves.comparable(halves.withheld) if of_models else rows,
        truth=halves.comparable(halves.kept) if of_models else halves.kept,
        method=_method(step),
        rng=rng,
    )
    model = surface.learn(release, data=rows, test=halves.comparable(halves.withheld), rng=rng)
    return release, with_bound(leak, release, step, rng), _utility(model, halves)


def _method(step: Step) -> str | None:
    """Return the attack that bounds epsilon best in seconds, where it is not the surface's own choice."""
    mechanism = step.plan.to_json().get("mechanism", {})
    if step.surface == "models":
        return "loss:fair_coins=true"
    return "canaries:records=500" if mechanism.get("name") == "totals" else None


def _utility(model: Any, halves: Halves) -> Utility:  # noqa: ANN401
    truth = _words(halves.withheld[halves.label])
    rows = halves.withheld.select(list(halves.source.features))
    predicted = _words(pa.array(np.asarray(model.predict(rows)).tolist()))
    return share_utility(
        "accuracy on withheld rows of a model trained on the release",
        predicted == truth,
        halves.plain_predictions() == truth,
        truth=truth,
    )


def _words(labels: pa.Array | pa.ChunkedArray) -> NDArray[np.str_]:
    return np.asarray(labels.cast(pa.string()).to_pylist(), dtype=str)


def _scores(step: Step, rng: np.random.Generator) -> tuple[Release, Leak, Utility]:
    """A host's offer to score submissions, attacked with as many as it takes."""
    scores: Any = import_module("tacit.scores")
    offer = scores.protect(step.source.table, step.plan, rng=rng)
    leak = scores.attack(offer, truth=step.source.table, before=step.source.prior, rng=rng)
    return offer, leak, order_utility(step, rng)
