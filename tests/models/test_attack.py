"""``models.attack``: every method, on models that reveal their rows and on models that do not."""

import numpy as np
import pandas as pd
import pytest

from tacit.models import Plan, Release, attack, protect
from tacit.models.attacks import by_confidence
from tacit.models.attacks.attacked_release import AttackedRelease
from tacit.models.attacks.shadow import ShadowConfidences
from tacit.models.methods import LiraAttack, LossAttack
from tacit.privacy import InvalidInput

pytest.importorskip("torch")


def rows(count, features, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(count, features)), columns=[f"x{j}" for j in range(features)])
    return table.assign(ill=rng.integers(0, 2, count))


MEMBERS, OTHERS = rows(20, 100, 0), rows(500, 100, 1)


@pytest.fixture(scope="module")
def margin():
    plan = Plan(label="ill", epsilon=None, mechanism="margin:width=60,steps=600")
    return protect(MEMBERS, plan, rng=np.random.default_rng(1))


@pytest.fixture(scope="module")
def forest():
    return protect(MEMBERS, Plan(label="ill", epsilon=None, mechanism="plain:estimator=forest"))


def measured(release, method=None, *, truth=MEMBERS, data=OTHERS):
    return attack(release, truth=truth, data=data, method=method, rng=np.random.default_rng(0))


def test_a_network_at_its_margin_names_its_rows(margin):
    leak = measured(margin)
    assert leak.roc.auc > 0.99
    assert leak.bound is None
    assert leak.facts["covered"] in ("proved", "expected")
    assert leak.facts["margin"] == pytest.approx(1, abs=0.01)
    assert (leak.facts["members"], leak.facts["nonmembers"]) == (20, 500)
    assert leak.facts["weights"]["auc"] > 0.9
    assert leak.facts["largest_margin"] < 1.05
    assert any(note.startswith("By the loss") for note in leak.notes)
    assert "no guarantee: trained to the margin" in leak.notes[0]


def test_outputs_alone_are_enough(margin, tmp_path):
    margin.write(tmp_path / "box.onnx")
    leak = measured(tmp_path / "box.onnx", "margin:black_box=true")
    assert leak.roc.auc > 0.99
    assert "weights" not in leak.facts


@pytest.mark.parametrize("method", ["loss", "lira:models=4", "rmia:models=4"])
def test_a_forest_remembers_its_rows(forest, method):
    leak = measured(forest, method, data=OTHERS[:40])
    assert leak.roc.auc > 0.8
    assert leak.guesses.num_rows == 60
    assert leak.guesses["trained_on"].to_pylist() == [True] * 20 + [False] * 40
    assert leak.method.endswith("; of this release"), "the rows share one model"
    assert " for a flagged row of this release; the odds change " in str(leak.changes[0])


@pytest.mark.parametrize("coins", ["rows", "pairs"])
def test_coins_prove_an_epsilon(forest, coins):
    members, others = rows(300, 5, 2), rows(300, 5, 3)
    made = protect(members, Plan(label="ill", epsilon=None, mechanism="plain:estimator=forest"))
    leak = measured(made, LossAttack(coins=coins), truth=members, data=others)
    assert leak.epsilon_lower_bound > 1
    assert measured(forest, data=OTHERS[:40]).bound is None


def test_shadow_models_do_not_see_members_first(forest, monkeypatch):
    """Or scores would depend on the coins that they are to guess; each row still gets its own confidences."""
    seen = []

    def shadows(_, X, y, *, rng, models, halves, progress):
        seen.append(X)
        member = np.tile([[True], [False]], (models // 2, len(X)))
        return ShadowConfidences(confidence=np.tile(X[:, 0], (models, 1)), member=member)

    monkeypatch.setattr(by_confidence, "train_shadows", shadows)
    target = AttackedRelease(
        release=forest, truth=MEMBERS, data=OTHERS[:40], level=0.95, rng=np.random.default_rng(0), progress=print
    )
    rows = target.rows()
    found = LiraAttack(models=4).scorer(target, rows).shadows
    assert (found.confidence == rows.all[:, 0]).all()
    assert not (seen[0] == rows.all).all()
    assert (np.sort(seen[0], axis=0) == np.sort(rows.all, axis=0)).all()


def test_pairs_must_be_pairs(forest):
    with pytest.raises(InvalidInput, match="members and nonmembers must be pairs, got 20 and 40"):
        measured(forest, "loss:coins=pairs", data=OTHERS[:40])


def test_pairs_test_the_curve_of_dp_sgd():
    members, others = rows(400, 3, 4), rows(400, 3, 5)
    made = protect(
        members, Plan(label="ill", epsilon=3, delta=1e-5, mechanism="dp_sgd:epochs=1", ranges={"*": (-1, 1)})
    )
    bound = measured(made, "loss:coins=pairs", truth=members, data=others).bound
    assert bound.delta == 1e-5
    assert "by the curve of DP-SGD" in bound.method
    assert bound.value < 3


def test_an_audit_compares_no_coins_with_a_guarantee_for_labels():
    """A forest on randomized labels may reveal whose rows it had: its guarantee does not deny that."""
    for mechanism, delta, coins in (("label_private:estimator=forest", 0, "none"), ("dp_sgd", 1e-6, "pairs")):
        plan = Plan(label="ill", epsilon=1, delta=delta, mechanism=mechanism, ranges={"*": (-1, 1)})
        assert plan.trial().method == f"rmia:models=8,coins={coins}"


def test_coins_stay_fair_where_rows_occur_more_than_once():
    """Without rows outside that equal a member, most rows left of such a table would be members."""
    pool = pd.concat([rows(1000, 1, 6)] * 2)
    heads = np.random.default_rng(7).random(len(pool)) < 0.5
    made = protect(
        pool[heads], Plan(label="ill", epsilon=0.1, delta=1e-5, mechanism="dp_sgd:epochs=1", ranges={"*": (-1, 1)})
    )
    leak = measured(made, LossAttack(coins="rows"), truth=pool[heads], data=pool[~heads])
    assert leak.facts["members"] + leak.facts["nonmembers"] == len(pool)
    assert not leak.exceeds(made.guarantee)


def test_dp_sgd_hides_its_rows():
    members, others = rows(400, 3, 4), rows(400, 3, 5)
    made = protect(
        members, Plan(label="ill", epsilon=3, delta=1e-5, mechanism="dp_sgd:epochs=3", ranges={"*": (-1, 1)})
    )
    assert measured(made, "loss", truth=members, data=others).roc.auc < 0.6


def test_rows_outside_that_equal_a_member_are_left_out(margin):
    leak = measured(margin, data=pd.concat([OTHERS, MEMBERS[:3]]))
    assert leak.facts["shared"] == 3
    assert "3 of 503 rows of data equal a member and were left out." in leak.notes
    with pytest.raises(InvalidInput, match="data must not share rows with truth, got 20 in both"):
        measured(margin, data=MEMBERS)


def test_labels_are_needed_for_losses_alone(margin, forest):
    unlabeled = OTHERS.drop(columns="ill")
    assert "loss" not in measured(margin, data=unlabeled).facts
    with pytest.raises(InvalidInput, match="truth must have the label column, as data must"):
        measured(forest, data=unlabeled)


def test_points_are_read_off_the_weights():
    line = pd.DataFrame({"x": [-2.0, -1.0, 1.0, 3.0], "y": [1, 0, 1, 0]})
    made = protect(line, Plan(label="y", epsilon=None, mechanism="margin:network=exact"))
    leak = attack(made, method="reconstruct:margin=1")
    np.testing.assert_allclose(leak.facts["points"], [-2, -1, 1, 3], atol=1e-6)
    assert leak.facts["trusted"]
    assert str(leak).startswith("Nothing was counted")
    assert leak.to_json()["rate"] is None
    fresh = pd.DataFrame({"x": [0.0, 0.5, 2.0], "y": [0, 1, 0]})
    assert attack(made, truth=line, data=fresh, method="reconstruct:margin=1").rate == 1.0
    probed = attack(made, truth=line, data=fresh, method="reconstruct:margin=1,black_box=true")
    assert {round(point, 6) for point in probed.facts["candidates"]} <= {-2.0, -1.0, 1.0, 3.0}


def test_points_of_more_dimensions_are_searched_for_and_not_trusted(margin):
    leak = measured(margin, "reconstruct:points=2,steps=100")
    assert np.shape(leak.facts["points"]) == (4, 100)
    assert leak.facts["trusted"] is False
    assert leak.guesses.column_names[:2] == ["x0", "x1"]
    with pytest.raises(InvalidInput, match="method must give no margin for a model of 100 features"):
        measured(margin, "reconstruct:margin=1")


def test_a_model_from_elsewhere_is_attacked_with_the_columns_it_is_given(margin, tmp_path):
    import torch

    torch.save({name: torch.tensor(value) for name, value in margin.network.state.items()}, tmp_path / "plain.pt")
    leak = measured(Release.read(tmp_path / "plain.pt", label="ill"))
    assert leak.roc.auc > 0.95
    assert "the file does not state how the model was trained" in leak.notes[0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"truth": None}, "truth must be given: the rows that the model was trained on"),
        ({"data": None}, "data must be given: rows that it was not trained on"),
        ({"method": "psychic"}, "method must be one of margin, loss, lira, rmia, reconstruct"),
        ({"method": "lira:models=3"}, "method lira: models must be an even number >= 4"),
        ({"before": np.ones((20, 2))}, "before must not be given"),
        ({"data": OTHERS[["x0", "ill"]]}, "data names no column 'x1'"),
    ],
)
def test_what_makes_no_sense_is_refused(margin, given, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        attack(margin, **{"truth": MEMBERS, "data": OTHERS, **given})


def test_networks_of_another_kind_are_attacked_by_their_loss(tmp_path):
    import torch

    torch.manual_seed(0)
    layers = [torch.nn.Linear(100, 10), torch.nn.ReLU(), torch.nn.Linear(10, 2)]
    torch.save(torch.nn.Sequential(*layers).state_dict(), tmp_path / "two.pt")
    release = Release.read(tmp_path / "two.pt", label="ill")
    assert measured(release).facts["method"] == "loss"
    with pytest.raises(InvalidInput, match="not a homogeneous two-layer ReLU network"):
        measured(release, "margin")
