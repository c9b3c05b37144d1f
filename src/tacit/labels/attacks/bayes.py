"""The likeliest label of each row, compared with guessing without the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tacit.labels.attacks.alignment import ASSUMED
from tacit.labels.attacks.attacked_labels import AttackedLabels
from tacit.labels.attacks.guess import (
    LabelGuesses,
    guess_labels,
    guess_labels_in_groups,
    guess_labels_in_order,
    guess_labels_with_features,
)
from tacit.labels.attacks.randomization import ResponseTest, test_randomization
from tacit.labels.fitting.likelihood import LikelihoodRegression
from tacit.labels.fitting.model import named_estimator
from tacit.labels.methods import Bayes
from tacit.labels.releases.release import Release
from tacit.leak import ABSTAIN, Leak

__all__ = ["guess_by_bayes"]

_SHUFFLE = (
    "Labels follow the order of the rows, and the guarantee is about one label when all others are fixed: it does not "
    "limit what neighbors reveal. Release the rows in random order (--shuffle)."
)
_PERSON = (
    "Rows with the same value share their labels, and the guarantee is about one label when all others are fixed: it "
    "does not limit what they reveal together. Name the column that says whose row it is (--person)."
)


def guess_by_bayes(method: Bayes, target: AttackedLabels) -> Leak:
    """Guess each label from the release, then with features, rows of equal values, and the order, as each helps."""
    released, compared, known = target.release, target.compared(), target.true_labels()
    alone = guess_labels(released, prior=target.before)
    target.progress(1, 2)
    X, columns = target.features() if target.before is None else (None, [])
    featured = None
    if X is not None:
        model = LikelihoodRegression() if method.estimator == "logistic" else named_estimator(method.estimator)
        featured = guess_labels_with_features(released, X, model=model, rng=target.rng)
    best = featured or alone
    rows = target.rows()
    grouped = None if rows is None else guess_labels_in_groups(released, best, rows)
    ordered = guess_labels_in_order(released, best) if released.header.ordered else None
    target.progress(2, 2)
    test = None if known is None else _test(released, known)
    notes = [f"{released}.", _note("alone", alone, known)]
    notes += [_note("and the features", featured, known)] if featured is not None else []
    if grouped is not None:
        column, best = grouped
        notes += [_expected(f"and rows of the same value of {column}", best, known), _PERSON]
    if ordered is not None:
        notes += [_expected("and the order of its rows", ordered, known), _SHUFFLE]
        best = ordered
    notes += [f"{test}."] if test is not None else []
    assumed = known is not None and released.header.ordered and not compared
    notes += [ASSUMED] if assumed and test is not None and not test.acted() else []
    unknown = Leak.uncounted(notes=(), facts={}, level=target.level)
    return replace(
        unknown if known is None else best.leak(known, level=target.level),
        after=best.beliefs,
        guesses=pa.table({"guess": best.labels, "confidence": best.confidence}),
        notes=(*notes, *columns),
        facts={
            **_facts({"alone": alone, "with_features": featured, "with_order": ordered}, test),
            **({"same_value_of": grouped[0]} if grouped is not None else {}),
            **({"order_assumed": assumed} if known is not None else {}),
        },
    )


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
    counted = "" if truth is None else f", and {guesses.share_right(truth):.1%} are"
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
