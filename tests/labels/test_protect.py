"""Tables of any size become releases: what is in the file, what is not, and what it costs."""

import json
import subprocess
import sys
import textwrap
from dataclasses import replace

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare

from tacit.labels import Plan, Release, protect
from tacit.labels.releases.matching import rows_of
from tacit.labels.releases.source import TableSource
from tacit.privacy import Guarantee, InvalidInput, InvalidRelease, Ledger, Unit
from tacit.privacy.payment import Payment
from tacit.privacy.releases import TableMember
from tacit.privacy.targets import Overwrite

ASKED = {"label": "illness_secret", "epsilon": 1, "classes": ("no", "yes")}
CONSTANT = {"mechanism": "prior", "prior": (1.0, 0.0)}
MECHANISMS = {
    "rr": {},
    "prior": {},
    "laplace": {},
    "staged": {"features": ("age",)},
    "bins": {"label": "days", "classes": None, "values": (0, 1, 2, 3)},
    "unbiased": {"label": "days", "classes": None, "values": (0, 1, 2, 3)},
}


def visits(rows=1000, *, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 90, rows),
            "city": rng.choice(["Oslo", "Rome", "Bonn"], rows),
            "days": rng.integers(0, 4, rows),
            "illness_secret": rng.choice(["no", "yes"], rows),
        }
    )


def released(table, *, seed=0, out=None, payment=None, progress=None, **asked):
    plan = Plan(**{**ASKED, **asked})
    rng = None if payment is not None else np.random.default_rng(seed)
    return protect(table, plan, out=out, payment=payment, rng=rng, progress=progress)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.parquet"


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(visits()["illness_secret"], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0))
    return ledger


@pytest.mark.parametrize(
    ("asked", "equal"), [(CONSTANT, True), ({}, False)], ids=["constant output", "control: real output"]
)
def test_the_file_depends_on_the_labels_through_the_mechanism_alone(tmp_path, asked, equal):
    first = visits(seed=0)
    others = first.set_column(3, "illness_secret", [["yes"] * 1000])
    for i, table in enumerate([first, others]):
        released(table, out=tmp_path / f"{i}.parquet", features=("age", "city"), **asked)
    files = [(tmp_path / f"{i}.parquet").read_bytes() for i in (0, 1)]
    assert (files[0] == files[1]) is equal


def test_nothing_of_the_private_column_is_in_the_file(out):
    frame = visits().to_pandas().set_index(pd.Index([f"person {i}" for i in range(1000)]))
    released(frame, out=out, features=("age",))
    file = pq.ParquetFile(out)
    assert file.schema_arrow.names == ["age", "label"]
    assert set(file.metadata.metadata) == {b"tacit_release"}
    for trace in (b"city", b"person 1", b"pandas"):
        assert trace not in out.read_bytes()
    assert out.read_bytes().count(b"illness_secret") == 1, "its name, which is public, in the header"
    assert b"age" in out.read_bytes(), "control: names stand in clear"
    statistics = [file.metadata.row_group(i).column(1).statistics for i in range(file.num_row_groups)]
    assert {s.min for s in statistics} | {s.max for s in statistics} <= {"no", "yes"}


def test_rows_keep_their_order_and_are_all_there(monkeypatch, out):
    table, steps, sizes = visits(1003), [], []
    real = TableSource.read

    def small(self, columns):
        for batch in real(TableSource(table=self.table, batch_rows=100), columns):
            sizes.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(TableSource, "read", small)
    release = released(table, out=out, epsilon=40, features=("city", "age"), progress=lambda *step: steps.append(step))
    assert release.table.column_names == ["city", "age", "label"]
    for name, column in (("city", "city"), ("age", "age"), ("label", "illness_secret")):
        assert release.table[name].to_pylist() == table[column].to_pylist()
    assert steps[-1] == (1003, 1003)
    assert (max(sizes), sum(sizes)) == (100, 2006), "counted once, randomized once, a batch at a time"


@pytest.mark.parametrize("mechanism", MECHANISMS)
class TestEveryMechanism:
    def test_a_release_is_written_read_and_checked(self, mechanism, out):
        release = released(visits(), out=out, mechanism=mechanism, **MECHANISMS[mechanism])
        again = Release.read(out)
        assert again.plan == release.plan == Plan(**{**ASKED, "mechanism": mechanism, **MECHANISMS[mechanism]})
        assert again.evidence.likelihood.shape[0] == 1000
        assert str(again.guarantee) == "epsilon 1 for one label"

    @pytest.mark.parametrize("change", [{"epsilon": 0.5}, {"rows": 2}, {"unit": "record"}])
    def test_a_guarantee_that_it_cannot_keep_is_refused(self, mechanism, change, out, tmp_path):
        release = released(visits(), mechanism=mechanism, **MECHANISMS[mechanism])
        less = Guarantee(**{"unit": Unit.LABEL, "epsilon": 1.0, **change})
        object.__setattr__(release.header, "guarantee", less)
        release.write(out)
        with pytest.raises(InvalidRelease, match="but its mechanism has"):
            Release.read(out)

    def test_draws_come_from_the_operating_system_unless_seeded(self, mechanism):
        asked = {"mechanism": mechanism, **MECHANISMS[mechanism]}
        plan = Plan(**{**ASKED, **asked})
        drawn = [protect(visits(), plan).labels.to_pylist() for _ in range(2)]
        assert drawn[0] != drawn[1]
        seeded = [released(visits(), **asked) for _ in range(2)]
        assert seeded[0].labels.to_pylist() == seeded[1].labels.to_pylist()
        assert seeded[0].seeded


@pytest.mark.parametrize(("mechanism", "kept"), [("rr", True), ("prior:share=0.5", False)])
def test_labels_are_kept_as_often_as_the_plan_says(mechanism, kept):
    """Through the public door: halved noise, or none, is rejected."""
    table = visits(20_000)
    release = released(table, mechanism=mechanism)
    same = np.asarray(release.labels) == np.asarray(table["illness_secret"])

    def p_value(epsilon):
        rate = np.exp(epsilon) / (np.exp(epsilon) + 1)
        return chisquare([same.sum(), (~same).sum()], 20_000 * np.array([rate, 1 - rate])).pvalue

    assert p_value(1.0 if kept else 0.5) > 1e-6
    assert p_value(2.0) < 1e-6, "control: half the noise"
    assert not same.all()


def test_the_noise_of_one_hot_rows_and_numbers_is_seen_too():
    table = visits(20_000)
    rows = np.array(released(table, mechanism="laplace").labels.to_pylist())
    ill = np.asarray(table["illness_secret"]) == "yes"
    noise = rows - np.stack([~ill, ill], axis=1)
    assert np.abs(noise).mean() == pytest.approx(2.0, rel=0.03), "scale 2/epsilon; half of it is rejected"
    unbiased = released(table, mechanism="unbiased", **MECHANISMS["unbiased"])
    error = np.asarray(unbiased.labels) - np.asarray(table["days"])
    assert abs(error.mean()) < 5 * error.std() / np.sqrt(20_000)
    assert error.std() > 2


def test_classes_and_values_that_occur_are_declared_public():
    release = released(visits(), classes=None)
    assert "which classes occur in the labels is public" in release.guarantee.assumptions
    assert release.settled["classes"] == ["no", "yes"]
    days = released(visits(), label="days", classes=None, mechanism="bins")
    assert days.settled["values"] == [0.0, 1.0, 2.0, 3.0]
    assert released(visits(), label="days", classes=("0", "1", "2", "3")).settled["classes"] == [0, 1, 2, 3]


def test_numbers_that_were_rounded_leave_no_trace():
    table = pa.table({"illness_secret": np.array([0.1234567, 0.7654321] * 500)})
    release = released(table, mechanism="bins", values=(0.0, 1.0), classes=None)
    assert set(release.labels.to_pylist()) <= set(release.settled["outputs"])


def test_missing_labels_are_public_or_refused():
    table = pa.table({"illness_secret": ["no", None, "yes", None]})
    rule = "missing must be public where label column 'illness_secret' has 2 missing labels of 4; or leave those rows"
    with pytest.raises(InvalidInput, match=rule):
        released(table)
    release = released(table, missing="public")
    assert release.labels.is_null().to_pylist() == [False, True, False, True]
    assert "which rows have no label is public" in release.guarantee.assumptions
    assert release.notes() == ["4 rows, 2 of them without a label."]


PERSONS = pa.table({"who": [0] * 5 + [1] * 2 + [2], "row": range(8), "illness_secret": ["no", "yes"] * 4})


def test_rows_of_a_person_beyond_the_bound_are_left_out_at_random():
    """Of 400 persons with five rows, one with two and one with one."""
    who = np.concatenate([np.repeat(np.arange(400), 5), [400, 400, 401]])
    table = pa.table({"who": who, "row": range(2003), "illness_secret": np.where(who % 2, "yes", "no")})
    one, other = (
        released(table, seed=seed, person="who", rows_per_person=2, features=("row",)).table["row"].to_numpy()
        for seed in (0, 1)
    )
    for rows in (one, other):
        assert (np.diff(rows) > 0).all()
        assert np.bincount(who[rows]).tolist() == [2] * 401 + [1]
        assert chisquare(np.bincount(rows[rows < 2000] % 5)).pvalue > 1e-6
    assert 0.3 < np.isin(one, other).mean() < 0.5, "two in five stay when drawn anew"
    release = released(PERSONS, person="who", rows_per_person=2, features=("row",))
    assert str(release.guarantee) == "epsilon 2 for 2 labels of one person"
    assert "which rows belong to one person is public" in release.guarantee.assumptions


def test_how_many_rows_were_left_out_is_for_the_owner_alone(tmp_path):
    made = released(PERSONS, out=tmp_path / "labels.parquet", person="who", rows_per_person=2, features=("row",))
    assert made.notes() == ["5 rows, epsilon 1 for one label.", "At most 2 rows per person, 3 rows left out."]
    read = Release.read(tmp_path / "labels.parquet")
    assert read.notes()[1] == "At most 2 rows per person."
    assert set(read.settled) == {"classes", "person_seed"}


def test_whoever_has_the_persons_finds_the_rows_that_were_used():
    release = released(PERSONS, person="who", rows_per_person=2, features=("row",))
    assert rows_of(release, PERSONS, field="data")["row"].to_pylist() == release.table["row"].to_pylist()
    with pytest.raises(InvalidInput, match="data's person names no column 'who'"):
        rows_of(release, PERSONS.drop_columns(["who"]), field="data")
    with pytest.raises(InvalidInput, match="data must have the 5 rows of the release, got 2"):
        rows_of(release, PERSONS.slice(6), field="data")


def test_a_prior_is_estimated_from_the_rows_that_are_used():
    """One person with every "yes" must not move the counts by more than the bound."""
    table = pa.table({"who": [0] * 900 + list(range(1, 101)), "illness_secret": ["yes"] * 900 + ["no"] * 100})
    release = released(table, epsilon=40, mechanism="prior", person="who")
    assert release.settled["prior"] == pytest.approx([100 / 101, 1 / 101], abs=0.05)


def test_rows_per_person_is_a_declared_bound_without_a_column():
    release = released(visits(), rows_per_person=3)
    assert str(release.guarantee) == "epsilon 3 for 3 labels of one person"
    assert release.notes() == ["1,000 rows, epsilon 1 for one label."]
    assert release.labels.null_count == 0


def test_a_shuffled_release_has_the_rows_in_another_order():
    release = released(visits(), epsilon=40, features=("age", "city"), shuffle=True)
    assert not release.header.ordered
    before = sorted(zip(*(visits()[name].to_pylist() for name in ("age", "city", "illness_secret")), strict=True))
    after = list(zip(*(column.to_pylist() for column in release.table.columns), strict=True))
    assert sorted(after) == before
    assert after != before


class TestPayment:
    def test_the_same_request_is_the_same_release_and_free(self, ledger, tmp_path):
        one = released(visits(), out=tmp_path / "one.parquet", payment=Payment(ledger=ledger))
        two = released(visits(), out=tmp_path / "two.parquet", payment=Payment(ledger=ledger), classes=("yes", "no"))
        assert (one.receipt.id, one.repeated, two.receipt, two.repeated) == ("visits/1", False, None, True)
        assert one.labels.equals(two.labels)
        third = released(visits(), payment=Payment(ledger=ledger, again=True))
        assert third.receipt.id == "visits/2"
        assert not third.labels.equals(one.labels)

    def test_reordered_classes_with_their_prior_are_the_same_request(self):
        first = Plan(**{**ASKED, "mechanism": "prior", "prior": (0.7, 0.3)})
        assert first.request() == Plan(**{**ASKED, **_swapped(first)}).request()
        assert first.request() != Plan(**{**ASKED, "mechanism": "prior", "prior": (0.3, 0.7)}).request()
        number = Plan(label="y", epsilon=1, classes="0,1")
        assert number.request() == Plan(label="y", epsilon=1.0, classes="1.0,0.0").request()

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({"classes": ("no", "maybe")}, "labels must be among the declared classes"),
            ({"epsilon": 5000}, "epsilon must be"),
            ({"label": "ill"}, "label names no column 'ill'"),
            ({"features": ("height",)}, "features names no column 'height'"),
            ({"label": "city", "classes": ("1", "2"), "mechanism": "bins"}, "classes must be left out"),
            ({"label": "city", "classes": None, "mechanism": "bins"}, "label must have numbers for bins"),
        ],
    )
    def test_a_mistake_costs_and_leaves_nothing(self, ledger, out, asked, message):
        with pytest.raises(InvalidInput, match=message):
            released(visits(), out=out, payment=Payment(ledger=ledger, dataset="visits"), **asked)
        assert ledger.statement("visits").entries == ()
        assert not out.exists()

    def test_rows_without_an_order_pay_by_name(self, ledger, tmp_path):
        con = ibis.sqlite.connect(tmp_path / "rows.db")
        con.create_table("visits", visits())
        table = con.table("visits")
        with pytest.raises(InvalidInput, match="features must name a column to match labels to rows by"):
            released(table)
        release = released(table, features=("age",), payment=Payment(ledger=ledger, dataset="visits"))
        assert (release.receipt.id, release.header.ordered) == ("visits/1", False)


def _swapped(plan):
    return {"mechanism": "prior", "classes": plan.classes[::-1], "prior": plan.prior[::-1]}


def test_an_existing_file_is_replaced_only_when_asked(out):
    released(visits(), out=out)
    with pytest.raises(InvalidInput, match="exists already"):
        released(visits(), out=out)
    released(visits(), out=Overwrite(out))


def test_a_table_that_changes_while_it_is_read_is_not_released(monkeypatch, out):
    real, readings = TableSource.read, []

    def shrinking(self, columns):
        readings.append(columns)
        return real(TableSource(table=self.table.to_ibis().limit(1000 // len(readings))), columns)

    monkeypatch.setattr(TableSource, "read", shrinking)
    with pytest.raises(InvalidInput, match="the table changed while it was read"):
        released(visits(), out=out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"epsilon": None}, "epsilon must be a number"),
        ({"delta": 1e-6}, "delta must not be given: the mechanisms of labels have pure epsilon"),
        ({"unit": "record"}, "unit must be label"),
        ({"prior": (0.5, 0.5)}, "prior requires a mechanism that uses it"),
        ({"mechanism": "prior", "prior": (0.5, 0.5), "classes": None}, "prior requires classes"),
        ({"mechanism": "prior", "prior": (1.0,)}, "prior must have 2 numbers"),
        ({"values": (0, 1)}, "values must be left out for rr"),
        ({"mechanism": "bins", "classes": None, "values": (1, 0)}, "values must be at least two numbers in ascending"),
        ({"mechanism": "staged"}, "features must name columns: staged learns from them"),
        ({"features": ("label",)}, "features must not name 'label'"),
        ({"person": "illness_secret"}, "person must not name the private column"),
        ({"mechanism": "prior:share=1"}, "mechanism prior: share must be in"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(asked, message):
    with pytest.raises(InvalidInput, match=message):
        Plan(**{**ASKED, **asked})


def test_a_header_holds_the_plan_and_no_path(out):
    released(visits(), out=out, features=("age",))
    header = json.loads(pq.read_schema(out).metadata[b"tacit_release"])
    assert header["plan"]["mechanism"] == {"name": "rr"}
    assert header["settled"] == {"classes": ["no", "yes"]}
    assert str(out.parent) not in json.dumps(header)
    member = Release.read(out).members["rows"]
    assert isinstance(member, TableMember)


MEASURE = """
    import resource, sys
    from pathlib import Path
    import numpy as np
    from tacit.data import as_ibis, open_table
    from tacit.labels import Plan, protect
    from tacit.privacy.targets import Overwrite

    def peak():
        status = Path("/proc/self/status")
        if status.exists():  # on Linux ru_maxrss begins with the parent's
            return next(int(line.split()[1]) * 1024 for line in status.open() if line.startswith("VmHWM"))
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    way, path, out = sys.argv[1:]
    table = as_ibis(open_table(path))
    plan = Plan(label="y", epsilon=1, classes="0,1", features="all")
    protect(table.limit(1000), plan, out=Overwrite(out))
    before = peak()
    if way == "stream":
        protect(table, plan, out=Overwrite(out))
    else:
        table.to_pyarrow()
    print(peak() - before)
"""


def grown_by(way, path, out):
    pytest.importorskip("resource", reason="needs a POSIX system to measure memory")
    code = textwrap.dedent(MEASURE)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, way, path, out], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.slow
def test_a_table_larger_than_its_memory_streams_through(tmp_path, out):
    path, rows = tmp_path / "large.parquet", 250_000
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(25)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.int64())])
    columns = {name: rng.normal(size=rows) for name in names}
    part = pa.table({**columns, "y": rng.integers(0, 2, rows)}, schema=schema)
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
        for _ in range(8):
            file.write_table(part)
    size = 8 * rows * 26 * 8
    assert grown_by("stream", path, out) < size * 0.6
    assert grown_by("whole", path, out) > size * 0.9, "control: the same measure sees a table that is read whole"


def test_a_renamed_member_or_too_many_classes_are_refused(tmp_path):
    made = protect(pa.table({"y": ["a", "b"] * 20}), Plan(label="y", epsilon=1))
    many = replace(made.header, settled={"classes": [str(number) for number in range(10_001)]})
    for name, odd in {
        "must have rows": replace(made, members={"other": made.members["rows"]}),
        "at most 10,000 classes": replace(made, header=many),
    }.items():
        odd.write(tmp_path / "odd.parquet", force=True)
        with pytest.raises(InvalidRelease, match=name):
            Release.read(tmp_path / "odd.parquet")


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (["no"] * 700 + ["yes"] * 300, {}),
        (["a", "b", "c"] * 10 + ["a"] * 100 + ["b"] * 100 + ["c"] * 100, {}),
        (list(range(100)) * 3, {"mechanism": "bins", "values": "0:100:10"}),
    ],
    ids=["sorted", "three classes", "numbers"],
)
def test_the_owner_is_warned_where_labels_follow_the_order(labels, options):
    rng = np.random.default_rng(0)
    plan = Plan(label="y", epsilon=1, **options)
    sorted_rows, mixed = pa.table({"y": labels}), pa.table({"y": rng.permutation(labels)})
    assert "Use --shuffle" in protect(sorted_rows, plan, rng=rng).notes()[-1]
    assert protect(mixed, plan, rng=rng).notes() == [f"{len(labels):,} rows."]
    shuffled = protect(sorted_rows, replace(plan, shuffle=True), rng=rng)
    assert not shuffled.follows_order
    assert "order" not in str(shuffled.header.to_json().get("settled"))


WHO = [number // 2 for number in range(100)]
STAGED = {"mechanism": "staged", "features": ("extra",)}


@pytest.mark.parametrize(
    ("extra", "fields", "rule"),
    [
        ([None, *WHO[1:]], {"person": "extra"}, "person must identify the person of every row, got 1 missing"),
        ([[one] for one in WHO], {"person": "extra"}, "person must be a column of numbers or strings, got list<"),
        ([[one] for one in WHO], STAGED, "features must leave out column 'extra', which is list<"),
        (WHO, {**STAGED, "person": "extra"}, "features must name a column to use"),
    ],
)
def test_a_column_that_cannot_be_used_is_refused_before_the_charge(extra, fields, rule, tmp_path):
    labels = ["no", "yes"] * 50
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(labels, name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.0))
    table = pa.table({"extra": extra, "illness_secret": labels})
    with pytest.raises(InvalidInput, match=rule):
        protect(table, Plan(label="illness_secret", epsilon=1, **fields), payment=Payment(ledger=ledger))
    assert ledger.statement("visits").used == 0
