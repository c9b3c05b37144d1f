"""Write a first ``tacit.toml`` for a table: which column is private, what an attacker may know, what is planned."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.audit.plan import SURFACES
from tacit.audit.source import Source
from tacit.privacy.errors import InvalidInput
from tacit.privacy.files import Replaceable
from tacit.privacy.rounding import check_epsilon

__all__ = ["PLAN", "draft_plan", "suggest_features", "suggest_label"]

_FEW = 20
_MANY = 50
_LEAST_BAG = 10
_LEAST_HALVED = 30  # half of the rows are protected, and a bag must have enough of them
_LEAST_OF_LABEL = 4  # rows of each label: two in either half


def suggest_label(table: pa.Table) -> str:
    """Return the column that is most likely the label: the last one with 2 to 20 values, else the last.

    Examples
    --------
    >>> suggest_label(pa.table({"age": range(30), "clicked": [0, 1] * 15, "note": [None] * 30}))
    'clicked'
    """
    few = [name for name in table.column_names if 2 <= _values(table[name]) <= _FEW]
    return str((few or table.column_names)[-1])


def suggest_features(table: pa.Table, *, label: str) -> tuple[str, ...]:
    """Return the columns an attacker may know: all but the label, constants, lists, text of many values, row numbers.

    Text with more than 50 values, one for nearly every row, is a name, and says nothing of another row's label; so is
    a date, and so are integers that count more than 50 rows, each once.
    """
    return tuple(name for name in table.column_names if name != label and _tells(table[name]))


def draft_plan(source: Source, *, file: str, surfaces: Sequence[str] = tuple(SURFACES), epsilon: float = 1.0) -> str:
    """Return the text of a commented ``tacit.toml`` that plans one release on each surface.

    Parameters
    ----------
    file
        Its path as seen from the plan.
    epsilon
        Of each release: for one label, or one record.

    Examples
    --------
    >>> from tacit.audit.source import bundled_source
    >>> text = draft_plan(bundled_source("iris"), file="iris.csv", surfaces=("labels",), epsilon=2.0)
    >>> print(text[text.index("[[labels]]"):])
    [[labels]]  # every row's label, randomized
    epsilon = 2  # for one label: smaller is safer, below 1 is strong
    <BLANKLINE>
    """
    unknown = [name for name in surfaces if name not in SURFACES]
    if unknown or not surfaces:
        raise InvalidInput(f"surfaces must be some of {', '.join(SURFACES)}, got {', '.join(unknown) or 'none'}")
    e = f"{check_epsilon(epsilon):g}"
    parts = {
        "labels": _LABELS.format(e=e),
        "bags": _bags(source, e),
        "features": _numbers(source, "features", _FEATURES, e),
        "scores": _SCORES.format(e=e),
        "models": _numbers(source, "models", _MODELS, e),
    }
    head = _HEAD.format(file=_quoted(file), label=_quoted(source.label), features=_listed(source.features))
    return "\n".join([head, *(parts[name] for name in SURFACES if name in surfaces)])


PLAN = Replaceable("a plan for tacit audit", b"[data]")
"""What a new plan may replace."""

_HEAD = """\
# The releases that are planned, for: tacit audit tacit.toml

[data]
file = {file}  # CSV, Parquet or Arrow; seen from this file
label = {label}  # the private column
features = {features}  # what an attacker may know of a row
# rows = 20000  # of a longer table so many rows are drawn

[audit]
epsilons = [0.1, 0.3, 1, 3, 10]  # where the curves are measured; [] for none, which is faster
delta = 1e-6  # at which the total is taken
per_day = 5  # submissions of a team, to tell how many days an attack on scores takes

# [fail]  # exit status 1 above these, for CI
# leak = 0.05  # advantage of an attacker, by any release
# epsilon = 10  # of all releases together, for one label
"""
_LABELS = """\
[[labels]]  # every row's label, randomized
epsilon = {e}  # for one label: smaller is safer, below 1 is strong
"""
_BAGS = """\
[[bags]]  # label totals of the rows that share these columns
by = [{by}]
min_size = {least}  # smaller bags are not released
epsilon = {e}  # for one label; "none" for exact totals
"""
_RANDOM_BAGS = """\
[[bags]]  # label totals of random bags, exact: no column has few values of many rows each
mechanism = {{ name = "random", size = {size}, bags = {bags} }}  # rows per bag, and how many bags
epsilon = "none"
"""
_FEATURES = """\
[[features]]  # a few features of every row, with noise
features = {features}
epsilon = {e}  # for one record
delta = 1e-7
select = {select}  # how many features are released
ranges = {ranges}  # from the data, rounded up: set ranges that are public
# mechanism = "totals"  # class totals instead of rows: far less noise, enough for a classifier
"""
_SCORES = """\
[[scores]]  # a leaderboard of log losses
epsilon = {e}  # for one label, over all submissions of all teams
submissions = 100
# policy = {{ name = "rounded", decimals = 5 }}  # with epsilon = "none": rounded scores without noise
"""
_MODELS = """\
[[models]]  # a network that is released with its weights; needs the extra torch
features = {features}
epsilon = {e}  # for one record, by DP-SGD
delta = 1e-7
ranges = {ranges}  # from the data, rounded up: set ranges that are public
"""


def _bags(source: Source, e: str) -> str:
    columns = [
        name
        for name in _few_valued(source, most=2)
        if _values(source.table[name]) <= _FEW and _largest_bag(source, name) >= _LEAST_HALVED
    ]
    if columns:
        return _BAGS.format(by=", ".join(f"[{_quoted(name)}]" for name in columns), least=_LEAST_BAG, e=e)
    size = min(10, source.rows)
    return _RANDOM_BAGS.format(size=size, bags=max(1, source.rows // size))


def _numbers(source: Source, surface: str, text: str, e: str) -> str:
    """A release of columns that are numbers, where there are some."""
    columns = source.numbers
    if not columns:
        return f"# [[{surface}]] needs a column of numbers without gaps\n"
    sizes = np.bincount(source.codes)
    if surface == "features" and sizes.min() < _LEAST_OF_LABEL:
        rare, rows = source.classes[sizes.argmin()], f"{sizes.min()} row{'s' * int(sizes.min() != 1)}"
        why = f"label {rare!r} has {rows}, and half of the rows are released, two or more of each label"
        return f"# [[features]] cannot be planned: {why}\n"
    ranges = ", ".join(f"{_quoted(name)} = [{low}, {high}]" for name in columns for low, high in [_range(source, name)])
    return text.format(e=e, features=_listed(columns), select=min(6, len(columns)), ranges=f"{{ {ranges} }}")


def _range(source: Source, name: str) -> tuple[str, str]:
    """Return a range around a column's values, each end rounded away from zero to one digit."""
    ends = pc.min_max(source.table[name]).as_py()
    low, high = min(0.0, float(ends["min"])), max(0.0, float(ends["max"]))
    return f"-{_rounded_up(-low)}" if low else "0", _rounded_up(high) if high or not low else "0"


def _rounded_up(number: float) -> str:
    if number == 0:
        return "1"
    unit = 10.0 ** math.floor(math.log10(number))
    return f"{math.floor(number / unit + 1) * unit:g}"


def _few_valued(source: Source, *, most: int) -> tuple[str, ...]:
    """Return the feature columns with the fewest values: those that totals are usually made by."""
    values = {name: _values(source.table[name]) for name in source.features}
    return tuple(sorted(values, key=lambda name: (values[name], source.features.index(name)))[:most])


def _largest_bag(source: Source, column: str) -> int:
    return int(max(source.table.group_by([column]).aggregate([([], "count_all")])["count_all"].to_pylist()))


def _tells(column: pa.ChunkedArray) -> bool:
    count = _values(column)
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    if count > _MANY:
        return any(test(column.type) for test in kinds) and not _counts_rows(column, values=count)
    return count > 1


def _counts_rows(column: pa.ChunkedArray, *, values: int) -> bool:
    if not pa.types.is_integer(column.type) or values < len(column):
        return False
    ends = pc.min_max(column).as_py()
    return bool(ends["max"] - ends["min"] == values - 1)


def _values(column: pa.ChunkedArray) -> int:
    """Count the values; of lists and the like, which nothing here compares, none."""
    return 0 if pa.types.is_nested(column.type) else len(column.unique().drop_null())


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(columns: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, columns))}]"
