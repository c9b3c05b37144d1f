"""The best guess of each label of a release, compared with guessing without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.data import Encoder
from tacit.data.names import check_present
from tacit.labels.attacks.guess import LabelGuesses, guess_labels, guess_labels_in_order, guess_labels_with_features
from tacit.labels.attacks.planted import plant_and_guess
from tacit.labels.attacks.randomization import ResponseTest, test_randomization
from tacit.labels.fitting.model import named_estimator
from tacit.labels.methods import AttackMethod, Bayes, LabelCanaries
from tacit.labels.releases.matching import feature_names, rows_of
from tacit.labels.releases.release import Release
from tacit.leak import ABSTAIN, Leak
from tacit.privacy.edge import checked
from tacit.privacy.errors import InvalidInput
from tacit.privacy.noise import system_rng
from tacit.privacy.settings import read_choice

__all__ = ["attack"]

_SHUFFLE = (
    "Labels follow the order of the rows, and the guarantee is about one label when all others are fixed: it does not "
    "limit what neighbors reveal. Release the rows in random order (--shuffle)."
)

Progress = Callable[[int, int], None]


@checked
def attack(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    truth: object = None,
    before: ArrayLike | None = None,
    method: AttackMethod | str | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Leak:
    """Guess each label from the release, the features of its rows, and what was known before.

    Parameters
    ----------
    release
        The labels, or the path of their release.
    data
        The rows of the release, whose features the attacker has. Default: the columns released beside the labels.
    truth
        The table that was protected, to count correct guesses. Without it only the notes have the attacker's
        expectations.
    before
        Beliefs after an earlier release, (rows, classes) probabilities, instead of a model of the features.
    method
        Default: ``bayes``. ``canaries`` reads ``truth`` alone.
    level
        Confidence of the intervals.
    rng
        Splits rows and seeds models.
    progress
        Called with the steps done and the steps in all.

    Returns
    -------
    Leak
        Compared with the guesses of an attacker who knows the same but not the release; ``after`` has the beliefs.

    References
    ----------
    Wu et al. (2023) (expected attack utility); Busa-Fekete et al. (2024). Formula sheet c1, c2.

    Examples
    --------
    >>> from tacit.labels import Plan, protect
    >>> table = pa.table({"ill": ["no", "yes", "no", "no"] * 250})
    >>> release = protect(table, Plan(label="ill", epsilon=2), rng=np.random.default_rng(0))
    >>> leak = attack(release, truth=table)
    >>> leak.rate > leak.baseline, leak.facts["randomized_as_claimed"]
    (True, True)
    """
    released = Release.open(release)
    chosen: AttackMethod = Bayes() if method is None else read_choice(AttackMethod, method, field="method")
    generator = system_rng() if rng is None else rng
    if isinstance(chosen, LabelCanaries):
        return plant_and_guess(released, _true_rows(released, truth), level=level, rng=generator)
    tell = progress or (lambda _done, _steps: None)
    known = None if truth is None else _true_rows(released, truth)[released.asked.label]
    alone = guess_labels(released, prior=before)
    tell(1, 2)
    X, columns = _features(released, data) if before is None else (None, [])
    featured = None
    if X is not None:
        model = named_estimator(chosen.estimator)
        featured = guess_labels_with_features(released, X, model=model, rng=generator)
    best = featured or alone
    ordered = guess_labels_in_order(released, best) if released.header.ordered else None
    tell(2, 2)
    test = None if known is None else _test(released, known)
    notes = [f"{released}.", _note("alone", alone, known)]
    notes += [_note("and the features", featured, known)] if featured is not None else []
    if ordered is not None:
        notes += [_expected("and the order of its rows", ordered, known), _SHUFFLE]
        best = ordered
    notes += [f"{test}."] if test is not None else []
    notes += columns
    return replace(
        Leak.uncounted(notes=(), facts={}, level=level) if known is None else best.leak(known, level=level),
        after=best.beliefs,
        guesses=pa.table({"guess": best.labels, "confidence": best.confidence}),
        notes=tuple(notes),
        facts=_facts({"alone": alone, "with_features": featured, "with_order": ordered}, test),
    )


def _true_rows(release: Release, truth: object) -> pa.Table:
    if truth is None:
        raise InvalidInput("must be given: canaries are hidden in its labels", field="truth")
    rows = rows_of(release, truth, field="truth")
    check_present(release.asked.label, rows.column_names, argument="truth's label")
    return rows


def _features(release: Release, data: object) -> tuple[NDArray[np.float64] | None, list[str]]:
    """The features of the rows, and notes on the encoding of the columns."""
    if data is None and not set(release.feature_names) - {release.asked.person}:
        return None, []
    rows = release.table if data is None else rows_of(release, data, field="data")
    names = feature_names(release, rows, (), own=data is None)
    encoder = Encoder.fitted(rows, names)
    return (encoder.scaled(rows) if encoder.rules else None), encoder.notes()


def _test(release: Release, truth: pa.ChunkedArray) -> ResponseTest | None:
    """Whether randomized response acted as claimed, if all labels that were randomized are known."""
    plan = release.asked
    if not plan.mechanism.uniform:
        return None
    return test_randomization(truth, release.labels, epsilon=plan.epsilon or 0.0, classes=release.settled["classes"])


def _note(what: str, guesses: LabelGuesses, truth: pa.ChunkedArray | None) -> str:
    allowed = f"Under its prior the guarantee allows an advantage of at most {guesses.largest_advantage:.3f}."
    return f"{_expected(what, guesses, truth)} {allowed}"


def _expected(what: str, guesses: LabelGuesses, truth: pa.ChunkedArray | None) -> str:
    counted = "" if truth is None else f", and {guesses.leak(truth).rate:.1%} are"
    return f"From the release {what}: the attacker expects {_rate(guesses):.1%} of its guesses to be correct{counted}."


def _rate(guesses: LabelGuesses) -> float:
    return float(guesses.confidence[guesses.guesses != ABSTAIN].mean())


def _facts(found: Mapping[str, LabelGuesses | None], test: ResponseTest | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        name: {"expected_rate": _rate(guesses), "largest_advantage": guesses.largest_advantage}
        for name, guesses in found.items()
        if guesses is not None
    }
    if test is not None:
        facts |= {"randomized_as_claimed": test.acted(), "p_value": test.p_value}
    return facts
