"""The data that the ledger knows: new data sets, and new versions of known ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tacit.privacy.errors import InvalidInput, LedgerError, UnknownData
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.account import PrivacyAccount
from tacit.privacy.ledger.book import DataSetAccounts, account_row, now
from tacit.privacy.ledger.records import ALL, DataSetPart, DataSetVersion, check_text
from tacit.privacy.ledger.rows import Row, SealedRows
from tacit.privacy.ledger.schema import ACCOUNT, BUDGET, DATA_SET, LEDGER, LIMIT, PART, SKETCH, VERSION
from tacit.privacy.ledger.sketch import DataSetOverlap, DataSetSketch
from tacit.privacy.rounding import check_bounds

__all__ = [
    "DataSetTerms",
    "add_budget",
    "check_budget",
    "find_data_set",
    "identify",
    "known_counts",
    "open_window",
    "overlaps",
    "register",
]

Prints = Mapping[int, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetTerms:
    """The permanent declarations about a data set, and its first budget."""

    name: str
    budget: Guarantee
    parts: Sequence[DataSetPart]

    def __post_init__(self) -> None:
        check_text(self.name, name="name")
        check_budget(self.budget)
        for part in self.parts:
            check_limit(part, budget=self.budget)
        names = [part.name for part in self.parts]
        if len(set(names)) < len(names):
            raise InvalidInput(f"must have different names, got {', '.join(names)}", field="parts")
        ranged = sorted((p.rows.start, p.rows.stop, p.name) for p in self.parts if p.rows is not None)
        for (_, stop, first), (start, _, second) in pairwise(ranged):
            if start < stop:
                raise InvalidInput(
                    f"must share no row, but {first} ends before row {stop} and {second} starts at row {start}",
                    field="parts",
                )

    def check_length(self, rows: int) -> None:
        """Raise if a part extends beyond the data's rows."""
        for part in self.parts:
            if part.rows is not None and part.rows.stop > rows:
                raise InvalidInput(
                    f"part {part.name} must lie within the data's {rows} rows, got stop {part.rows.stop}"
                )


def check_budget(budget: Guarantee) -> Guarantee:
    """Return ``budget``, or raise if it is no guarantee.

    Examples
    --------
    >>> check_budget(3)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: budget must be a Guarantee, which has a unit, got 3
    """
    if not isinstance(budget, Guarantee):
        raise InvalidInput(f"must be a Guarantee, which has a unit, got {budget}", field="budget")
    check_bounds(budget.epsilon, budget.delta)
    return budget


def check_limit(part: DataSetPart, *, budget: Guarantee) -> None:
    """Raise if a part's own budget is above that of its data set."""
    for field in ("epsilon", "delta"):
        own, whole = getattr(part, field), getattr(budget, field)
        if own is not None and own > whole:
            raise InvalidInput(
                f"must be at most that of the data set, {whole:g}, for part {part.name}, got {own:g}", field=field
            )


def known_counts(rows: SealedRows) -> set[int]:
    """Return the row counts of all known versions, at which new data must be compared."""
    return {version["rows"] for version in rows.find(VERSION)}


def register(rows: SealedRows, prints: Prints, terms: DataSetTerms, sketch: DataSetSketch) -> None:
    """Record a new data set; data that the ledger already knows are rejected."""
    rows.find(LEDGER, lock=True)
    terms.check_length(max(prints))
    known = _match(rows, prints)
    if known is not None:
        raise LedgerError(
            f"the first {known['rows']} of these {max(prints)} rows are known to the ledger as "
            f"{_name_of(rows, known)!r}; charge that data set instead"
        )
    if rows.find(DATA_SET, DATA_SET.c.name == terms.name):
        raise LedgerError(f"the ledger has a data set {terms.name!r} already, with other data; choose another name")
    last = rows.last(DATA_SET)
    number = 1 if last is None else last["id"] + 1
    rows.add(DATA_SET, id=number, name=terms.name, unit=str(terms.budget.unit), rows=terms.budget.rows, time=now())
    add_budget(rows, number, terms.budget)
    _add_version(rows, number, prints)
    rows.add(SKETCH, data_set=number, **sketch.to_columns())
    for i, part in enumerate(terms.parts or [None], start=1):
        _add_part(rows, number, i, part, budget=terms.budget)


def open_window(rows: SealedRows, prints: Prints, window: DataSetPart, *, name: str) -> None:
    """Make the rows that were appended since the newest version a part of their own; without new rows, raise."""
    rows.find(LEDGER, lock=True)  # before the data set's lock, as in a payment: else two could wait for each other
    book = DataSetAccounts.find(rows, name, lock=True)
    if window.name in book.parts:
        raise InvalidInput(f"must be new, {name} has the part {window.name}", field="window")
    check_limit(window, budget=book.budget)
    known, newest = _match(rows, prints), rows.last(VERSION, VERSION.c.data_set == book.id)
    if known is None or newest is None or (known["data_set"], known["number"]) != (book.id, newest["number"]):
        raise UnknownData("the rows must be those of the newest version of the data set, with new ones after them")
    if known["rows"] == max(prints):
        raise InvalidInput(f"must have rows after the {known['rows']} that are known, got none", field="table")
    _add_version(rows, book.id, prints)
    part = replace(window, rows=range(known["rows"], max(prints)))
    number = 1 + max(int(row["number"]) for row in book.parts.values())
    _add_part(rows, book.id, number, part, budget=book.budget, last=book.newest)


def identify(rows: SealedRows, prints: Prints) -> DataSetVersion:
    """Return the version of the data: a new one if rows were appended to a known one."""
    rows.find(LEDGER, lock=True)
    known = _match(rows, prints)
    if known is None:
        raise UnknownData(
            f"the ledger does not know these {max(prints)} rows; register them first, with "
            "tacit ledger create NAME --table FILE, or name the data set that they are part of"
        )
    if known["rows"] < max(prints):
        known = _add_version(rows, known["data_set"], prints)
    return DataSetVersion(
        data_set=_name_of(rows, known), number=known["number"], rows=known["rows"], time=known["time"]
    )


def overlaps(rows: SealedRows, data_set: int) -> list[DataSetOverlap]:
    """Return the data sets that seem to have rows of this one, most first; nothing is refused for them."""
    known = {row["data_set"]: DataSetSketch.of_row(row) for row in rows.find(SKETCH)}
    own = known.pop(data_set, DataSetSketch())
    names = {row["id"]: str(row["name"]) for row in rows.find(DATA_SET)}
    found = [DataSetOverlap(data_set=names[other], share=own.share_with(sketch)) for other, sketch in known.items()]
    return sorted((one for one in found if one.share), key=lambda one: -one.share)


def find_data_set(rows: SealedRows, prints: Prints | None, *, dataset: str | None) -> tuple[str, int | None]:
    """Return the data set to charge, and the version of the private columns if they are known."""
    if prints is None:
        if dataset is None:
            raise InvalidInput(
                "must name what to charge: a table without a row order is not recognized", field="dataset"
            )
        return dataset, None
    try:
        known = identify(rows, prints)
    except UnknownData:
        if dataset is None:
            raise
        return dataset, None  # registered with more columns than these
    if dataset not in (None, known.data_set):
        raise InvalidInput(f"must be {known.data_set!r}, which has these labels, got {dataset!r}", field="dataset")
    return known.data_set, known.number


def add_budget(rows: SealedRows, data_set: int, budget: Guarantee) -> None:
    """Write the current budget."""
    last = rows.last(BUDGET, BUDGET.c.data_set == data_set)
    rows.add(
        BUDGET,
        data_set=data_set,
        number=1 if last is None else last["number"] + 1,
        epsilon=repr(budget.epsilon),
        delta=repr(budget.delta),
        time=now(),
    )


def _add_part(
    rows: SealedRows, data_set: int, number: int, part: DataSetPart | None, *, budget: Guarantee, last: int = 0
) -> None:
    lines = part.rows if part else None
    rows.add(
        PART,
        data_set=data_set,
        number=number,
        name=part.name if part else ALL,
        start=lines.start if lines else None,
        stop=lines.stop if lines else None,
    )
    if part is not None and (part.epsilon, part.delta) != (None, None):
        own = {"epsilon": part.epsilon, "delta": part.delta}
        limit = {name: repr(getattr(budget, name) if value is None else float(value)) for name, value in own.items()}
        rows.add(LIMIT, data_set=data_set, number=number, **limit)
    rows.add(ACCOUNT, **account_row(data_set, number, PrivacyAccount(budget=budget), last=last))


def _add_version(rows: SealedRows, data_set: int, prints: Prints) -> Row:
    last = rows.last(VERSION, VERSION.c.data_set == data_set)
    number = 1 if last is None else last["number"] + 1
    length = max(prints)
    values = {"data_set": data_set, "number": number, "rows": length, "fingerprint": prints[length], "time": now()}
    rows.add(VERSION, **values)
    return values


def _match(rows: SealedRows, prints: Prints) -> Row | None:
    """Return the longest known version that the data equal or extend."""
    versions = [version for version in rows.find(VERSION) if version["rows"] <= max(prints)]
    if any(version["rows"] not in prints for version in versions):
        raise LedgerError("another process registered data meanwhile; try again")
    hits = [version for version in versions if prints[version["rows"]] == version["fingerprint"]]
    return max(hits, key=lambda version: int(version["rows"]), default=None)


def _name_of(rows: SealedRows, version: Row) -> str:
    return str(rows.find(DATA_SET, DATA_SET.c.id == version["data_set"])[0]["name"])
