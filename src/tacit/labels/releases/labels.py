"""From a private label column to a release of randomized labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacit.data.classes import MISSING, Classes, as_column
from tacit.labels.mechanisms.finite import FiniteMechanism
from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import is_seeded
from tacit.privacy.release import Release

__all__ = ["MissingLabels", "randomize_codes", "release_labels"]


class MissingLabels(StrEnum):
    """What to do with rows that have no label.

    ``REFUSE``: raise. ``PUBLIC``: they stay missing, and which rows they are is declared public.

    Examples
    --------
    >>> MissingLabels("public") is MissingLabels.PUBLIC
    True
    """

    REFUSE = "refuse"
    PUBLIC = "public"


def release_labels(
    labels: object,
    *,
    mechanism: FiniteMechanism,
    classes: Sequence[Any] | None = None,
    missing: MissingLabels = MissingLabels.REFUSE,
    rng: np.random.Generator,
) -> Release:
    """Randomize a label column, once.

    Parameters
    ----------
    labels
        Strings, booleans, whole numbers or categories: a list, array, pandas series or Arrow column.
    mechanism
        A mechanism on class codes; it is bound to the number of classes here.
    classes
        The public class list. None declares the classes that occur public, which the Guarantee then says.
    missing
        Whether rows without a label are refused, or kept as they are and declared public.
    rng
        :func:`tacit.privacy.noise.system_rng` for a real release; a seeded generator makes a seeded release.

    Returns
    -------
    Release
        A table with one column, ``label``, in the order of the rows.

    Examples
    --------
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> release = release_labels(["yes", "no", "yes"], mechanism=RandomizedResponse(epsilon=1.0),
    ...                          classes=["no", "yes"], rng=np.random.default_rng(0))
    >>> release.value.column_names, release.value.num_rows
    (['label'], 3)
    >>> print(release.guarantee)
    epsilon 1 for one label
    """
    column = as_column(labels)  # once: what gives its labels only once would be empty the second time
    coding = Classes.of(column, declared=classes)
    codes = coding.encode(column)
    bound = mechanism.bind(len(coding))
    randomized = randomize_codes(codes, mechanism=bound, missing=missing, rng=rng)
    return Release(
        value=pa.table({"label": coding.decode(randomized)}),
        guarantee=_promise(bound.guarantee(), coding, int((codes == MISSING).sum())),
        surface="labels",
        mechanism={"name": bound.name, "epsilon": bound.epsilon, "classes": list(coding.values)},
        seeded=is_seeded(rng),
    )


def randomize_codes(
    codes: NDArray[np.int64],
    *,
    mechanism: FiniteMechanism,
    missing: MissingLabels = MissingLabels.REFUSE,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Randomize class codes, leaving missing ones missing.

    Examples
    --------
    >>> from tacit.labels.mechanisms.response import RandomizedResponse
    >>> randomize_codes(np.array([0, -1]), mechanism=RandomizedResponse(epsilon=1.0, classes=2),
    ...                 rng=np.random.default_rng(0))
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: labels must not be missing, got 1 without a label; declare which rows are
    missing public, or leave those rows out
    """
    absent = codes == MISSING
    if not absent.any():
        return mechanism.randomize(codes, rng=rng)
    if missing is MissingLabels.REFUSE:
        raise InvalidInput(
            f"labels must not be missing, got {int(absent.sum())} without a label; declare which rows are missing "
            "public, or leave those rows out"
        )
    result = codes.copy()
    result[~absent] = mechanism.randomize(codes[~absent], rng=rng)
    return result


def _promise(guarantee: Guarantee, coding: Classes, absent: int) -> Guarantee:
    more = []
    if not coding.declared:
        more.append("which classes occur in the labels is public")
    if absent:
        more.append(f"which {absent} rows have no label is public")
    return replace(guarantee, assumptions=(*guarantee.assumptions, *more))
