"""A release of features from a table: what it holds, what it guarantees, what it refuses."""

import datetime
from dataclasses import replace
from decimal import Decimal

import ibis
import numpy as np
import pyarrow as pa
import pytest

from tacit.features import Plan, Release, protect
from tacit.features.mechanisms.box import FeatureRanges
from tacit.features.mechanisms.moments import ClassMoments, class_members
from tacit.features.mechanisms.noisy_rows import NoisyRows
from tacit.features.mechanisms.noisy_totals import NoisyTotals
from tacit.features.releases import feature_table
from tacit.features.releases.bound_plan import box_of
from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, InvalidRelease, NoGuarantee, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.loss import ComposedLoss, PureLoss
from tacit.privacy.payment import Payment


def _table(rows=600, features=6, *, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, features)) / 4 + np.outer(y, np.arange(features) < 2) / 2
    return pa.table({**{f"x{j}": X[:, j] for j in range(features)}, "ill": np.where(y, "yes", "no")})


def _plan(mechanism="rows", **changes):
    settings = {"label": "ill", "epsilon": 8, "delta": 1e-5, "select": 2, "ranges": {"*": (-1, 1)}}
    return Plan(**{**settings, "mechanism": mechanism, **changes})


MECHANISMS = pytest.mark.parametrize("mechanism", ["rows", "totals"])


def test_rows_hold_the_selected_features_and_released_labels():
    release = protect(_table(), _plan())
    assert release.features == ("x0", "x1")
    assert release.rows.column_names == ["x0", "x1", "ill"]
    assert release.rows.num_rows == 600
    guarantee = release.guarantee
    assert (guarantee.unit, guarantee.epsilon, guarantee.delta) == (Unit.RECORD, 8.0, 1e-5)
    assert not release.seeded


@MECHANISMS
def test_a_release_is_written_and_read(mechanism, tmp_path):
    out = tmp_path / "release"
    made = protect(_table(), _plan(mechanism), out=out)
    read = Release.read(out)
    assert read.plan == made.plan == _plan(mechanism)
    assert read.guarantee == made.guarantee
    assert read.settled == made.settled


@MECHANISMS
@pytest.mark.parametrize("epsilon", [7.9, 1.0])
def test_a_header_that_states_less_epsilon_than_its_mechanism_keeps_is_refused(mechanism, epsilon, tmp_path):
    made = protect(_table(), _plan(mechanism))
    lie = replace(made.guarantee, epsilon=epsilon, loss=None)
    replace(made, header=replace(made.header, guarantee=lie)).write(tmp_path / "lie")
    with pytest.raises(InvalidRelease, match=r"the header states epsilon .* but its mechanism has epsilon 8"):
        Release.read(tmp_path / "lie")


@MECHANISMS
def test_a_header_that_states_other_noise_than_its_parts_is_refused(mechanism, tmp_path):
    made = protect(_table(), _plan(mechanism))
    parts = {**made.settled["epsilon"], "release": 0.1}
    forged = replace(made.header, settled={**made.settled, "epsilon": parts})
    replace(made, header=forged).write(tmp_path / "lie")
    with pytest.raises(InvalidRelease, match="states other noise than its division of epsilon gives"):
        Release.read(tmp_path / "lie")


@MECHANISMS
@pytest.mark.parametrize("free", ["selection", "class_rows"])
def test_a_header_that_selects_for_free_is_refused(mechanism, free, tmp_path):
    made = protect(_table(), _plan(mechanism))
    parts = {**made.settled["epsilon"], free: 0.0}
    lie = replace(made.guarantee, epsilon=sum(parts.values()), loss=None)
    forged = replace(made.header, settled={**made.settled, "epsilon": parts}, guarantee=lie)
    replace(made, header=forged).write(tmp_path / "lie")
    with pytest.raises(InvalidRelease, match="the header has no epsilon for the"):
        Release.read(tmp_path / "lie")


@MECHANISMS
def test_loss_and_assumptions_are_those_of_the_mechanism(mechanism, tmp_path):
    made = protect(_table(), _plan(mechanism))
    lie = replace(made.guarantee, loss=PureLoss(epsilon=1e-9), assumptions=())
    replace(made, header=replace(made.header, guarantee=lie)).write(tmp_path / "lie")
    assert Release.read(tmp_path / "lie").guarantee == made.guarantee


@MECHANISMS
def test_a_renamed_member_is_refused(mechanism, tmp_path):
    made = protect(_table(), _plan(mechanism))
    (member,) = made.members.values()
    replace(made, members={"other": member}).write(tmp_path / "odd")
    with pytest.raises(InvalidRelease, match="must have rows or totals"):
        Release.read(tmp_path / "odd")


def _deviation(release, table):
    """The deviation of what was released from the clipped truth, in the noise that the header states."""
    names = release.features
    truth = np.clip(np.column_stack([table[name].to_numpy() for name in names]), -1, 1)
    if release.rows is not None:
        seen = np.column_stack([release.rows[name].to_numpy() for name in names])
        return (seen - truth).std() / release.settled["noise"][0]
    ill = np.asarray(table["ill"]) == "yes"
    sums = np.stack([truth[ill == c].sum(axis=0) for c in (False, True)])
    return (release.totals.sums - sums).std() / release.settled["noise"]["sums"]


@pytest.mark.parametrize(("mechanism", "columns"), [("rows", 6), ("totals", 400)])
def test_draws_have_the_noise_of_the_header(mechanism, columns):
    table = _table(rows=800, features=columns)
    release = protect(table, _plan(mechanism, select=None), rng=np.random.default_rng(1))
    assert _deviation(release, table) == pytest.approx(1.0, abs=0.1)
    clear = protect(table, _plan(mechanism, select=None, epsilon=None, delta=0), rng=np.random.default_rng(1))
    forged = replace(release, members=clear.members)
    assert _deviation(forged, table) < 0.2, "control: without noise the test fails"


def test_labels_are_released_by_randomized_response():
    table = _table(rows=20_000)
    release = protect(table, _plan(label_epsilon=1), rng=np.random.default_rng(2))
    kept = (np.asarray(release.rows["ill"]) == np.asarray(table["ill"])).mean()
    assert kept == pytest.approx(np.e / (np.e + 1), abs=0.015)
    assert kept != pytest.approx(np.exp(2) / (np.exp(2) + 1), abs=0.015), "control: half of the noise"


def test_the_noise_on_rows_is_that_of_their_features():
    steps = np.full((20_000, 3), 100, dtype=np.int64)
    noise = NoisyRows(epsilon=2.0, delta=1e-6, label_epsilon=1.0)
    spread = (noise.add_noise(steps, rng=np.random.default_rng(1)) - 100).std() / 1024
    assert spread == pytest.approx(noise.deviation(features=3), rel=0.02)
    assert spread != pytest.approx(noise.deviation(features=2), rel=0.02)


def test_totals_are_moved_by_one_record_as_far_as_they_are_priced():
    rng = np.random.default_rng(3)
    counts, sums, squares = NoisyTotals(epsilon=1.0, delta=1e-5).noises(features=4)
    for _ in range(500):
        steps, codes = rng.choice([-1024, 0, 1024], size=(6, 4)), rng.integers(0, 3, 6)
        other, moved = steps.copy(), codes.copy()
        other[0], moved[0] = rng.choice([-1024, 1024], size=4), rng.integers(3)
        a, b = (ClassMoments.of(s, c, classes=3) for s, c in ((steps, codes), (other, moved)))
        step = np.abs(a.sums - b.sums)
        assert (step.max() <= sums.sensitivity and (step > 0).sum() <= 4) or (
            step.max() <= sums.sensitivity / 2 and (step > 0).sum() <= 8
        )
        assert np.abs(a.squares - b.squares).max() <= squares.sensitivity
        assert np.abs(a.counts - b.counts).sum() <= counts.coordinates


@MECHANISMS
def test_without_epsilon_there_is_no_noise_and_no_guarantee(mechanism):
    table = _table()
    release = protect(table, _plan(mechanism, epsilon=None, delta=0))
    assert release.guarantee == NoGuarantee(reason="epsilon is none, so features and labels are released without noise")
    assert release.features == ("x0", "x1")
    if mechanism == "rows":
        assert release.rows["ill"].equals(table["ill"])
        assert release.rows["x0"].to_numpy() == pytest.approx(np.clip(table["x0"].to_numpy(), -1, 1), abs=1 / 2048)
    else:
        assert release.totals.counts.sum() == 600


def test_the_guarantee_is_the_sum_of_its_parts():
    release = protect(_table(), _plan(epsilon=7.5))
    assert sum(release.settled["epsilon"].values()) == pytest.approx(7.5)
    guarantee = release.guarantee
    assert (guarantee.epsilon, guarantee.delta) == (7.5, 1e-5)
    assert guarantee.loss.epsilon_at(1e-5) <= 7.5
    assert any("class list" in said for said in guarantee.assumptions)
    assert any("every row has a label" in said for said in guarantee.assumptions), "a refusal would reveal it"


def test_units_and_persons():
    assert protect(_table(), _plan(unit="label")).guarantee.unit is Unit.LABEL
    person, row = protect(_table(), _plan(rows_per_person=2)).guarantee, protect(_table(), _plan()).guarantee
    assert (person.rows, person.delta) == (2, row.delta), "the delta that was asked for is that of a person"
    assert row.epsilon < person.epsilon < row.loss.for_group(2).epsilon_at(row.delta), "each row has noise of its own"
    row, person = (protect(_table(), _plan(select=None, rows_per_person=k)).guarantee for k in (1, 3))
    assert person.epsilon == pytest.approx(ComposedLoss(parts=(row.loss,), times=3).epsilon_at(row.delta), rel=1e-4)


def test_rows_of_a_person_beyond_the_bound_are_left_out():
    table = _with(who=[f"p{row % 100}" for row in range(600)])
    release = protect(table, _plan(person="who", rows_per_person=2, select=None))
    assert release.rows.num_rows == 200
    assert release.features == tuple(f"x{j}" for j in range(6)), "whose row it is is no feature"
    assert (release.guarantee.rows, release.guarantee.delta) == (2, release.plan.delta)
    assert "how many rows each person has is public" in release.guarantee.assumptions


NEIGHBORS = {
    "constant": [1.0] * 600,
    "gaps": [None] * 600,
    "infinite": [np.inf] + [0.5] * 599,
    "one side": [7.0] * 600,
    "huge": [1e308] + [0.5] * 599,
}


@MECHANISMS
@pytest.mark.parametrize("values", NEIGHBORS.values(), ids=NEIGHBORS)
def test_no_value_of_a_private_row_is_refused(mechanism, values):
    """A refusal would tell a table from its neighbor."""
    table = _table().append_column("z", pa.array(values, pa.float64()))
    release = protect(table, _plan(mechanism, select=None))
    assert release.features[-1] == "z"


@MECHANISMS
def test_a_class_of_one_row_or_none_is_released(mechanism):
    table = _table().set_column(6, "ill", pa.array(["no"] * 599 + ["yes"]))
    assert protect(table, _plan(mechanism, classes=("no", "yes", "perhaps"))).classes == ("no", "yes", "perhaps")


def test_columns_of_any_type_are_released_as_encoded():
    table = _with(ward=["A", "B", None] * 200).append_column("seen", pa.array([datetime.date(2024, 5, 1)] * 600))
    ranges = {"*": (-1, 1), "seen": "2020-01-01,2024-12-31"}
    plan = _plan(select=None, ranges=ranges, categories={"ward": "A,B"}, gaps="ward", epsilon=None, delta=0)
    release = protect(table, plan)
    assert release.features[6:10] == ("ward=A", "ward=B", "ward is missing", "seen")
    assert np.asarray(release.rows["ward is missing"]).sum() == pytest.approx(200)
    day = (datetime.date(2024, 5, 1) - datetime.date(1970, 1, 1)).days
    assert np.asarray(release.rows["seen"]) == pytest.approx(day, abs=2)


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "ledger.db")
    made.register(_table(), name="visits", budget=Guarantee(unit=Unit.RECORD, epsilon=9.0, delta=1e-4))
    return made


@MECHANISMS
def test_the_ledger_is_charged_once_for_a_request_and_then_refuses(mechanism, ledger, tmp_path):
    paying = Payment(ledger=ledger)
    first = protect(_table(), _plan(mechanism), out=tmp_path / "one", payment=paying)
    again = protect(_table(), _plan(mechanism), out=tmp_path / "two", payment=paying)
    assert (first.repeated, again.repeated) == (False, True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert 0.7 < ledger.statement("visits").used < 1
    with pytest.raises(BudgetExceeded):
        protect(_table(), _plan(mechanism, select=3), out=tmp_path / "three", payment=paying)
    assert not (tmp_path / "three").exists()


def test_a_known_table_is_charged_as_what_it_is(ledger):
    ledger.register([1, 2], name="toys", budget=Guarantee(unit=Unit.RECORD, epsilon=10.0, delta=1e-5))
    protect(_table(), _plan("totals", features=("x0", "x1", "x2")), payment=Payment(ledger=ledger))
    assert ledger.statement("visits").used > 0, "known by all columns, also where some are not read"
    with pytest.raises(InvalidInput, match="dataset must be 'visits'"):
        protect(_table(), _plan("totals"), payment=Payment(ledger=ledger, dataset="toys"))
    assert ledger.statement("toys").used == 0


def test_where_the_unit_is_a_label_the_ledger_knows_the_labels(tmp_path):
    made = Ledger.create(tmp_path / "ledger.db")
    made.register(_table()["ill"], name="ill", budget=Guarantee(unit=Unit.LABEL, epsilon=9.0, delta=1e-4))
    protect(_table(), _plan("totals", unit="label"), payment=Payment(ledger=made))
    assert made.statement("ill").used > 0


def _with(**columns):
    ((name, values),) = columns.items()
    return _table().append_column(name, pa.array(values))


@pytest.mark.parametrize(
    ("table", "changes", "said"),
    [
        (_table(), {"select": 7}, "select must be at most the number of features, 6, got 7"),
        (_table(), {"select": 6, "class_rows": (300, 300)}, "class_rows has no use with select 6"),
        (_table(), {"class_rows": (5, 5, 5)}, "class_rows must be one number for each of 2 classes, got 3"),
        (_table(), {"selection_epsilon": 9}, "selection_epsilon must leave a part of epsilon 8.0"),
        (_table(), {"label_epsilon": 9}, "label_epsilon must leave a part of epsilon 8.0"),
        (_table(), {"epsilon": 4097}, "epsilon must be at most 4096, got 4097.0"),
        (_table(), {"delta": 0.01}, "delta must be below 1/600"),
        (
            _table(),
            {"ranges": {"x0": (0, 1)}},
            "ranges must have a range for column 'x1', such as x1=0,100, or for all",
        ),
        (_table(), {"ranges": {"*": (0, 1), "x9": (0, 1)}}, "ranges names no column 'x9'"),
        (_table(), {"ranges": {"*": (0, 1e-307)}}, "ranges must be wider, got 0.0 to 1e-307"),
        (_table(), {"label": "sick"}, "label names no column 'sick'"),
        (_with(codes=[[1]] * 600), {}, "features must leave out column 'codes', which is list"),
        (_with(who=[None] + ["a"] * 599), {"person": "who"}, "person must identify the person of every row, got 1"),
        (_table().slice(0, 0).append_column("z", pa.array([], pa.float64())), {}, "has no rows"),
        (
            pa.table({"x": [0.1, 0.2] * 2, "ill": [datetime.date(2020, 1, day) for day in (1, 1, 2, 2)]}),
            {"select": None},
            "label column 'ill' must be numbers, text or truth values, got",
        ),
    ],
)
def test_bad_input_writes_nothing_and_charges_nothing(ledger, tmp_path, table, changes, said):
    paying = Payment(ledger=ledger, dataset="visits")
    with pytest.raises(InvalidInput, match=said):
        protect(table, _plan(**changes), out=tmp_path / "out.parquet", payment=paying)
    assert not (tmp_path / "out.parquet").exists()
    assert ledger.statement("visits").used == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"delta": 0}, "delta must be > 0: the noise on features is Gaussian"),
        ({"ranges": {"*": (1, 0)}}, "ranges must be COL=LOW,HIGH"),
        ({"select": 0}, "select must be an integer >= 1, got 0"),
        ({"select": None, "class_rows": (3, 3)}, "class_rows requires select"),
        ({"select": None, "selection_epsilon": 1}, "selection_epsilon requires select"),
        ({"epsilon": None, "delta": 0, "label_epsilon": 1}, "label_epsilon requires epsilon"),
        ({"mechanism": "totals", "label_epsilon": 1}, "label_epsilon has no use with totals"),
        ({"class_rows": (0, 3)}, "class_rows must be integers >= 1, one per class"),
        ({"unit": "bag"}, "unit must be record or label"),
        ({"person": "ill"}, "person must be neither the label nor a feature, got 'ill'"),
        ({"categories": {"ward": ("A", "A")}}, "categories must be COL=A,B,... with different words"),
        ({"score": "chi"}, "score must be one of distance, t, got 'chi'"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(changes, said):
    with pytest.raises(InvalidInput, match=said) as refused:
        _plan(**changes)
    assert refused.value.field == said.split()[0]


def test_classes_keep_their_sizes_in_whatever_order_they_are_listed():
    one = _plan(classes="no,yes", class_rows=(25, 75)).request()
    assert one == _plan(classes="yes,no", class_rows=(75, 25)).request()
    assert one != _plan(classes="yes,no", class_rows=(25, 75)).request()
    with pytest.raises(InvalidInput, match="class_rows must be one number for each of 2 classes, got 3"):
        _plan(classes="no,yes", class_rows=(5, 5, 5))


def test_data_has_no_use():
    with pytest.raises(InvalidInput, match="data must not be given"):
        protect(_table(), _plan(), data=_table())


def test_a_plan_moves_along_epsilon():
    moved = _plan(epsilon=None, delta=0).at(2.0)
    assert (moved.epsilon, moved.delta) == (2.0, 1e-6)
    assert _plan(label_epsilon=3).at(2.0).label_epsilon is None


KINDS = {"float32": pa.float32(), "float64": pa.float64(), "int16": pa.int16(), "decimal": pa.decimal128(7, 3)}


class TestEachRowCountsAlone:
    """What a row adds to the totals depends on no other row, else one record changes more than the noise covers."""

    def _moments(self, columns):
        rows = pa.table({**columns, "ill": ["no"] * len(columns["d"])})
        plan = _plan("totals", select=None, classes=("no", "yes"), ranges={"*": (0, 100), "d": (0, 1)})
        table = feature_table.FeatureTable.of(ibis.memtable(rows), plan, rng=np.random.default_rng(0))
        return table.survey(box=box_of(table.encoder, table.encoder.names))

    def _columns(self, kind, d, *, gap):
        near = 0.07324218  # about the middle between two steps: float32 and float64 round it to different ones
        a = [3] * len(d) if pa.types.is_integer(kind) else np.full(len(d), near, np.float32).tolist()
        exact = [Decimal("0.073")] * len(d) if pa.types.is_decimal(kind) else a
        return {
            "a": pa.array(exact, kind),
            "b": pa.array([None if gap else exact[0], *exact[1:]], kind),
            "d": pa.array(d, pa.float32()),
        }

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("batch", [1, 7, 1 << 16])
    @pytest.mark.parametrize("value", [None, float("nan"), 0.75])
    @pytest.mark.parametrize("gap", [False, True])
    def test_one_value_changes_only_the_totals_of_its_column(self, kind, batch, value, gap, monkeypatch):
        monkeypatch.setattr(feature_table, "_ROWS", batch)
        known = self._moments(self._columns(KINDS[kind], [0.25] * 30, gap=gap))
        other = self._moments(self._columns(KINDS[kind], [value] + [0.25] * 29, gap=gap))
        assert (known.sums[:, :2] == other.sums[:, :2]).all()
        assert (known.squares[:2] == other.squares[:2]).all()
        assert 0 < abs(known.sums - other.sums).max() <= 1024

    @pytest.mark.parametrize("kind", KINDS)
    def test_totals_are_the_sums_of_single_rows(self, kind):
        columns = self._columns(KINDS[kind], [0.25, None, 0.75, 0.1, None], gap=True)
        alone = [self._moments({name: column[i : i + 1] for name, column in columns.items()}) for i in range(5)]
        whole = self._moments(columns)
        assert (whole.sums == sum(one.sums for one in alone)).all()
        assert (whole.squares == sum(one.squares for one in alone)).all()


class TestWholeSteps:
    def test_totals_are_those_of_the_steps(self):
        rng = np.random.default_rng(0)
        values, codes = rng.normal(size=(40_000, 3)), rng.integers(0, 3, 40_000)
        steps = FeatureRanges(lower=(-1.0,) * 3, upper=(1.0,) * 3).whole_steps(values)
        found = ClassMoments.of_members(steps, class_members(codes, classes=3))
        naive = np.array([steps[codes == k].astype(np.int64).sum(axis=0) for k in range(3)])
        assert (found.sums == naive).all()
        assert (found.squares == (steps.astype(np.int64) ** 2 // 1024).sum(axis=0)).all()
        assert found.counts.tolist() == np.bincount(codes).tolist()

    def test_no_value_leaves_the_box(self):
        values = np.array([[-3e38], [3e38], [1.0]])
        assert FeatureRanges(lower=(-1e-3,) * 1, upper=(1e-3,) * 1).whole_steps(values).ravel().tolist() == [
            -1024,
            1024,
            1024,
        ]
