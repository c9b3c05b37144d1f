"""What an attacker with the features infers about the labels from a release of bags."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.bags.attacks.components import SearchLimits
from tacit.bags.attacks.determined_labels import DeterminedLabels, determined
from tacit.bags.attacks.feature_prior import prior_from_features
from tacit.bags.attacks.guess import BagGuesses, guess_labels
from tacit.bags.methods import AttackMethod, TotalsAttack
from tacit.bags.releases.release import Release, UsedRows
from tacit.data import read_rows
from tacit.leak import Interval, Leak
from tacit.privacy.edge import Progress, checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import system_rng
from tacit.privacy.settings import read_choice

__all__ = ["attack"]

Floats = NDArray[np.float64]


@checked()
def attack(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    truth: object = None,
    before: Floats | None = None,
    method: AttackMethod | str | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Leak:
    """Find the labels that the totals determine, and guess every other label.

    With ``truth``, correct guesses are counted and compared with a baseline attacker who knows such rows but not the
    release. Without, the leak counts the labels that are determined, which is certain; what the attacker expects of
    the other guesses is in ``notes`` and ``facts``.

    Parameters
    ----------
    data
        The features of the rows that the bags were made from. Default: those of ``truth``.
    method
        ``TotalsAttack(limit, whole)``.

    Examples
    --------
    >>> from tacit.bags import Plan, protect
    >>> people = pa.table({"city": ["bonn", "rome", "oslo"], "ill": ["no", "yes", "no"]})
    >>> print(attack(protect(people, Plan(label="ill", epsilon=None, by=["city"], min_size=1)), data=people))
    100.0% of 3 labels are determined by the totals, compared with 0.0% without the release: advantage 1.000 ...
    """
    released = Release.open(release)
    chosen: AttackMethod = TotalsAttack() if method is None else read_choice(AttackMethod, method, field="method")
    given = truth if data is None else data
    if given is None:
        raise InvalidInput("must be given: the features of the rows that the bags were made from", field="data")
    used, known = released.used_rows(given), _true_labels(released, truth)
    fixed = determined(
        released.totals,
        used.table,
        whole=chosen.whole,
        witness=known,
        effort=SearchLimits(variables=chosen.limit),
        progress=progress or (lambda _done, _all: None),
    )
    outsider = _BagsAttacker(release=released, used=used, known=known, before=before, rng=rng)
    guesses = outsider.guesses(fixed)
    leak = _count_determined(fixed, level) if guesses is None or known is None else guesses.leak(known, level=level)
    return replace(
        leak,
        notes=_notes(released, fixed, guesses, known),
        facts=_facts(fixed, guesses, known),
        before=None if guesses is None else outsider.of_all_rows(guesses.prior, guesses),
        after=None if guesses is None else outsider.of_all_rows(guesses.beliefs, guesses),
        guesses=outsider.table(fixed, guesses),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _BagsAttacker:
    """The attacker: its rows, and its beliefs before the release."""

    release: Release
    used: UsedRows
    known: Floats | None
    before: Floats | None
    rng: np.random.Generator | None

    def guesses(self, fixed: DeterminedLabels) -> BagGuesses | None:
        """The best guesses; None if labels are numbers without a short list of values."""
        try:
            classes = len(self.release.totals.loss.label_values())
        except InvalidInput:
            return None
        guesses = guess_labels(self.release.totals, self.used.table, prior=self._prior(classes)).with_certain(fixed)
        return replace(guesses, classes=tuple(self.release.encoding.classes or ()))

    def of_all_rows(self, beliefs: Floats, guesses: BagGuesses) -> Floats:
        """The beliefs about every row of the private table; those about rows that were left out do not change."""
        used = self.used.numbers
        if used is None:
            return np.broadcast_to(beliefs, guesses.beliefs.shape)
        rows = (self.used.total, 1)
        every = np.tile(guesses.prior.mean(axis=0), rows) if self.before is None else np.array(self.before, dtype=float)
        every[used] = beliefs
        return every

    def table(self, fixed: DeterminedLabels, guesses: BagGuesses | None) -> pa.Table:
        """One row per guess, with labels in the private table's own type."""
        labels = fixed.labels if guesses is None else guesses.guesses
        rows = np.arange(len(labels)) if self.used.numbers is None else self.used.numbers
        made = fixed.known if guesses is None else np.ones(len(labels), dtype=np.bool_)
        names = self.release.encoding.classes
        said = labels[made] if names is None else np.array(names)[labels[made].astype(np.int64)]
        confidence = np.ones(int(made.sum())) if guesses is None else guesses.confidence
        return pa.table({"row": rows[made], "guess": said, "confidence": confidence, "determined": fixed.known[made]})

    def _prior(self, classes: int) -> Floats | None:
        if self.before is not None:
            return self._given(classes)
        names = [name for name in self.used.table.columns if name != self.release.asked.label]
        if self.known is None or not names:
            return None
        read = read_rows(self.used.table, columns=names)
        return prior_from_features(read, self.known, classes=classes, rng=self.rng or system_rng())

    def _given(self, classes: int) -> Floats:
        given = np.asarray(self.before, dtype=np.float64)
        shape = (self.used.total, classes)
        if given.shape != shape:
            raise InvalidInput(
                f"must have the shape {shape}, one line per row and one column per class", field="before"
            )
        return given if self.used.numbers is None else given[self.used.numbers]


def _true_labels(release: Release, truth: object) -> Floats | None:
    if truth is None:
        return None
    labels = release.encoding.read(release.used_rows(truth, argument="truth").table, argument="truth")
    release.totals.loss.statistic(labels)  # raises if a label is missing or out of range
    return labels


def _count_determined(fixed: DeterminedLabels, level: float) -> Leak:
    rate = fixed.count / fixed.rows
    certain = Interval(low=rate, high=rate, level=level)
    return Leak(
        right=fixed.count,
        trials=fixed.rows,
        baseline=0.0,
        interval=certain,
        advantage_interval=certain,
        method="a count: what the totals determine is certain",
        rate_of="labels are determined by the totals",
        baseline_of="without the release",
    )


def _right(fixed: DeterminedLabels, known: Floats) -> int:
    return int(np.isclose(fixed.labels[fixed.known], known[fixed.known]).sum())


def _notes(
    release: Release, fixed: DeterminedLabels, guesses: BagGuesses | None, known: Floats | None
) -> tuple[str, ...]:
    checked = f"; {_right(fixed, known):,} of those agree with the truth" if known is not None and fixed.count else ""
    lines = [f"{release}.", f"{fixed}{checked}."]
    if guesses is None:
        return tuple(lines)
    expected, without = guesses.confidence.mean(), guesses.prior.max(axis=1).mean()
    lines.append(f"The attacker expects {expected:.1%} correct guesses, {without:.1%} without the release.")
    if known is None:
        lines.append("Part of that is what rows of a bag have in common; comparing with the truth separates the two.")
        return tuple(lines)
    if isinstance(release.guarantee, Guarantee):
        lines.append(f"The guarantee allows an advantage of at most {guesses.largest_advantage:.3f} under that prior.")
    lines.append("Intervals are about this release: rows of a bag depend on each other, so other draws differ more.")
    return tuple(lines)


def _facts(fixed: DeterminedLabels, guesses: BagGuesses | None, known: Floats | None) -> dict[str, Any]:
    facts: dict[str, Any] = {**fixed.to_json(), "determined_right": None if known is None else _right(fixed, known)}
    if guesses is not None:
        facts |= {
            "expected_rate": float(guesses.confidence.mean()),
            "expected_baseline": float(guesses.prior.max(axis=1).mean()),
            "largest_advantage": None if known is None else guesses.largest_advantage,
        }
    return facts
