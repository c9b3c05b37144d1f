"""Columns of text whose values are numbers, dates or times: their types are settled by all rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from tacit.data.connection import connection
from tacit.data.view import TableView, is_stored, literal, quoted

__all__ = ["GAP_MARKS", "SAMPLE", "settle_text", "texts_of"]

GAP_MARKS = [
    *("", "-", "--", "---", "–", "—", "?", ".", "n/a", "n.a.", "na", "<na>", "#n/a", "none", "null", "nan", "nat"),  # noqa: RUF001
    *("nil", "missing", "unknown", r"\n", "(null)", "(blank)", "#null!", "#value!", "#ref!", "#div/0!"),
]
"""What is written, in upper or lower case, in the place of a missing number, date or time."""

SAMPLE = 1000
"""How many first rows suggest a type; all rows decide."""

_AT_ONCE = 100  # tests: the time to plan a query grows faster than their number
_TRIED = 20  # of the sample, for each format of dates
_MOST_SHAPES = 4  # of dates in one column

_MONEY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|JPY|INR|kr|zł)"
_PLAIN = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
_EXACT = r"\D*(?:\d\D*){1,15}|.*[.,].*"  # as a float; longer integers are ids
_PLAIN_FORMS = {
    "BIGINT": r"-?\d+",
    "DOUBLE": r"-?[\d.]+",
    "DATE": r"[\d-]{10}",
    "TIMESTAMP": r"[\d-]{10}[T ][\d:]{8}",
}
_CODE = r"[+-]?0\d+"  # 00123 is a code
_DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y"),
    *("%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%b-%Y", "%d-%b-%y"),
    *("%y-%m-%d", "%m-%d-%y", "%d-%m-%y"),
    *("%d %b %Y", "%b %d, %Y", "%b %d %Y", "%d %B %Y", "%B %d, %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M", "T%H:%M:%S")
_NUMERIC_DAYS = ("%d/%m", "%d.%m", "%d-%m", "%m/%d", "%m-%d")  # where the order of day and month is a choice
_LIKE_DAY = re.compile(r"\d{1,4}[-/. ]\w{1,9}[-/. ]\d{1,4}\b|[A-Z][a-z]{2,8} \d{1,2},? \d{4}\b")
_ISO_DAY = r"\d{4}-\d{2}-\d{2}"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?"
_ZONE = r" ?(?:Z|[+-]\d{2}(?::?\d{2})?)"
_ISO = {  # the type of each pattern
    _ISO_DAY: "DATE",
    f"{_ISO_DAY}[T ]{_CLOCK}": "TIMESTAMP",
    f"{_ISO_DAY}[T ]{_CLOCK}{_ZONE}": "TIMESTAMPTZ",
    _CLOCK: "TIME",
}


@dataclass(frozen=True, slots=True)
class _ColumnReading:
    """A way to read a column of text, by SQL: an expression, and a test of the values that it cannot read."""

    name: str
    expression: str
    fails: str
    confirmed: str = "true"
    """What else all rows must show."""
    quick: bool = False


def texts_of(rows: TableView) -> list[str]:
    """Return the columns of text."""
    return [name for name, kind in rows.types.items() if kind == "VARCHAR"]


def settle_text(rows: TableView, first: Mapping[str, Sequence[str | None]]) -> TableView:
    """Return a table whose columns of text are numbers, dates or times where every value is one.

    Numbers may have signs of currency or percent, thousands and decimals in either style, and parentheses for minus; a
    percentage keeps its number. Dates may mix formats, if all put the day first or all the month; times may have a
    zone. A gap mark such as ``-`` is then missing. A column that has any other value, or codes such as 00123, stays
    text; so does one of plain numbers only, except in a text file, where nobody chose its type.
    """
    marks = rows.decimal_marks
    readings = [one for name in texts_of(rows) for one in _suggested(name, first[name], marks.get(name))]
    settled: dict[str, str] = {}
    for some in _in_turns(rows, readings):
        settled |= _verified(rows, [one for one in some if one.name not in settled])
    return rows.replaced(settled)


def _in_turns(rows: TableView, readings: Sequence[_ColumnReading]) -> list[list[_ColumnReading]]:
    """Return the readings that one query tests: all if it reads a file, and the quick ones first if it does not."""
    if not is_stored(rows):
        return [list(readings)]
    turns = ([one for one in readings if one.quick is quick] for quick in (True, False))
    return [turn[start : start + _AT_ONCE] for turn in turns for start in range(0, len(turn), _AT_ONCE)]


def _suggested(name: str, values: Sequence[str | None], mark: str | None) -> Iterator[_ColumnReading]:
    """Yield the readings of all values of a sample, the likeliest first; in a text file, of no values too."""
    stated = (value.strip() for value in values if value is not None)
    known = [value for value in stated if value.lower() not in GAP_MARKS]
    if mark is not None:
        yield from _plain_readings(name, known, mark)
    elif not known:
        return
    value = _known(name)
    confirmed = "true" if known else f"count({value}) > 0"
    for kind, expression in _expressions(value, known, mark):
        wrong = f"{value} IS NOT NULL AND ({expression}) IS NULL"  # costs more, so asked only where it must be
        fails = f"CASE WHEN {_is_plain(name, kind, mark or '.')} THEN false ELSE {wrong} END"
        signs = mark is None and kind in ("BIGINT", "DOUBLE")
        yield _ColumnReading(name, expression, fails, _has_signs(name) if signs else confirmed)


def _plain_readings(name: str, known: Sequence[str], mark: str) -> Iterator[_ColumnReading]:
    """Yield what reads a column as programs write it, without gap marks; that is quick."""
    for kind, form in _PLAIN_FORMS.items():
        if _all_match(form.replace(".", mark), known):
            value = f"replace({quoted(name)}, '{mark}', '.')" if kind == "DOUBLE" else quoted(name)
            fails = f"NOT {_is_plain(name, kind, mark)}"
            yield _ColumnReading(name, f"CAST({value} AS {kind})", fails, f"count({quoted(name)}) > 0", quick=True)


def _is_plain(name: str, kind: str, mark: str) -> str:
    """Return the test that a value is missing, or written as programs do: digits, with decimals, or an ISO time."""
    raw = quoted(name)
    integer = f"TRY_CAST({raw} AS BIGINT)::VARCHAR = {raw}"
    decimal = f"TRY_CAST(replace({raw}, '{mark}', '.') AS DOUBLE) IS NOT NULL"
    tests = {
        "BIGINT": integer,
        "DOUBLE": f"CASE WHEN contains({raw}, '{mark}') THEN {decimal} ELSE {integer} END",
        "DATE": f"length({raw}) = 10 AND TRY_CAST({raw} AS DATE) IS NOT NULL",
        "TIMESTAMP": f"length({raw}) = 19 AND {raw}[17] = ':' AND TRY_CAST({raw} AS TIMESTAMP) IS NOT NULL",
    }
    return f"CASE WHEN {raw} IS NULL OR {tests.get(kind, 'false')} THEN true ELSE false END"


def _has_signs(name: str) -> str:
    """Return the test that not all values are plain numbers: else someone made text of them."""
    raw = quoted(name)
    return f"count_if({raw} IS NOT NULL AND NOT coalesce({_matches(raw, _PLAIN)}, false)) > 0"


def _expressions(value: str, known: Sequence[str], mark: str | None) -> Iterator[tuple[str, str]]:
    """Yield types, and the expressions of them that may read a column, null for what they cannot read."""
    for pattern, kind in _ISO.items():
        if _all_match(pattern, known):
            yield kind, f"TRY_CAST(CASE WHEN {_matches(value, pattern)} THEN {_cast_alike(value)} END AS {kind})"
    for forms in _formats_of_dates(known):
        kind = "DATE" if {*forms} <= {*_DAYS} else "TIMESTAMP"
        yield f"{kind} by its format", f"CAST(try_strptime({value}, {literal(forms)}) AS {kind})"
    for decimal, thousands in _styles(known, mark):
        pattern = _number(decimal, thousands)
        if _all_match(f"{pattern}|{_PLAIN}", known):
            integers = not any(decimal in one or "e" in one.lower() for one in known)
            for kind in ("BIGINT", "DOUBLE") if integers else ("DOUBLE",):
                yield kind, _as_number(value, pattern, decimal, kind)


def _styles(known: Sequence[str], mark: str | None) -> list[tuple[str, str]]:
    """Return the marks of decimals and of thousands that a column may have, the likelier ones first."""
    styles = [(".", ","), (",", ".")]
    if mark is None:
        return styles
    first = (mark, "." if mark == "," else ",")
    return [first] if _all_match(rf"[+-]?[\d{mark}]*", known) else sorted(styles, key=first.__ne__)


def _formats_of_dates(values: Sequence[str]) -> Iterator[list[str]]:
    """Yield the formats that read all values, one for each shape that they have, in one order of day and month."""
    if not values or not _LIKE_DAY.match(values[0]):
        return
    shapes: dict[str, list[str]] = {}
    for value in values:
        shapes.setdefault(_shape(value), []).append(value)
    if len(shapes) > _MOST_SHAPES:
        return
    for forms in product(*(_formats_of(alike[:_TRIED]) for alike in shapes.values())):
        if len({form[:2] for form in forms if form.startswith(_NUMERIC_DAYS)}) < 2:
            yield list(dict.fromkeys(forms))


def _formats_of(values: Sequence[str]) -> list[str]:
    return [day + clock for day in _DAYS for clock in _CLOCKS if all(_is_date(one, day + clock) for one in values)]


def _shape(value: str) -> str:
    """Return what dates of one format share: their signs, and where the year has four digits."""
    return re.sub(r"[^\W\d]+", "a", re.sub(r"\d{1,3}", "9", re.sub(r"\d{4}", "Y", value)))


def _number(decimal: str, thousands: str) -> str:
    """Return the pattern of numbers; a space separates thousands only before decimals, else it may be a phone's."""
    whole = rf"(?:\d{{1,3}}(?:[{thousands}'’\x{{a0}}\x{{202f}}]\d{{3}})+|\d+)(?:[{decimal}]\d+)?"  # noqa: RUF001
    spaced = rf"\d{{1,3}}(?: \d{{3}})+[{decimal}]\d+"
    sign = r"[+-]?\s?"
    return rf"\(?{sign}{_MONEY}?\s?{sign}(?:{whole}|{spaced})[\s\x{{a0}}\x{{202f}}]?(?:{_MONEY}|%)?\)?"


def _as_number(value: str, pattern: str, decimal: str, kind: str) -> str:
    digits = f"replace(regexp_replace({value}, '[^0-9{decimal}]', '', 'g'), '{decimal}', '.')"
    minus = f"CASE WHEN contains({value}, '-') OR starts_with({value}, '(') THEN -1 ELSE 1 END"
    signed = f"TRY_CAST({digits} AS {kind}) * {minus}"
    plain = f"TRY_CAST({value} AS {kind})"
    wrong = _matches(value, _CODE) + (f" OR NOT {_matches(value, _EXACT)}" if kind == "DOUBLE" else "")
    return (
        f"CASE WHEN {wrong} THEN NULL WHEN {_matches(value, _PLAIN)} THEN {plain} "
        f"WHEN {_matches(value, pattern)} THEN {signed} END"
    )


def _verified(rows: TableView, readings: Sequence[_ColumnReading]) -> dict[str, str]:
    """Return the first reading of each column that reads every value of it."""
    if not readings:
        return {}
    tests = [f"count_if({one.fails}) = 0 AND {one.confirmed}" for one in readings]
    found = connection().execute(f"SELECT {', '.join(tests)} FROM {quoted(rows.name)}").fetchone() or ()
    settled: dict[str, str] = {}
    for one, reads_all in zip(readings, found, strict=True):
        if reads_all:
            settled.setdefault(one.name, one.expression)
    return settled


def _known(name: str) -> str:
    """Return the expression of a column's text, null for a gap mark."""
    text = f"trim({quoted(name)})"
    return f"CASE WHEN lower({text}) NOT IN ({', '.join(map(literal, GAP_MARKS))}) THEN {text} END"


def _cast_alike(value: str) -> str:
    """Return the expression of a time with a zone as DuckDB casts it: with seconds, and no space before the zone."""
    seconds = rf"regexp_replace({value}, '([T ]\d{{1,2}}:\d{{2}}) ?(Z|[+-])', '\1:00\2')"
    return f"regexp_replace({seconds}, ' (Z|[+-])', '\\1')"


def _matches(value: str, pattern: str) -> str:
    return f"regexp_full_match({value}, {literal(pattern)})"


def _all_match(pattern: str, values: Sequence[str]) -> bool:
    compiled = re.compile(pattern.replace(r"\x{a0}", "\xa0").replace(r"\x{202f}", "\u202f"))
    return all(compiled.fullmatch(value) for value in values)


def _is_date(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True
