"""The text of a first ``tacit.toml``: one useful release on each surface, with comments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING

from tacit.audit.numeric_label import NumericLabel
from tacit.audit.suggestions import RowOrder, Suggestions, matching_columns
from tacit.privacy.plan import SURFACES, check_surfaces
from tacit.privacy.rounding import check_epsilon
from tacit.privacy.words import counted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["draft_plan"]

_TITLE = "# The releases that are planned, for: tacit audit tacit.toml\n"
_LEAST_BAG = 10
_SELECTED = 6


def draft_plan(
    found: Suggestions,
    *,
    file: str,
    label: str,
    rows: int,
    numeric: NumericLabel | None = None,
    left_out: Mapping[str, str] = MappingProxyType({}),
    without_label: int = 0,
    surfaces: Sequence[str] = SURFACES,
    epsilon: float = 1.0,
    public: str | None = None,
    order: RowOrder = RowOrder.RANDOM,
) -> str:
    """Return the text of a commented ``tacit.toml`` that plans one release on each surface.

    Parameters
    ----------
    found
        The table's columns and their suggested rules.
    file, label, rows
        The table's path relative to the plan, its private column, and its number of rows.
    numeric
        The range, grid and cuts of a label that is an amount; None for classes.
    left_out
        The columns that are not used, each with the reason.
    without_label
        How many rows are left out because they have no label.
    surfaces
        The surfaces to plan a release for.
    epsilon
        Of each release: for one label, or one record.
    public
        The public table that ranges and words come from; None: they come from the private rows.
    order
        Whether labels follow the order of the rows, and can be released in another one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = Suggestions(table=pa.table({"age": [31, 64] * 30}), features=["age"])
    >>> text = draft_plan(found, file="clicks.csv", label="clicked", rows=60, surfaces=["labels"])
    >>> print(text[text.index("[[labels]]"):])
    [[labels]]  # every row's label, randomized
    epsilon = 1  # for one label: smaller is safer, below 1 is strong
    <BLANKLINE>
    """
    check_surfaces(surfaces)
    e = f"{check_epsilon(epsilon):g}"
    declared = _declared(found, public)
    columns = found.features_used
    own = _of_classes(found.table, label) if numeric is None else _of_numbers(numeric)
    parts = {
        "labels": _LABELS.format(e=e, order=_ORDERS[order].format(released=_released(found.table, label)), **own),
        "bags": _bags(found, e, own, rows=rows),
        "features": _FEATURES.format(
            e=e, features=_listed(columns), select=min(_SELECTED, len(columns)), declared=declared, **own
        ),
        "scores": _SCORES.format(e=e, **own),
        "models": _MODELS.format(e=e, features=_listed(columns), declared=declared, **own),
    }
    head = _HEAD.format(
        file=_quoted(file),
        label=_quoted(label),
        features=_listed(columns),
        left_out=_left_out(left_out),
        gaps=_without_label(without_label),
        **own,
    )
    return "\n".join([head, *(parts[name] for name in SURFACES if name in surfaces)])


_HEAD = (
    f"{_TITLE}\n"
    + """\
[data]
file = {file}  # the table, relative to this file
label = {label}  # the private column
{gaps}{kind}features = {features}  # what an attacker may know about a row
{left_out}# rows = 20000  # rows drawn from a longer table

[audit]
epsilons = [0.1, 0.3, 1, 3, 10]  # where the curves are measured; [] for none, which is faster
delta = 1e-6  # of the total privacy cost
per_day = 5  # submissions per team and day: how long an attack on scores takes

# [limits]  # exit status 1 unless a run is below them, for CI
# odds = 10  # how much any release may change the odds of any label
# epsilon = 10  # total for one label
"""
)
_LABELS = """\
[[labels]]  # every row's label, randomized
{values}{order}epsilon = {e}  # for one label: smaller is safer, below 1 is strong
"""
_ORDERS = {
    RowOrder.RANDOM: "",
    RowOrder.SHUFFLED: (
        "shuffle = true  # the labels follow the order of the rows, which reveals them at any epsilon\n"
        "features = {released}  # released beside the labels, so that recipients can match them to rows\n"
    ),
    RowOrder.KEPT: (
        "# the labels follow the order of the rows, which reveals them at any epsilon: put the rows of the table in\n"
        "# random order first (no columns tell them apart, so that labels in random order would match no row)\n"
    ),
}
_BAGS = """\
[[bags]]  # label totals of the rows that share these columns
by = [{by}]
min_size = {least}  # smaller bags are not released
{totals}epsilon = {e}  # for one label; "none" for exact totals
"""
_RANDOM_BAGS = """\
[[bags]]  # label totals of random bags, because no column has few values of many rows each
mechanism = {{ name = "random", size = {size}, bags = {bags}, joins = 1 }}  # rows per bag, bags, and bags per row
{totals}epsilon = {e}  # for one label; "none" for exact totals
"""
_FEATURES = """\
[[features]]  # totals of the most informative columns for each class, with noise
mechanism = "totals"  # "rows" releases every row, with far more noise
features = {features}
select = {select}  # how many columns, after encoding, are released
epsilon = {e}  # for one record
delta = 1e-7
{cuts}{declared}"""
_SCORES = """\
[[scores]]  # a leaderboard of {errors}
{metric}epsilon = {e}  # for one label, over all submissions of all teams
submissions = 100
# policy = {{ name = "rounded", decimals = 5 }}  # with epsilon = "none": rounded scores without noise
"""
_MODELS = """\
[[models]]  # a network released with its weights; needs the extra torch
features = {features}
epsilon = {e}  # for one record, by DP-SGD
delta = 1e-7
{cuts}{declared}"""


def _released(table: pa.Table, label: str) -> str:
    matching = matching_columns(table, label)
    return _quoted("all") if {*matching, label} == {*table.column_names} else _listed(matching)


def _of_classes(table: pa.Table, label: str) -> dict[str, str]:
    """The values of the templates for a label that is classes; the log loss reads two numbers if they are 0 and 1."""
    values = set(table[label].unique().drop_null().to_pylist()) if label in table.column_names else set()
    coded = len(values) == 2 and values != {0, 1} and not any(isinstance(value, str) for value in values)
    totals = 'totals = "classes"  # because the two classes are numbers other than 0 and 1\n' if coded else ""
    return {"kind": "", "values": "", "totals": totals, "cuts": "", "metric": "", "errors": "log losses"}


def _of_numbers(label: NumericLabel) -> dict[str, str]:
    """The values of the templates for a label that is an amount."""
    low, high, cuts = f"{label.low}", f"{label.high}", ", ".join(map(str, label.cuts))
    return {
        "kind": f"# treated as an amount; its range and cuts are {label.origin}\n",
        "values": f'mechanism = "bins"\nvalues = "{low}:{high}:{label.step}"  # labels are rounded to these numbers\n',
        "totals": f'totals = "squared"  # of numbers, clipped to the range\nlower = {low}\nupper = {high}\n',
        "cuts": f"cuts = [{cuts}]  # the label becomes {len(label.cuts) + 1} classes; cuts {label.origin}\n",
        "metric": f'metric = {{ name = "mae", lower = {label.least}, upper = {label.most} }}\n',
        "errors": "mean absolute errors",
    }


def _without_label(rows: int) -> str:
    if not rows:
        return ""
    return f"# left out: {counted(rows, 'row')} without a label; the audit takes it as public which rows these are\n"


def _left_out(columns: Mapping[str, str]) -> str:
    return "".join(f"# left out: {name} ({why})\n" for name, why in columns.items())


def _bags(found: Suggestions, e: str, own: Mapping[str, str], *, rows: int) -> str:
    if found.bags:
        return _BAGS.format(by=", ".join(f"[{_quoted(name)}]" for name in found.bags), least=_LEAST_BAG, e=e, **own)
    bags = max(1, rows // 2 // _LEAST_BAG)  # the audit protects half of the rows
    return _RANDOM_BAGS.format(size=min(_LEAST_BAG, rows), bags=bags, e=e, **own)


def _declared(found: Suggestions, public: str | None) -> str:
    """Ranges, words and gaps of columns, a line each."""
    lines = [
        f"ranges.{_quoted(name)} = [{_end(low)}, {_end(high)}]{_left(found, name)}"
        for name, (low, high) in found.ranges.items()
    ]
    lines += [f"categories.{_quoted(name)} = {_listed(words)}" for name, words in found.categories.items()]
    lines += [f"gaps = {_listed(found.gaps)}"] if found.gaps else []
    if not lines:
        return ""
    origin = f"read off {public}" if public else "read off the private rows: put public ones in their place"
    return f"# ranges, words and gaps, {origin}\n" + "\n".join(lines) + "\n"


def _left(found: Suggestions, name: str) -> str:
    """What a range does not cover, as a comment."""
    codes, count = found.codes.get(name, ()), found.clipped.get(name, 0)
    if not (codes or count):
        return ""
    written = [f"{', '.join(codes)}, which may stand for a gap"] if codes else []
    written += [f"{counted(count, 'value')} far from the rest"] if count else []
    return f"  # without {', and '.join(written)}, clipped: put the public range"


def _end(end: float | date) -> str:
    return end.isoformat() if isinstance(end, date) else f"{end:.12g}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(words: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, words))}]"
