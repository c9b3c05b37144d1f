"""Labels as numbers: words become the places of a public class list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis
    import numpy as np
    from numpy.typing import NDArray

    from tacit.bags.partition import BagTotals

__all__ = ["classes_of", "numbers_of", "read_labels", "recode"]


def numbers_of(text: str, *, option: str) -> list[float]:
    """Read numbers with commas between."""
    from tacit.cli.options import words_of
    from tacit.privacy.errors import InvalidInput

    try:
        numbers = [float(word) for word in words_of(text)]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise InvalidInput(f"{option} must be numbers with commas between, got {text!r}")
    return numbers


def recode(rows: ibis.Table, *, label: str, classes: Sequence[str]) -> ibis.Table:
    """Replace each label by its place in the class list; without a list, labels must be numbers."""
    import ibis

    from tacit.data.names import check_present
    from tacit.privacy.errors import InvalidInput

    kind = rows[check_present(label, rows.columns, argument="--label")].type()
    if not classes:
        if kind.is_string():
            raise InvalidInput(f"--classes must list the labels of {label!r} in order, such as no,yes: it holds text")
        return rows
    words = rows[label].cast("float64") if kind.is_numeric() else rows[label].cast("string")
    names = numbers_of(",".join(classes), option="--classes") if kind.is_numeric() else list(classes)
    places = [(words == name, place) for place, name in enumerate(names)]
    coded = ibis.cases(*places, else_=ibis.null("int64")).cast("int64")
    outside = int(rows.filter(coded.isnull()).count().execute())
    if outside:
        raise InvalidInput(f"--classes must list every label of {label!r}, got {outside} rows with another or none")
    return rows.mutate(**{label: coded})


def classes_of(mechanism: Mapping[str, Any]) -> list[str]:
    """The class list that a release says, or none where labels were numbers."""
    return [str(name) for name in mechanism.get("classes", [])]


def read_labels(release: BagTotals, path: object, *, label: str | None) -> NDArray[np.float64]:
    """Read true labels as the numbers that the release was made from."""
    import numpy as np

    from tacit.data import load_table, read_rows
    from tacit.privacy.errors import InvalidInput

    name, classes = label or release.label, classes_of(release.mechanism)
    try:
        rows = recode(load_table(path), label=name, classes=classes)
    except InvalidInput as error:  # recode knows protect's options
        if not str(error).startswith("--classes"):
            raise
        wanted = f"the release's classes {', '.join(classes)}" if classes else "numbers, as the release was made from"
        raise InvalidInput(f"--label must name a column of {wanted}, got {name!r}, which holds others") from None
    column = read_rows(rows, columns=[name])[name].to_numpy(zero_copy_only=False)
    checked = release.loss.statistic(column)  # raises where a label is missing or out of range
    return np.asarray(column, dtype=np.float64) if len(checked) else np.zeros(0)
