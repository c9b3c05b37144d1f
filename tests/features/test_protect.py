"""A release of features from a table: what it holds, what it promises, what it refuses."""

import datetime
import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from tacit.features import (
    Box,
    ClassTotals,
    FeaturePlan,
    NoisedClassRows,
    NoisedRows,
    PrivateSelection,
    PublicClassRows,
    protect_features,
)
from tacit.features.attack import canary_leak
from tacit.features.protect.moments import ClassMoments, class_members
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise import system_rng
from tacit.privacy.release import read_release


def _table(rows=600, features=6, *, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, features)) / 4 + np.outer(y, np.arange(features) < 2) / 2
    return pa.table({**{f"x{j}": X[:, j] for j in range(features)}, "ill": np.where(y, "yes", "no")})


def _rows_plan(**changes):
    settings = {
        "box": Box.symmetric(1.0),
        "release": NoisedRows(epsilon=4.0, delta=1e-5),
        "selection": PrivateSelection(epsilon=2.0, keep=2),
        "class_rows": PublicClassRows(rows=(300, 300)),
        "labels": RandomizedResponse(epsilon=1.0),
    }
    return FeaturePlan(**{**settings, **changes})


TOTALS = FeaturePlan(box=Box.symmetric(1.0), release=ClassTotals(epsilon=1.0, delta=1e-5))


def test_rows_hold_the_selected_features_and_released_labels(tmp_path):
    made = protect_features(_table(), tmp_path / "out.parquet", label="ill", plan=_rows_plan(), rng=system_rng())
    release = read_release(tmp_path / "out.parquet")
    assert made.features == ("x0", "x1")
    assert release.value.column_names == ["x0", "x1", "label"]
    assert release.value.num_rows == 600
    assert "ill" not in json.dumps(dict(release.mechanism))
    assert release.guarantee == made.guarantee
    assert (made.guarantee.unit, made.guarantee.epsilon, made.guarantee.delta) == (Unit.RECORD, 7.0, 1e-5)
    assert not release.seeded


def test_rows_carry_the_noise_they_say():
    steps = np.full((20_000, 3), 100, dtype=np.int64)
    noise = NoisedRows(epsilon=2.0, delta=1e-6)
    noised = noise.protect(steps, rng=np.random.default_rng(1))
    spread = (noised - 100).std() / 1024
    assert spread == pytest.approx(noise.deviation(features=3), rel=0.02)
    assert spread != pytest.approx(noise.deviation(features=2), rel=0.02)


def test_totals_are_near_the_truth_and_hold_no_row(tmp_path):
    table = _table(rows=5000)
    protect_features(table, tmp_path / "totals.json", label="ill", plan=TOTALS, rng=np.random.default_rng(2))
    release = read_release(tmp_path / "totals.json")
    y = np.asarray(table["ill"]) == "yes"
    truth = np.stack([[np.clip(table[f"x{j}"].to_numpy()[y == c], -1, 1).sum() for j in range(6)] for c in (0, 1)])
    noise = release.mechanism["noise"]["sums"]
    assert np.abs(np.asarray(release.value["sums"]) - truth).max() < 6 * noise + 5000 / 2048
    assert set(release.value) == {"counts", "sums", "squares"}
    assert release.seeded


def test_totals_are_moved_by_one_record_as_far_as_they_are_priced():
    rng = np.random.default_rng(3)
    counts, sums, squares = ClassTotals(epsilon=1.0, delta=1e-5).noises(features=4)
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


def test_canaries_prove_no_more_than_the_promise_and_catch_too_little_noise():
    promise = NoisedRows(epsilon=2.0, delta=1e-3)
    honest = canary_leak(promise, features=5, canaries=20_000, delta=1e-3, rng=np.random.default_rng(4))
    assert 1.0 < honest.epsilon_lower_bound <= 2.0

    @dataclass
    class Forgetful:  # noise for one feature on all five
        def protect(self, steps, *, rng):
            return steps + promise.noise(features=1).draw(steps.shape, rng=rng)

    caught = canary_leak(Forgetful(), features=5, canaries=20_000, delta=1e-3, rng=np.random.default_rng(5))
    assert caught.epsilon_lower_bound > 2.0


def test_a_plan_promises_the_sum_of_its_parts():
    plan = _rows_plan(class_rows=NoisedClassRows(epsilon=0.5))
    promise = plan.guarantee(features=6, classes=2)
    assert (promise.epsilon, promise.delta) == (7.5, 1e-5)
    assert promise.loss.epsilon_at(1e-5) <= 7.5
    assert any("class list" in said for said in promise.assumptions)
    assert any("two rows or more" in said for said in promise.assumptions), "a refusal would tell"
    assert not any(said.startswith("features") for said in promise.assumptions), "features are what is protected"


def test_the_ledger_is_charged_before_and_refuses(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(_table(), name="visits", budget=Guarantee(unit=Unit.RECORD, epsilon=7.5, delta=1e-5))
    plan = _rows_plan()
    protect_features(
        _table(), tmp_path / "one.parquet", label="ill", plan=plan, ledger=ledger, dataset="visits", rng=system_rng()
    )
    assert ledger.statement("visits").spent == pytest.approx(7.0, abs=1.0)
    with pytest.raises(BudgetExceeded):
        protect_features(
            _table(),
            tmp_path / "two.parquet",
            label="ill",
            plan=plan,
            ledger=ledger,
            dataset="visits",
            rng=system_rng(),
        )
    assert not (tmp_path / "two.parquet").exists()


def _broken(**columns):
    return _table().append_column(*next(iter(columns.items()))) if len(columns) == 1 else None


@pytest.mark.parametrize(
    ("table", "plan", "said"),
    [
        (_table(), _rows_plan(selection=PrivateSelection(epsilon=1.0, keep=7)), "keep must be at most"),
        (_broken(flat=pa.array([1.0] * 600)), _rows_plan(), "feature 'flat' must vary, got one value in all rows"),
        (
            _broken(hole=pa.array([None] + [1.0, 2.0] * 299 + [1.0])),
            _rows_plan(),
            "'hole' has missing, NaN or infinite",
        ),
        (_broken(inf=pa.array([np.inf] + [1.0] * 599)), _rows_plan(), "'inf' has missing, NaN or infinite"),
        (_broken(word=pa.array(["a"] * 600)), _rows_plan(), "column 'word' is string"),
        (_table(), _rows_plan(box=Box(lower=50.0, upper=60.0)), "clip every row"),
        (_table(), _rows_plan(box=Box(lower=(0.0,) * 2, upper=(1.0,) * 2)), "one number for each of 6 features, got 2"),
        (_table().slice(0, 0).append_column("z", pa.array([], pa.float64())), _rows_plan(), "has no rows"),
        (
            pa.table({"x": [0.1, 0.2, 0.3], "ill": ["no", "no", "yes"]}),
            _rows_plan(selection=None, class_rows=None),
            "class .yes. has 1 row;",
        ),
        (
            _table(),
            _rows_plan(class_rows=PublicClassRows(rows=(5, 5, 5))),
            "class_rows must be one number for each of 2",
        ),
        (_broken(label=pa.array([1.0, 2.0] * 300)), _rows_plan(), "must not name a column 'label'"),
        (
            pa.table({"x": [0.1, 0.2] * 2, "ill": [datetime.date(2020, 1, day) for day in (1, 1, 2, 2)]}),
            _rows_plan(selection=None, class_rows=None),
            "labels must be numbers, text or truth values, got",
        ),
    ],
)
def test_bad_input_writes_nothing_and_charges_nothing(tmp_path, table, plan, said):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register([1, 2], name="visits", budget=Guarantee(unit=Unit.RECORD, epsilon=100.0, delta=1e-3))
    with pytest.raises(InvalidInput, match=said):
        protect_features(
            table, tmp_path / "out.parquet", label="ill", plan=plan, ledger=ledger, dataset="visits", rng=system_rng()
        )
    assert not (tmp_path / "out.parquet").exists()
    assert ledger.statement("visits").spent == 0


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, float("nan")])
def test_delta_outside_its_range_is_refused(delta):
    with pytest.raises(InvalidInput, match="delta"):
        NoisedRows(epsilon=1.0, delta=delta)


@pytest.mark.parametrize("release", [NoisedRows, ClassTotals])
def test_an_epsilon_finer_than_the_grid_is_refused_by_its_name(release):
    with pytest.raises(InvalidInput, match=r"epsilon must be at most 4096, got 4097"):
        release(epsilon=4097.0, delta=1e-5)
    assert NoisedRows(epsilon=4096.0, delta=1e-5).deviation(features=1) > 0, "control: the largest has its noise"


def test_true_labels_never_leave_under_a_guarantee():
    with pytest.raises(InvalidInput, match="true labels leave under no guarantee"):
        _rows_plan(labels=None)


@pytest.mark.parametrize("upper", [5e-324, 1e-307])
def test_a_box_too_narrow_for_floats_is_refused(upper):
    """Its middle would be 0 times infinity, and the step of that lies outside of every bound."""
    with pytest.raises(InvalidInput, match="must lie further apart"):
        Box(lower=0.0, upper=upper)
    assert Box(lower=0.0, upper=1e-300).snap([[0.0], [5e-301], [1e-300]]).ravel().tolist() == [-1024, 0, 1024]


def test_a_known_table_is_charged_as_what_it_is(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    budget = Guarantee(unit=Unit.RECORD, epsilon=10.0, delta=1e-5)
    ledger.register(_table(), name="visits", budget=budget)
    ledger.register([1, 2], name="toys", budget=budget)
    made = protect_features(_table(), tmp_path / "a.json", label="ill", plan=TOTALS, ledger=ledger, rng=system_rng())
    assert made.receipt is not None
    assert ledger.statement("visits").spent > 0
    with pytest.raises(InvalidInput, match="dataset must be 'visits'"):
        protect_features(
            _table(), tmp_path / "b.json", label="ill", plan=TOTALS, ledger=ledger, dataset="toys", rng=system_rng()
        )
    assert ledger.statement("toys").spent == 0


class TestNarrowFloats:
    """float32 columns are added up as they are: exactly, and to the same totals as in float64 but for ties."""

    def test_totals_are_those_of_the_steps(self):
        rng = np.random.default_rng(0)
        values, codes = rng.normal(size=(40_000, 3)).astype(np.float32), rng.integers(0, 3, 40_000)
        steps = Box.symmetric(1.0).whole_steps(values)
        assert steps.dtype == np.float32
        members = class_members(codes, classes=3)
        narrow = ClassMoments.of_members(steps, members.astype(np.float32))
        naive = np.array([steps[codes == k].astype(np.int64).sum(axis=0) for k in range(3)])
        assert (narrow.sums == naive).all()
        assert (narrow.squares == (steps.astype(np.int64) ** 2 // 1024).sum(axis=0)).all()
        assert narrow.counts.tolist() == np.bincount(codes).tolist()

    def test_sums_past_24_bits_are_exact(self):
        steps = np.full((50_001, 1), 1023, dtype=np.float32)
        members = np.ones((1, 50_001), dtype=np.float32)
        assert ClassMoments.of_members(steps, members).sums[0, 0] == 50_001 * 1023
        assert int((members @ steps)[0, 0]) != 50_001 * 1023, "the control: in one float32 sum it is not"

    def test_a_middle_that_float32_does_not_hold_is_left_to_float64(self):
        box = Box(lower=1.6e9 + 1, upper=1.6e9 + 21)
        values = np.array([[1.6e9 + 128]], dtype=np.float32)
        assert box.whole_steps(values).dtype == np.float64
        assert box.whole_steps(values) == box.whole_steps(values.astype(np.float64))

    def test_no_value_leaves_the_box(self):
        values = np.array([[-3e38], [3e38], [1.0]], dtype=np.float32)
        assert Box.symmetric(1e-3).whole_steps(values).ravel().tolist() == [-1024, 1024, 1024]
