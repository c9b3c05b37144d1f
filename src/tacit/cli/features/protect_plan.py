"""From the options of ``tacit features protect`` to a plan of what leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tacit.cli.features.protect_options import ScoreName
from tacit.cli.options import assumed, show_progress, words_of
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from tacit.features import Box, FeaturePlan, ProtectedFeatures
    from tacit.features.protect.survey import FeatureTable
    from tacit.features.theory import BudgetSplit
    from tacit.privacy.ledger import Ledger

__all__ = ["Wanted", "box_of", "class_sizes", "describe", "load_features"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the options ask for."""

    keep: int
    epsilon: float
    delta: float
    totals: bool
    label_epsilon: float | None
    selection_epsilon: float | None
    score: ScoreName
    class_rows: tuple[int, ...]

    def split(self, source: FeatureTable) -> BudgetSplit:
        """Return how epsilon is divided, in theory or as the options say."""
        from tacit.features.theory import split_budget

        self._check(len(source.features))
        split = split_budget(
            self.epsilon,
            delta=self.delta,
            features=len(source.features),
            keep=self.keep,
            rows=int(source.table.count().execute()),
            classes=len(source.classes),
            released_rows=not self.totals,
            label_epsilon=self.label_epsilon,
            public_class_rows=bool(self.class_rows),
        )
        return split if self.selection_epsilon is None else self._with_selection(split, self.selection_epsilon)

    def _check(self, features: int) -> None:
        if self.keep > features:
            raise InvalidInput(f"--keep must be at most the number of features, {features}, got {self.keep}")
        if self.totals and self.label_epsilon is not None:
            raise InvalidInput("--label-epsilon must not stand with --totals: labels leave through the totals alone")
        if self.keep == features and (self.class_rows or self.selection_epsilon is not None):
            raise InvalidInput(
                f"--selection-epsilon and --class-rows must not stand with --keep {features}: all features leave, and "
                "there is nothing to choose"
            )

    def _with_selection(self, split: BudgetSplit, epsilon: float) -> BudgetSplit:
        from tacit.privacy.rounding import check_epsilon, exact

        chosen = exact(check_epsilon(epsilon, name="--selection-epsilon"))
        left = exact(self.epsilon) - exact(split.class_rows) - exact(split.labels) - chosen
        if left <= 0:
            raise InvalidInput(f"--selection-epsilon must leave something of epsilon {self.epsilon!r}, got {epsilon!r}")
        return replace(split, selection=float(chosen), release=float(left))

    def plan(self, split: BudgetSplit, *, box: Box) -> FeaturePlan:
        """Return what leaves under this division."""
        from tacit.features import (
            ClassTotals,
            Distance,
            FeaturePlan,
            NoisedClassRows,
            NoisedRows,
            PrivateSelection,
            PublicClassRows,
            TStatistic,
        )
        from tacit.labels.mechanisms.response import RandomizedResponse

        release = (ClassTotals if self.totals else NoisedRows)(epsilon=split.release, delta=self.delta)
        labels = None if self.totals else RandomizedResponse(epsilon=split.labels)
        plan = FeaturePlan(box=box, release=release, labels=labels)
        if not split.selection:  # all features leave
            return plan
        by = Distance() if self.score is ScoreName.DISTANCE else TStatistic()
        sizes = self.class_rows
        rows = PublicClassRows(rows=sizes) if sizes else NoisedClassRows(epsilon=split.class_rows)
        selection = PrivateSelection(epsilon=split.selection, keep=self.keep, score=by)
        return replace(plan, selection=selection, class_rows=rows)

    def release(
        self,
        source: FeatureTable,
        path: Path,
        *,
        split: BudgetSplit,
        box: Box,
        ledger: Ledger | None,
        dataset: str | None,
        rng: np.random.Generator,
        force: bool,
    ) -> ProtectedFeatures:
        """Write the release, with a bar on standard error."""
        from tacit.features import protect_features

        with show_progress("features") as report:
            return protect_features(
                source.table,
                path,
                label=source.label,
                plan=self.plan(split, box=box),
                features=source.features,
                classes=source.classes.values,
                ledger=ledger,
                dataset=dataset,
                rng=rng,
                force=force,
                progress=report,
            )


def box_of(bound: float | None, lower: float | None, upper: float | None) -> Box:
    """Return the public bounds."""
    from tacit.features import Box

    if bound is not None and lower is None and upper is None:
        if not 0 < bound < float("inf"):
            raise InvalidInput(f"--bound must be a finite number > 0, got {bound!r}")
        return Box.symmetric(bound)
    if bound is None and lower is not None and upper is not None:
        return Box(lower=lower, upper=upper)
    raise InvalidInput("give --bound, or --lower and --upper: noise needs public bounds of the values")


def class_sizes(text: str) -> tuple[int, ...]:
    """Return public class sizes, none if the text is empty."""
    try:
        return tuple(int(word) for word in words_of(text))
    except ValueError:
        raise InvalidInput(f"--class-rows must be whole numbers, one a class, got {text!r}") from None


def load_features(path: Path, *, label: str, features: str, classes: str) -> FeatureTable:
    """Return the table with the features and classes that the options name."""
    from tacit.data import load_table
    from tacit.features.protect.survey import FeatureTable

    return FeatureTable.of(
        load_table(path), label=label, features=words_of(features) or None, classes=words_of(classes) or None
    )


def describe(made: ProtectedFeatures, split: BudgetSplit) -> str:
    """Say what was released, how epsilon is divided, and what was charged."""
    from tacit.privacy.rounding import format_up

    parts = {
        "class sizes": split.class_rows,
        "choice": split.selection,
        "features": split.release,
        "labels": split.labels,
    }
    divided = ", ".join(f"{name} {format_up(part)}" for name, part in parts.items() if part)
    charged = [f"{made.receipt}."] if made.receipt else []
    rests = assumed(made.guarantee)
    return "\n".join([f"{made}.", f"Features: {', '.join(made.features)}.", f"Epsilon: {divided}.", *rests, *charged])
