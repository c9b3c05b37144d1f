"""One encoder: every kind of column becomes finite numbers, by rules that are stored and read back alike."""

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tacit.data import Encoder
from tacit.data.encoder import DateColumn, HashedColumn, NumberColumn
from tacit.privacy.errors import InvalidInput, InvalidRelease

ROWS = 120


def mixed(seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    gap = rng.random(ROWS) < 0.2
    return pa.table(
        {
            "id": np.arange(1000, 1000 + ROWS)[rng.permutation(ROWS)],
            "name": [f"Person {number}" for number in range(ROWS)],
            "born": [date(1950, 1, 1) + timedelta(days=int(days)) for days in rng.integers(0, 20_000, ROWS)],
            "seen": pa.array(
                [datetime(2020, 1, 1) + timedelta(hours=int(hours)) for hours in rng.integers(0, 9_000, ROWS)],
                mask=gap,
            ),
            "at": [time(int(hour), 30) for hour in rng.integers(0, 24, ROWS)],
            "ward": pa.array([f"W{k}" for k in rng.integers(0, 3, ROWS)]).dictionary_encode(),
            "smokes": pa.array(rng.random(ROWS) < 0.3, mask=gap),
            "weight": pa.array(rng.normal(70, 9, ROWS), mask=gap),
            "cost": [Decimal("1.5") * int(number) for number in rng.integers(1, 9, ROWS)],
            "site": ["north"] * ROWS,
            "codes": [[1, 2]] * ROWS,
        }
    )


RANGES = {"*": (0, 200), "born": (date(1940, 1, 1), date(2010, 1, 1)), "seen": (date(2020, 1, 1), date(2024, 1, 1))}


def declared(table: pa.Table, **given) -> Encoder:
    names = [name for name in table.column_names if name != "codes"]
    return Encoder.declared(table.schema, names, **{"ranges": RANGES, "categories": {"ward": ("W0", "W1")}, **given})


def test_fitting_leaves_out_what_says_nothing_of_other_rows_and_says_so():
    encoder = Encoder.fitted(mixed())
    assert dict(encoder.left_out) == {
        "id": "an id: integers that differ in every row",
        "name": "120 values in 120 rows: an id, a name or free text",
        "site": "the same in every row",
        "codes": "list<item: int64>, neither numbers, truth values, dates nor text",
    }
    assert encoder.notes() == [
        "Left out: id (an id: integers that differ in every row); "
        "name (120 values in 120 rows: an id, a name or free text); "
        "site (the same in every row); codes (list<item: int64>, neither numbers, truth values, dates nor text)."
    ]
    assert encoder.columns() == ("born", "seen", "at", "ward", "smokes", "weight", "cost")


def test_a_column_that_a_user_names_is_not_left_out():
    encoder = Encoder.fitted(mixed(), ["id", "name", "site"], chosen=True)
    assert encoder.columns() == ("id", "name", "site")
    assert encoder.notes() == ["Text hashed, so that some values share a column: name (64 buckets)."]
    with pytest.raises(InvalidInput, match="features must leave out column 'codes', which is list"):
        Encoder.fitted(mixed(), ["codes"], chosen=True)
    with pytest.raises(InvalidInput, match=r"features must name a column to use\. Left out: site"):
        Encoder.fitted(mixed(), ["site"]).encode(mixed())


@pytest.mark.parametrize("scattered", [7, 1_000_000])
def test_ids_are_told_from_measured_integers(scattered):
    rng = np.random.default_rng(0)
    ids = 10_000 + rng.permutation(2 * ROWS)[:ROWS]  # half of a range, in no order
    measured = rng.integers(0, scattered * ROWS if scattered > 7 else scattered, ROWS)
    left = dict(Encoder.fitted(pa.table({"id": ids, "sorted": np.sort(ids), "cost": measured})).left_out)
    assert set(left) == {"id", "sorted"}


@pytest.mark.parametrize("bits", [40, 62])
def test_huge_random_integers_are_ids_even_with_rows_that_repeat(bits):
    numbers = np.random.default_rng(0).integers(-(2**bits), 2**bits, ROWS)
    left = dict(Encoder.fitted(pa.table({"key": [*numbers, *numbers[:9]], "x": range(0, 3 * ROWS + 27, 3)})).left_out)
    assert left.get("key") == ("an id: integers of more than 53 bits" if bits > 53 else None)


@pytest.mark.parametrize(
    ("written", "signs"),
    [
        (lambda k: f"{k / 7:.2f}%", "'%'"),
        (lambda k: f"${1000 * k + 7:,}.50", "'$' and ','"),
        (lambda k: f"({k}.50)", "'('"),
        (lambda k: "-" if k % 20 == 7 else f"{k},5 €", "'€' and ','"),
        (lambda k: "-" if k % 5 == 1 else f"{k},5 €", None),
        (lambda k: f"{k:08d}", None),
        (lambda k: f"1{k}.05.2024", None),
        (lambda k: f"{k}% of {k}", None),
    ],
)
def test_numbers_written_with_signs_are_told_from_names(written, signs):
    words = [written(k) for k in range(ROWS)]
    reason = dict(Encoder.fitted(pa.table({"rate": words, "x": np.arange(ROWS) % 7})).left_out)["rate"]
    told = f"numbers written as text, with {signs}; write plain numbers to use them"
    assert reason == (told if signs else f"{len(set(words))} values in {ROWS} rows: an id, a name or free text")


def test_scaling_standardizes_fitted_numbers_and_keeps_indicators():
    table = mixed()
    matrix = Encoder.fitted(table, ["weight", "ward"]).scaled(table)
    known = table["weight"].is_valid().to_numpy()
    assert matrix[known, 0].mean() == pytest.approx(0, abs=1e-12)
    assert matrix[known, 0].std() == pytest.approx(1)
    assert set(matrix[~known, 0]) == {0.0}
    assert (matrix[:, 1] == ~known).all()
    assert (matrix[:, 2:].sum(axis=1) == 1).all()


def test_declaring_reads_no_row():
    table = mixed()
    assert declared(table) == declared(table.slice(0, 0)) == declared(mixed(seed=1))
    matrix = declared(table).scaled(table)
    assert np.isfinite(matrix).all()
    assert np.abs(matrix).max() <= 1
    wide = declared(table, gaps=("*",))
    assert [name for name in wide.names if name.endswith(" is missing")] == [
        f"{name} is missing" for name in wide.columns()
    ]


def test_ranges_in_units_hold_the_encoded_values_of_rows_inside():
    table, encoder = mixed(), declared(mixed(), ranges={**RANGES, "id": (0, 5_000)})
    matrix = encoder.encode(table)
    for place, column in enumerate(encoder.encoded):
        assert column.low <= matrix[:, place].min() <= matrix[:, place].max() <= column.high, column.name


def test_later_rows_are_encoded_alike_and_other_words_and_gaps_are_finite():
    table = pa.table({"x": [1.0, None, 3.0], "same": [5, 5, 5], "word": ["a", None, "b"], "yes": [True, False, True]})
    encoder = Encoder.fitted(table, table.column_names, chosen=True)
    assert encoder.names == ("x", "x is missing", "same", "word=a", "word=b", "word is missing", "yes")
    assert encoder.scaled(table)[:, 0].tolist() == [-1.0, 0.0, 1.0]
    later = encoder.scaled(pa.table({"yes": [None], "word": ["c"], "same": [6], "x": [float("inf")]}))
    assert later[0, [0, 3, 4, 5, 6]].tolist() == [0.0, 0.0, 0.0, 0.0, 0.5]
    with pytest.raises(InvalidInput, match="column 'x' must be numbers, as its encoder was made for, got string"):
        encoder.encode(table.set_column(0, "x", [["1", "2", "3"]]))
    with pytest.raises(InvalidInput, match="test must have the feature column 'x', its columns are same"):
        encoder.encode(table.select(["same"]), field="test")


def test_some_columns_of_the_matrix_are_read_alone():
    table, encoder = mixed(), declared(mixed())
    some = ["weight", "ward=W1", "born weekday sine"]
    assert encoder.columns(some) == ("born", "ward", "weight")
    places = [encoder.names.index(name) for name in some]
    assert (encoder.encode(table.select(encoder.columns(some)), only=some) == encoder.encode(table)[:, places]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranges": {}}, r"ranges must have a range for column 'id', such as id=0,100, or for all as \*=0,100"),
        ({"ranges": {"*": (0, 9)}}, "ranges must have a range of dates for column 'born', such as born=2020-01-01"),
        ({"ranges": {**RANGES, "born": (0, 9)}}, "ranges must be dates such as 2020-01-31 for column 'born'"),
        ({"ranges": {**RANGES, "name": (0, 9)}}, "ranges must be left out for text for column 'name'"),
        ({"ranges": {**RANGES, "ward": (0, 9)}}, "ranges must not name column 'ward', whose categories are declared"),
        ({"ranges": {**RANGES, "wieght": (0, 9)}}, "ranges names no column 'wieght'; did you mean 'weight'"),
        ({"gaps": ("wieght",)}, "gaps names no column 'wieght'"),
        ({"ranges": {**RANGES, "id": (3, 3)}}, "ranges must be a finite LOW < HIGH for column 'id'"),
    ],
)
def test_what_must_be_declared_is_named(changes, message):
    with pytest.raises(InvalidInput, match=message):
        declared(mixed(), **changes)


def test_two_encoded_columns_cannot_share_a_name():
    table = pa.table({"a": ["x", "y"], "a=x": [1, 2]})
    with pytest.raises(InvalidInput, match="features must not make two columns named 'a=x'; rename one of them"):
        Encoder.fitted(table)


@pytest.mark.parametrize("encoder", [declared(mixed(), gaps=("weight",)), Encoder.fitted(mixed())])
def test_a_stored_encoder_is_the_same_one(encoder):
    assert Encoder.from_json(json.loads(json.dumps(encoder.to_json()))) == encoder


GOOD = {"kind": "number", "name": "x", "gaps": False, "low": 0, "high": 1, "reach": 1.0, "codes": []}


@pytest.mark.parametrize(
    "columns",
    [
        None,
        [{"kind": "number", "name": "x"}],
        [{**GOOD, "kind": "code"}],
        [{**GOOD, "low": float("nan")}],
        [{**GOOD, "high": -1}],
        [{**GOOD, "reach": 0}],
        [{**GOOD, "codes": "-9"}],
        [{**GOOD, "codes": [float("inf")]}],
        [{**GOOD, "name": 3}],
        [{**GOOD, "gaps": 1}],
        [{"kind": "hashed", "name": "x", "gaps": False, "buckets": 10**9}],
        [{"kind": "hashed", "name": str(k), "gaps": False, "buckets": 60_000} for k in range(3)],
        [{"kind": "category", "name": "x", "gaps": False, "words": "abc"}],
        [GOOD, GOOD],
    ],
)
def test_a_damaged_encoder_is_refused(columns):
    with pytest.raises(InvalidRelease, match="the header has a damaged encoder"):
        Encoder.from_json({"columns": columns, "left_out": []})


def test_a_typing_error_does_not_hide_the_other_values():
    weights = np.random.default_rng(0).normal(70, 9, 500)
    clean, spoilt = (pa.table({"x": [*weights, *far]}) for far in ([], [9.9e14, -4.4e13]))
    encoder = Encoder.fitted(spoilt)
    assert encoder.scaled(clean) == pytest.approx(Encoder.fitted(clean).scaled(clean))
    assert encoder.scaled(spoilt)[-2:, 0].tolist() == [20.0, -20.0]


@pytest.mark.parametrize("code", [-999.0, 9999.0])
def test_a_code_for_a_gap_is_a_missing_value(code):
    weights = np.random.default_rng(0).normal(70, 9, 500)
    known = pa.table({"x": weights})
    encoder = Encoder.fitted(pa.table({"x": [*weights, *[code] * 40]}))
    assert encoder.names == ("x", "x is missing")
    assert encoder.scaled(pa.table({"x": [code, None]})).tolist() == [[0.0, 1.0]] * 2
    assert encoder.scaled(known)[:, 0] == pytest.approx(Encoder.fitted(known).scaled(known)[:, 0])
    assert Encoder.from_json(json.loads(json.dumps(encoder.to_json()))) == encoder


def test_a_copy_of_a_column_is_left_out():
    ages = [*range(20, 80), 20]
    table = pa.table({"age": ages, "again": ages, "other": [*ages[:-1], 21], "years": pa.array(ages, pa.float64())})
    encoder = Encoder.fitted(table)
    assert encoder.left_out == (("again", "the same as age in every row"),)
    assert Encoder.fitted(table, ["again", "age"], chosen=True).columns() == ("again", "age")


def test_dates_have_codes_for_gaps_too():
    days = [date(2024, 1 + k % 12, 1 + k % 28) for k in range(300)]
    encoder = Encoder.fitted(pa.table({"d": [*days, *[date(9999, 12, 31)] * 10]}))
    assert encoder.scaled(pa.table({"d": [date(9999, 12, 31)]})).tolist() == [[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]


def test_a_hash_is_the_same_on_every_machine():
    buckets = HashedColumn(name="city", buckets=16).encode(pa.array(["Rome", "Oslo", "Bonn"])).argmax(axis=1)
    assert buckets.tolist() == [0, 12, 13]


def test_weekdays_and_months_are_points_of_a_circle():
    rule = DateColumn(name="d", low=0, high=1)
    monday, thursday = rule.encode(pa.array([date(2024, 1, 1), date(2024, 7, 4)]))
    assert monday[1:].round(6).tolist() == [0.0, 1.0, 0.0, 1.0]
    assert thursday[2] == pytest.approx(-1.0)
    assert rule.encode(pa.array([datetime(1970, 1, 2, 12)]))[0, 0] == 1.5


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.float16(), pa.int8()])
@pytest.mark.parametrize("others", [[], [None], [1]])
def test_numbers_are_float64_whatever_the_other_rows_have(kind, others):
    rule = NumberColumn(name="x", low=0, high=1)
    values = rule.encode(pa.array([0, None, *others], pa.float64()).cast(kind))
    assert values.dtype == rule.encode(pa.array([None], kind)).dtype == np.float64
    assert values[:2].tolist() == [[0.0], [0.5]]
    assert rule.encode(pa.array([0], pa.float64()).cast(kind)).dtype == np.float64


@pytest.mark.parametrize("name", ["\x1b[2J", "a\x07", "\x9b2J"])
def test_control_characters_are_refused(name):
    column = {"kind": "flag", "name": name, "gaps": False}
    for document in ({"columns": [column], "left_out": []}, {"columns": [], "left_out": [[name, "an id"]]}):
        with pytest.raises(InvalidRelease, match="must not have control characters"):
            Encoder.from_json(document)
