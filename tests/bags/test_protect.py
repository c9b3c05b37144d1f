"""Protecting bags: what is drawn, who pays, and what is refused before anything is drawn."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from tacit.bags import Plan, Release, protect
from tacit.bags.losses import CategoricalLoss, LogisticLoss, PoissonLoss, SquaredLoss
from tacit.data.classes import LISTED
from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, NoGuarantee, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.payment import Payment
from tacit.privacy.targets import Overwrite

ROWS = 2000


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "key": np.arange(ROWS) % 500,
            "city": rng.choice(["bonn", "oslo", "rome"], ROWS),
            "age": rng.integers(0, 90, ROWS),
            "who": rng.integers(0, 900, ROWS),
            "ill": rng.choice(["no", "yes"], ROWS),
            "ward": rng.choice(["a", "b", "c"], ROWS),
            "days": rng.integers(0, 9, ROWS),
        }
    )


def exact_and_noisy(table, plan, seed=0):
    """The totals of a plan without noise, and with."""
    exact = protect(table, Plan.from_json({**plan.to_json(), "epsilon": None, "delta": 0.0}))
    noisy = protect(table, plan, rng=np.random.default_rng(seed))
    return exact.totals, noisy.totals


def is_scaled(noise, variance):
    """Whether the mean square of noise is the variance that the release states, within 5 standard errors or so."""
    return abs(np.mean(noise**2) / variance - 1) < 5 * np.sqrt(5 / noise.size)


@pytest.mark.parametrize("delta", [0.0, 1e-6], ids=["laplace", "gaussian"])
def test_totals_have_the_noise_that_is_stated(people, delta):
    plan = Plan(label="ill", epsilon=0.2, delta=delta, by=["key"], min_size=1)
    exact, noisy = exact_and_noisy(people, plan)
    noise, variance = (noisy.partitions[0].totals - exact.partitions[0].totals), noisy.partitions[0].variance
    assert is_scaled(noise, variance)
    assert not is_scaled(noise / 2, variance), "control: half the noise is noticed"
    assert not is_scaled(0 * noise, variance), "control: no noise is noticed"
    if not delta:
        assert variance == pytest.approx(2 * 5**2, rel=0.01), "discrete Laplace of scale 1/epsilon"


def test_random_bags_have_the_noise_that_is_stated(people):
    plan = Plan(label="ill", epsilon=0.2, mechanism="random:size=4,bags=500,joins=1")
    made = protect(people, plan, rng=np.random.default_rng(0)).totals.random
    sick = np.asarray(people["ill"]) == "yes"
    noise = made.labels[:, 0] - sick[made.rows].mean(axis=1)
    assert is_scaled(noise, made.variance)
    assert not is_scaled(noise / 2, made.variance), "control"
    assert made.variance == pytest.approx(2 * 5**2 / 4**2, rel=0.01)


def test_counts_of_records_are_noisy_too(people):
    plan = Plan(label="ill", epsilon=1, by=["key"], edges={"key": list(range(1, 500))}, unit="record", min_size=1)
    part = protect(people, plan, rng=np.random.default_rng(0)).totals.partitions[0]
    inside = part.keys["key"].is_valid().to_numpy()
    noise = part.counts[inside] - ROWS / 500
    assert inside.sum() > 300
    assert part.count_variance == pytest.approx(2 * 4**2, rel=0.01), "a quarter of epsilon per moved entry"
    assert not is_scaled(0 * noise, part.count_variance)


def test_declared_values_make_the_bags_of_records(people):
    plan = Plan(label="ill", epsilon=1, by=["city", "days"], categories=["city=bonn,oslo", "days=0,1,2"], unit="record")
    city, days = protect(people, plan, rng=np.random.default_rng(0)).totals.partitions
    assert city.features[0].values == ("bonn", "oslo")
    assert days.features[0].values == (0, 1, 2)
    assert city.other is not None


@pytest.mark.parametrize(
    ("given", "loss", "classes"),
    [
        ({"label": "ill"}, LogisticLoss(), ("no", "yes")),
        ({"label": "ill", "classes": "yes,no"}, LogisticLoss(), ("yes", "no")),
        ({"label": "ward", "totals": "classes"}, CategoricalLoss(classes=3), ("a", "b", "c")),
        ({"label": "days", "totals": "classes"}, CategoricalLoss(classes=9), tuple("012345678")),
        ({"label": "days", "totals": "poisson", "upper": 8}, PoissonLoss(most=8), None),
        ({"label": "days", "totals": "squared", "lower": 0, "upper": 8}, SquaredLoss(lower=0.0, upper=8.0), None),
    ],
)
def test_labels_become_numbers_by_a_public_list(people, given, loss, classes):
    release = protect(people, Plan(epsilon=1, by=["city"], **given))
    assert release.totals.loss == loss
    assert release.encoding.classes == classes
    public = "which classes occur is public" in release.guarantee.assumptions
    assert public == (classes is not None and "classes" not in given)
    assert (LISTED in release.guarantee.assumptions) == ("classes" in given)
    exact = protect(people, Plan(epsilon=None, by=["city"], **given)).totals.partitions[0].totals.sum(axis=0)
    column = np.asarray(people[given["label"]]).astype(str)
    wanted = [np.sum(column == name) for name in classes or ()][-1:] or [np.asarray(people["days"]).sum()]
    assert exact[-1] == wanted[0]


def test_a_tenth_of_epsilon_chooses_partitions(people):
    sick = pa.array(np.where(np.asarray(people["days"]) > 4, "yes", "no"))
    table = people.set_column(people.column_names.index("ill"), "ill", sick)
    plan = Plan(label="ill", epsilon=1, by=["city", "days", "ward"], select=1)
    release = protect(table, plan)
    assert [one.columns for one in release.totals.partitions] == [("days",)]
    assert release.guarantee.epsilon == 1.0
    assert release.totals.partitions[0].variance == pytest.approx(2 / 0.9**2, rel=0.1), "nine tenths are left for noise"
    dear = protect(table, Plan.from_json({**plan.to_json(), "selection_epsilon": 0.5}))
    assert dear.totals.partitions[0].variance > release.totals.partitions[0].variance


def test_rows_of_a_person_beyond_the_bound_are_left_out(people):
    plan = Plan(label="ill", epsilon=1, by=["city"], person="who", rows_per_person=2)
    release = protect(people, plan)
    used = release.used_rows(people).numbers
    held = np.bincount(np.asarray(people["who"])[used])
    assert held.max() == 2
    assert len(used) == np.minimum(np.bincount(np.asarray(people["who"])), 2).sum()
    assert release.totals.partitions[0].counts.sum() == len(used)
    assert str(release.guarantee) == "epsilon 2 for 2 labels of one person"
    again = protect(people, plan)
    assert not np.array_equal(again.used_rows(people).numbers, used), "which rows stay is drawn"
    all_of_them = protect(people, Plan(label="ill", epsilon=1, by=["city"], person="who", rows_per_person=99))
    assert len(all_of_them.used_rows(people).numbers) == people.num_rows


def test_how_many_rows_were_left_out_is_for_the_owner_alone(people, tmp_path):
    plan = Plan(label="ill", epsilon=1, by=["city"], person="who", rows_per_person=2)
    made = protect(people, plan, out=tmp_path / "bags")
    assert made.left_out == people.num_rows - made.settled["rows"] > 0
    assert f"At most 2 rows per person, {made.left_out:,} rows left out." in made.notes()
    assert "At most 2 rows per person." in Release.read(tmp_path / "bags").notes()


@pytest.fixture
def ledger(people, tmp_path):
    made = Ledger.create(tmp_path / "ledger.db")
    made.register(people["ill"], name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=1.5))
    return made


@pytest.mark.parametrize("mechanism", ["curated", "random:size=4,bags=20,joins=1"])
def test_the_same_request_is_paid_for_once(people, ledger, tmp_path, mechanism):
    by = ["city"] if mechanism == "curated" else []
    plan = Plan(label="ill", epsilon=1, by=by, mechanism=mechanism)
    first = protect(people, plan, payment=Payment(ledger=ledger), out=tmp_path / "one")
    again = protect(people, plan, payment=Payment(ledger=ledger), out=tmp_path / "two")
    assert (first.receipt.id, again.repeated) == ("visits/1", True)
    assert (tmp_path / "one/manifest.json").read_bytes() == (tmp_path / "two/manifest.json").read_bytes()
    assert ledger.statement("visits").spent == 1.0
    with pytest.raises(BudgetExceeded, match="so nothing was charged"):
        protect(people, plan, payment=Payment(ledger=ledger, again=True))


def test_a_release_that_was_paid_for_and_not_drawn_is_drawn_for_free(people, ledger, monkeypatch):
    plan = Plan(label="ill", epsilon=1, by=["city"])

    def dies(*_given, **_more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tacit.bags.releases.release.Release.of_totals", dies)
        with pytest.raises(KeyboardInterrupt):
            protect(people, plan, payment=Payment(ledger=ledger))
    assert ledger.statement("visits").spent == 1.0
    assert protect(people, plan, payment=Payment(ledger=ledger)).totals.bags == 3
    assert ledger.statement("visits").spent == 1.0


def test_nothing_is_drawn_before_the_charge(people, ledger, monkeypatch):
    def drawn(*_given):
        raise AssertionError("drew")

    monkeypatch.setattr("tacit.bags.mechanisms.prepared_partitions.PreparedPartitions.draw", drawn)
    with pytest.raises(BudgetExceeded):
        protect(people, Plan(label="ill", epsilon=2, by=["city"]), payment=Payment(ledger=ledger))
    with pytest.raises(AssertionError, match="drew"):  # control: with budget left it is drawn
        protect(people, Plan(label="ill", epsilon=1, by=["city"]), payment=Payment(ledger=ledger))
    with pytest.raises(InvalidInput, match="seed must not be given with a ledger"):
        protect(
            people,
            Plan(label="ill", epsilon=1, by=["city"]),
            payment=Payment(ledger=ledger),
            rng=np.random.default_rng(0),
        )


def bad_plans():
    good = {"label": "ill", "epsilon": 1.0, "by": ["city"]}
    random = {"label": "ill", "epsilon": 1.0, "mechanism": "random:size=3,bags=9,joins=1"}
    return {
        "no_by": ({"label": "ill", "epsilon": 1}, "by must name the columns of at least one partition"),
        "same_twice": ({**good, "by": ["city,age", "age,city"]}, "by must name different partitions"),
        "column_twice": ({**good, "by": ["city,city"]}, "by must name different columns"),
        "label_as_key": ({**good, "by": ["ill"]}, "by must not name the private column 'ill'"),
        "edges_of_nothing": ({**good, "edges": ["age=3"]}, "edges must be for columns in by, got age"),
        "random_by": ({**random, "by": ["city"]}, "by is for curated bags"),
        "random_min_size": ({**random, "min_size": 20}, "min_size is for curated bags"),
        "random_merge": ({**random, "small": "merge"}, "small is for curated bags"),
        "random_consistent": ({**random, "consistent": False}, "consistent is for curated bags"),
        "random_record": ({**random, "unit": "record"}, "unit must be label for random bags"),
        "no_joins": ({**random, "mechanism": "random:size=3,bags=9"}, "mechanism random must be given joins"),
        "no_size": ({**random, "mechanism": "random:size=0,bags=9"}, "mechanism random: size must be an integer >= 1"),
        "features": ({**good, "features": "age"}, "features must not be given: by names the columns"),
        "unit": ({**good, "unit": "bag"}, "unit must be label or record, got bag"),
        "three_classes": ({**good, "classes": "a,b,c"}, "classes must be two classes for totals log, got 3"),
        "classes": (
            {**good, "totals": "poisson", "upper": 3, "classes": "1,2"},
            "classes is for totals log",
        ),
        "range": ({**good, "lower": 0}, "lower is for totals squared and poisson"),
        "no_range": ({**good, "totals": "squared", "lower": 0}, "upper must be given with epsilon for totals squared"),
        "no_upper": ({**good, "totals": "poisson"}, "upper must be given with epsilon for totals poisson"),
        "reversed": ({**good, "totals": "squared", "lower": 3, "upper": 1}, "lower must be below upper"),
        "counts": ({**good, "totals": "poisson", "lower": 1, "upper": 3}, "lower must be 0 for totals poisson"),
        "half": ({**good, "totals": "poisson", "upper": 2.5}, "upper must be an integer >= 1"),
        "choose_all": ({**good, "select": 1}, "select must be fewer than the 1 partitions"),
        "choose_exact": ({**good, "by": ["city", "age"], "epsilon": None, "select": 1}, "select requires epsilon"),
        "choice_dear": (
            {**good, "by": ["city", "age"], "select": 1, "selection_epsilon": 1},
            "selection_epsilon must be below epsilon 1",
        ),
        "choice_of_nothing": ({**good, "selection_epsilon": 0.1}, "selection_epsilon requires select"),
        "person_record": ({**good, "person": "who", "unit": "record"}, "person is for the unit label"),
    }


@pytest.mark.parametrize("case", bad_plans())
def test_fields_that_do_not_fit_are_refused(case):
    given, message = bad_plans()[case]
    with pytest.raises(InvalidInput) as caught:
        Plan(**given)
    assert message in str(caught.value)
    assert caught.value.field == message.split()[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": ["town"]}, "by names no column 'town'"),
        ({"label": "sick", "by": ["city"]}, "label names no column 'sick'"),
        ({"person": "whose", "by": ["city"]}, "person names no column 'whose'"),
        ({"by": ["city"], "min_size": 5000}, "min_size must be smaller: no bag would have 5000 rows or more"),
        ({"by": ["city"], "classes": "no,maybe"}, "classes must list every label of 'ill'"),
        ({"by": ["city"], "label": "ward"}, "totals must be classes where column 'ward' has"),
        (
            {"by": ["city"], "label": "days"},
            "totals must be squared, with lower and upper, for other numbers than 0 and 1: ",
        ),
        ({"by": ["city"], "label": "days", "classes": "low,high"}, "classes must be numbers"),
        ({"by": ["city"], "unit": "record"}, "by must declare the categories or the edges of 'city'"),
        (
            {"by": ["age"], "unit": "record", "categories": ["age=young,old"]},
            "categories must be numbers for the column 'age'",
        ),
        ({"by": ["city"], "edges": ["city=3"]}, "column 'city' must have numbers to be cut at edges"),
        ({"by": ["city"], "delta": 0.01}, "delta must be below 1/"),
        ({"mechanism": "random:size=3,bags=9000,joins=1"}, "mechanism random: joins must be at least 14"),
        ({"by": ["city", "age"], "select": 1, "selection_epsilon": 1e-15}, "scale must be at most"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_before_a_charge(people, ledger, tmp_path, given, message):
    plan = Plan(**{"label": "ill", "epsilon": 1.0, **given})
    with pytest.raises(InvalidInput) as caught:
        protect(people, plan, payment=Payment(ledger=ledger, dataset="visits"), out=tmp_path / "out")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ledger.statement("visits").entries == ()
    assert not (tmp_path / "out").exists()


def test_exact_totals_are_not_paid_for_and_data_is_refused(people, ledger):
    exact = Plan(label="ill", epsilon=None, by=["city"])
    assert isinstance(protect(people, exact).guarantee, NoGuarantee)
    with pytest.raises(InvalidInput, match="ledger must have a guarantee to charge for"):
        protect(people, exact, payment=Payment(ledger=ledger))
    with pytest.raises(InvalidInput, match="data must not be given: the table has all"):
        protect(people, exact, data=people)


def test_a_seed_repeats_a_release(people, tmp_path):
    plan = Plan(label="ill", epsilon=1, by=["city"])
    for out in (tmp_path / "bags", Overwrite(tmp_path / "bags")):
        made = protect(people, plan, out=out, rng=np.random.default_rng(1))
        assert made.seeded
        found = Release.read(tmp_path / "bags").totals.partitions[0].totals
    np.testing.assert_array_equal(
        found, protect(people, plan, rng=np.random.default_rng(1)).totals.partitions[0].totals
    )
    assert not protect(people, plan).seeded


def test_a_local_file_needs_no_ibis(tmp_path):
    """Importing Ibis takes longer than reading most files."""
    path = tmp_path / "visits.csv"
    path.write_text("age,ill\n" + "30,no\n40,yes\n" * 50)
    code = (
        "import sys; from tacit.bags import Plan, protect; "
        f"protect({str(path)!r}, Plan(label='ill', epsilon=1, by=['age'])); print('ibis' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
