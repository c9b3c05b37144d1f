"""The attack of an audit on models: other models trained the same way, which do not know the coins."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacit.audit.answer import Permission, ReleaseState
from tacit.audit.measure import measure
from tacit.audit.source import AuditedTable
from tacit.leak import EpsilonBound
from tacit.models.attacks import by_confidence
from tacit.models.attacks.attacked_release import AttackedRelease
from tacit.models.attacks.coins import PairCoins
from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.methods import RmiaAttack
from tacit.privacy.guarantee import Guarantee, Unit

PAIRS, RUNS = 300, 100


@pytest.fixture(scope="module")
def people():
    """A label that the features hardly tell, so that a model without protection remembers its rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    ill = np.where(rng.random(400) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
    columns = {f"x{number}": column for number, column in enumerate(X.T)}
    return AuditedTable(name="people", table=pa.table({**columns, "ill": ill}), label="ill", features=tuple(columns))


@pytest.mark.parametrize("estimator", ["forest", "mlp"])
def test_an_unprotected_model_that_remembers_its_rows_is_refused(people, step_of, estimator):
    step = step_of(people, "models", epsilon=None, mechanism=f"plain:estimator={estimator}")
    found = measure(step, seed=0, tell=lambda _: None)
    assert found.answer is Permission.NO, found.reason
    assert found.state is ReleaseState.ABOVE
    assert "the limit is 10-fold" in found.reason


def test_control_a_protected_model_is_not_refused(people, step_of):
    mechanism = "dp_sgd:width=16,epochs=5,batch_size=100"
    step = step_of(people, "models", epsilon=1, delta=1e-5, mechanism=mechanism, ranges={"*": [-3, 3]})
    found = measure(step, seed=0, tell=lambda _: None)
    assert found.answer is not Permission.NO, found.reason
    assert not found.broken
    assert found.leak.facts["method"] == "rmia:coins=pairs,models=8"


def test_a_model_without_a_guarantee_is_never_shown_to_be_below_the_limit(people, step_of):
    """Nothing is found in a linear model of so many rows, but more models to compare with may find something."""
    step = step_of(people, "models", epsilon=None, mechanism="plain:estimator=logistic")
    found = measure(step, seed=0, tell=lambda _: None)
    assert found.answer is Permission.UNKNOWN, found.reason
    assert found.reason.startswith("Nothing is guaranteed, and ")


def test_an_epsilon_above_the_limit_decides_where_nothing_is_guaranteed(finding):
    bare = finding(None, [0, 1] * 200, [0, 0, 1, 1] * 100)
    proved = replace(bare, leak=replace(bare.leak, bound=EpsilonBound(value=2.31, delta=0.0, level=0.95, method="")))
    assert (bare.state, proved.state) == (ReleaseState.BELOW, ReleaseState.ABOVE)
    assert proved.reason == (
        "The attack shows that epsilon is at least 2.310: the odds of some row change at least 10-fold, and the limit "
        "is 10-fold."
    )
    assert replace(proved, limit=11.0).state is ReleaseState.BELOW
    assert replace(proved, guarantee=Guarantee(unit=Unit.RECORD, epsilon=5.0)).state is ReleaseState.BELOW


class Rows:
    """Rows of pairs by their numbers, those that were trained on first: all that the attack is told."""

    inside = np.arange(PAIRS, dtype=float)[:, None]
    outside = inside + PAIRS
    all = np.concatenate([inside, outside])
    labels = np.zeros(2 * PAIRS, dtype=int)
    classes = ("yes",)


def proved(monkeypatch, *, told):
    """How much is proved of a model that depends on no row; ``told`` is what its coins do to the reference models."""
    rng, found = np.random.default_rng(0), []

    def trained(_, X, y, *, rng, models, halves, progress):
        first = halves[:, np.argsort(X[:, 0])]
        assert (first[:, :PAIRS] ^ first[:, PAIRS:]).all(), "each model has one row of each pair"
        member = np.stack([halves, ~halves], axis=1).reshape(models, -1)
        return ShadowConfidences(confidence=rng.normal(size=member.shape) - told * (X[:, 0] < PAIRS), member=member)

    monkeypatch.setattr(by_confidence, "train_shadows", trained)
    target = AttackedRelease(
        release=type("Bare", (), {"plan": None}), truth=None, data=None, level=0.95, rng=rng, progress=print
    )
    for _ in range(RUNS):
        scores = RmiaAttack(models=8, coins="pairs").scorer(target, Rows()).score(rng.normal(size=2 * PAIRS))
        found.append(PairCoins().bound(scores[:PAIRS], scores[PAIRS:], rng=rng, level=0.95, delta=0.0).value)
    return np.array(found)


def test_reference_models_leave_the_bound_valid(monkeypatch):
    """Of a model that depends on no row nothing is proved, in at least 19 of 20 runs."""
    assert (proved(monkeypatch, told=0.0) > 0).mean() <= 0.05


def test_control_reference_models_that_know_the_coins_break_it(monkeypatch):
    assert (proved(monkeypatch, told=1.0) > 0).mean() > 0.9
