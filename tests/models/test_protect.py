"""``models.protect``: what is trained, charged, drawn and written, for every mechanism."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tacit.models import Plan, Release, protect
from tacit.privacy import Guarantee, InvalidInput, Ledger, NoGuarantee, Unit
from tacit.privacy.errors import BudgetExceeded, InvalidRelease
from tacit.privacy.payment import Payment
from tacit.privacy.targets import Overwrite

torch = pytest.importorskip("torch")


def rows(count, *, classes=2, features=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, count)
    X = rng.normal(size=(count, features)) + 2.0 * codes[:, None]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(features)]).assign(ill=codes)


TABLE = rows(200)
DP = Plan(label="ill", epsilon=3, delta=1e-5, mechanism="dp_sgd:epochs=2,width=8", ranges={"*": (-8, 8)})
FAR = rows(10, features=30)
PLANS = {
    "dp_sgd": (TABLE, DP),
    "label_private": (TABLE, Plan(label="ill", epsilon=2, mechanism="label_private")),
    "label_private forest": (TABLE, Plan(label="ill", epsilon=2, mechanism="label_private:estimator=forest")),
    "margin": (FAR, Plan(label="ill", epsilon=None, mechanism="margin:width=20,steps=100")),
    "early_stop": (FAR, Plan(label="ill", epsilon=None, mechanism="early_stop:width=20,steps=100")),
    "plain": (TABLE, Plan(label="ill", epsilon=None, mechanism="plain")),
    "plain mlp": (TABLE, Plan(label="ill", epsilon=None, mechanism="plain:estimator=mlp")),
    "plain trees": (TABLE, Plan(label="ill", epsilon=None, mechanism="plain:estimator=trees")),
}


@pytest.mark.parametrize("case", list(PLANS))
def test_a_release_is_written_read_and_refused_when_it_states_less(case, tmp_path):
    table, plan = PLANS[case]
    path = tmp_path / f"model{plan.suffix}"
    made = protect(table, plan, out=path, rng=np.random.default_rng(0))
    back = Release.read(path, trust=True)
    assert back.plan == plan
    assert back.seeded
    assert back.settled == made.settled
    assert back.label == "ill"
    X = back.encoder.scale(table.drop(columns="ill").to_numpy())
    np.testing.assert_array_equal(back.member.logits(X, classes=2), made.member.logits(X, classes=2))
    if plan.epsilon is None:
        assert isinstance(back.guarantee, NoGuarantee)
        stated = Guarantee(unit=Unit.LABEL, epsilon=1.0)
    else:
        assert (back.guarantee.epsilon, back.guarantee.delta) == (plan.epsilon, plan.delta)
        assert back.guarantee.assumptions[-1] == "which classes occur, and that every row has one, is public"
        stated = replace(back.guarantee, epsilon=plan.epsilon / 2, loss=None)
    replace(back, header=replace(back.header, guarantee=stated)).write(path, force=True)
    with pytest.raises(InvalidRelease, match="its mechanism has"):
        Release.read(path)


def test_declared_classes_are_no_assumption_and_three_classes_are_trained():
    table = rows(120, classes=3)
    plan = replace(DP, classes=("2", "1", "0"))
    made = protect(table, plan, rng=np.random.default_rng(0))
    assert made.classes == (2, 1, 0)
    assert not any("which classes occur" in one for one in made.guarantee.assumptions)
    assert made.guarantee.assumptions[-1] == "it is public that every row has a label of the class list"
    X = made.encoder.scale(table.drop(columns="ill").to_numpy())
    assert made.member.logits(X, classes=3).shape == (120, 3)


def test_ranges_are_public_and_mapped_to_one():
    plan = replace(DP, ranges={"x0": (-10, 10), "*": (0, 4)})
    made = protect(TABLE, plan, rng=np.random.default_rng(0))
    np.testing.assert_allclose(made.encoder.scale(np.array([[10.0, 0.0, 9.0]])), [[1.0, -1.0, 1.0]])
    scaled = TABLE.assign(x0=TABLE.x0 / 10, x1=TABLE.x1 / 2 - 1, x2=TABLE.x2 / 2 - 1)
    same = protect(scaled, replace(DP, ranges={"*": (-1, 1)}), rng=np.random.default_rng(0))
    np.testing.assert_allclose(made.network.weights, same.network.weights, rtol=1e-4)


def test_every_step_adds_the_noise_that_the_header_states(monkeypatch):
    from tacit.models.training import noisy_steps

    drawn, draw = [], noisy_steps._SystemNoise.add_noise

    def record(self):
        drawn.append(self.noise_multiplier * self.max_grad_norm)
        draw(self)

    monkeypatch.setattr(noisy_steps._SystemNoise, "add_noise", record)
    made = protect(TABLE, DP, rng=np.random.default_rng(0))
    assert drawn == [made.settled["noise"]] * made.settled["steps"]
    assert made.settled["noise"] > 0.8


def test_labels_are_randomized_at_the_stated_rate(monkeypatch):
    """Half the noise, or none, would keep more labels than e^epsilon/(e^epsilon + 1)."""
    from tacit.models.training import estimators

    seen = []
    fit = estimators.fit_estimator
    monkeypatch.setattr(estimators, "fit_estimator", lambda name, X, y, **how: seen.append(y) or fit(name, X, y, **how))
    table = rows(20_000)
    protect(table, Plan(label="ill", epsilon=1, mechanism="label_private"), rng=np.random.default_rng(0))
    kept = (seen[0] == table.ill.to_numpy()).mean()
    assert kept == pytest.approx(np.e / (np.e + 1), abs=0.015)


def test_labels_that_randomize_to_one_class_still_make_a_model():
    table = rows(30).assign(ill=[0] * 30)
    plan = Plan(label="ill", epsilon=50, mechanism="label_private", classes=("0", "1", "2"))
    made = protect(table, plan, rng=np.random.default_rng(0))
    assert (made.member.logits(table.drop(columns="ill").to_numpy(), classes=3).argmax(axis=1) == 0).all()


def test_rows_of_a_person_beyond_the_bound_are_not_trained_on():
    table = TABLE.assign(who=[f"p{row % 50}" for row in range(200)])
    made = protect(table, replace(DP, person="who", rows_per_person=2), rng=np.random.default_rng(0))
    assert made.settled["rows"] == 100
    assert made.encoder.columns() == ("x0", "x1", "x2"), "whose row it is is no feature"
    assert (made.guarantee.rows, made.guarantee.delta, made.guarantee.loss.rows) == (2, DP.delta, 2)
    assert 2 * DP.epsilon < made.guarantee.epsilon < 2.5 * DP.epsilon
    assert "how many rows each person has is public" in made.guarantee.assumptions


@pytest.mark.parametrize("values", [[1.0] * 200, [np.nan] * 200, [np.inf] + [0.5] * 199, [1e308] + [0.5] * 199])
def test_dp_sgd_refuses_no_value_of_a_private_row(values):
    """A refusal would tell a table from its neighbor."""
    made = protect(TABLE.assign(z=values), DP, rng=np.random.default_rng(0))
    assert made.encoder.names[-1] == "z"
    assert np.isfinite(made.network.weights).all()


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(TABLE, name="visits", budget=Guarantee(unit=Unit.RECORD, epsilon=4.0, delta=1e-4))
    return ledger


def test_the_ledger_is_charged_before_the_first_step_and_once(ledger, tmp_path):
    left = []
    out = tmp_path / "model.pt"
    made = protect(
        TABLE,
        DP,
        out=out,
        payment=Payment(ledger=ledger),
        progress=lambda *_: left.append(ledger.statement("visits").left),
    )
    assert made.receipt.id == "visits/1"
    assert left[0] < 4.0
    again = protect(TABLE, DP, out=tmp_path / "again.onnx", payment=Payment(ledger=ledger))
    assert again.repeated
    np.testing.assert_array_equal(again.network.weights, made.network.weights)
    with pytest.raises(BudgetExceeded):
        protect(TABLE, replace(DP, epsilon=6), payment=Payment(ledger=ledger))


def test_a_ledger_of_labels_pays_for_label_private_models(tmp_path):
    ledger = Ledger.create(tmp_path / "labels.db")
    ledger.register(TABLE.ill.tolist(), name="visits", budget=Guarantee(unit=Unit.LABEL, epsilon=4.0))
    plan = Plan(label="ill", epsilon=2, mechanism="label_private:estimator=forest")
    assert protect(TABLE, plan, payment=Payment(ledger=ledger)).receipt.id == "visits/1"
    assert protect(TABLE, plan, payment=Payment(ledger=ledger)).repeated


WRONG = {
    "epsilon": ({"epsilon": None}, "epsilon must be given for dp_sgd"),
    "delta": ({"epsilon": 3}, r"delta must be in \(0, 1\) for dp_sgd"),
    "unit": ({"epsilon": 3, "delta": 1e-5, "unit": "label"}, "unit must be record for dp_sgd"),
    "label unit": ({"epsilon": 3, "unit": "record", "mechanism": "label_private"}, "unit must be label"),
    "label delta": ({"epsilon": 3, "delta": 1e-5, "mechanism": "label_private"}, "delta must be 0 for label_private"),
    "margin": ({"epsilon": 3, "mechanism": "margin"}, "epsilon must be none: margin adds no noise"),
    "classes": ({"epsilon": None, "mechanism": "margin", "classes": "a,b,c"}, "classes must be two for margin"),
    "width": ({"epsilon": 3, "mechanism": "dp_sgd:width=0"}, "mechanism dp_sgd: width must be an integer >= 1"),
    "clip": ({"epsilon": 3, "mechanism": "dp_sgd:clip=-1"}, "mechanism dp_sgd: clip must be > 0"),
    "share": ({"epsilon": None, "mechanism": "early_stop:share=1"}, "mechanism early_stop: share must be in"),
    "ranges": ({"epsilon": None, "mechanism": "plain", "ranges": {"a": (1, 1)}}, "ranges must be COL=LOW,HIGH"),
    "person": ({"epsilon": None, "mechanism": "plain", "person": "ill"}, "person must be neither the label nor"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_plans_that_cannot_be_kept_are_refused(case):
    given, sentence = WRONG[case]
    with pytest.raises(InvalidInput, match=sentence) as refused:
        Plan(**{"label": "ill", **given})
    assert refused.value.field == sentence.split()[0]


TABLES = {
    "no label": (TABLE, {"label": "sick"}, "label names no column 'sick'"),
    "no feature": (TABLE, {"features": ("age",)}, "features names no column 'age'"),
    "one class": (TABLE.assign(ill=1), {}, "classes must be declared, two or more, where the label has one class, 1"),
    "range": (TABLE, {"ranges": {"x0": (0, 1)}}, "ranges must have a range for column 'x1', such as x1=0,100"),
    "batch": (TABLE, {"mechanism": "dp_sgd:batch_size=201"}, "batch_size must be at most the 200 rows"),
    "large delta": (TABLE, {"delta": 0.01}, "delta must be below 1/200"),
    "two of three": (
        rows(30, classes=3),
        {"mechanism": "margin", "epsilon": None, "delta": 0.0},
        "label must name a column of two values for margin, 'ill' has 3",
    ),
}


@pytest.mark.parametrize("case", list(TABLES))
def test_bad_tables_cost_and_write_nothing(case, ledger, tmp_path):
    table, changes, sentence = TABLES[case]
    payment = Payment(ledger=ledger, dataset="visits")
    with pytest.raises(InvalidInput, match=sentence):
        protect(table, replace(DP, **changes), out=tmp_path / "model.pt", payment=payment)
    assert ledger.statement("visits").left == 4.0
    assert not (tmp_path / "model.pt").exists()


def test_where_a_model_cannot_be_written_nothing_is_read(tmp_path):
    for name, sentence in {
        "model.joblib": r"out must end in \.safetensors",
        "model.pkl": "must end in",
        "no/model.pt": "cannot be written",
    }.items():
        with pytest.raises(InvalidInput, match=sentence):
            protect("nowhere.csv", DP, out=tmp_path / name)
    with pytest.raises(InvalidInput, match="data must not be given"):
        protect(TABLE, DP, data=TABLE)
    (tmp_path / "model.pt").touch()
    with pytest.raises(InvalidInput, match="exists already"):
        protect("nowhere.csv", DP, out=tmp_path / "model.pt")
    protect(TABLE, PLANS["plain"][1], out=Overwrite(tmp_path / "model.pt"))
