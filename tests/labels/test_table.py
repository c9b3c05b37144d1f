"""From a table to a model: what is charged, what is judged by what, and which columns become numbers."""

import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer
from tacit.labels.learners.table import learn_table
from tacit.labels.releases.labels import MissingLabels, release_labels
from tacit.labels.releases.stream import protect_table

from tacit.data import load_table, titanic
from tacit.labels.fitting.denoise import NoCorrection
from tacit.labels.fitting.encode import FeatureEncoder
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.network import TorchClassifier
from tacit.labels.learners.retrain import Consensus
from tacit.labels.mechanisms.one_hot import LaplaceOneHot
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, Unit, read_release
from tacit.privacy.ledger import Ledger


def people(rows=3000, *, seed=0):
    rng = np.random.default_rng(seed)
    age, city = rng.normal(50, 15, rows), rng.choice(["Oslo", "Rome"], rows)
    chance = 1 / (1 + np.exp(-(age - 50) / 5 - 2 * (city == "Rome") + 1))
    return pa.table({"age": age, "city": city, "ill": np.where(rng.random(rows) < chance, "yes", "no")})


def learner(epsilon=2.0, **options):
    defaults = {"denoise": NoCorrection(), "random_state": 0}
    return LabelPrivateClassifier(
        LogisticRegression(), mechanism=RandomizedResponse(epsilon=epsilon), **{**defaults, **options}
    )


def test_a_test_table_is_judged_by_its_true_labels():
    learned = learn_table(
        load_table(people()), "ill", learner=learner(), test=load_table(people(1000, seed=1)), compare=True
    )
    assert learned.estimate is None
    assert 0.8 < learned.accuracy <= learned.clean_accuracy + 0.02
    assert (learned.rows, learned.judged_rows) == (3000, 1000)
    document = learned.to_json()
    assert document["accuracy"] == learned.accuracy
    assert not document["accuracy_inside_guarantee"]
    assert {"guarantee", "consensus_fraction"} <= set(document)


def test_both_models_read_the_representation():
    """One that shows nothing leaves both at guessing."""
    blind = FunctionTransformer(np.zeros_like)
    learned = learn_table(
        load_table(people()),
        "ill",
        learner=learner(representation=blind),
        test=load_table(people(1000, seed=1)),
        compare=True,
    )
    assert learned.accuracy < 0.6
    assert learned.clean_accuracy < 0.6


def test_without_one_the_estimate_is_unbiased():
    truth = load_table(people(20_000, seed=9))
    errors, estimates = [], []
    for seed in range(12):
        learned = learn_table(load_table(people(seed=seed)), "ill", learner=learner(random_state=seed), hold_out=0.3)
        rows = truth.to_pyarrow()
        real = np.mean(learned.model.predict(learned.encoder.encode(rows)) == np.array(rows["ill"]))
        estimates.append(learned.estimate)
        errors.append((learned.estimate.value - real) / learned.estimate.standard_error)
        assert learned.to_json()["accuracy_inside_guarantee"]
        assert (learned.rows, learned.judged_rows) == (2100, 900)
    assert abs(np.mean(errors)) < 4.9 / np.sqrt(12), "within 1e-6 of a mean of 0"
    plain = [e.value for e in estimates]
    assert min(plain) > 0.75, "control: the agreement with noisy labels itself is about 0.75"


def test_the_ledger_is_charged_once_for_training_and_judging(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    table = people(500)
    ledger.register(table["ill"], name="people", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0))
    model = learner(ledger=ledger, dataset="people", stages=2, random_state=None)
    learned = learn_table(load_table(table), "ill", learner=model)
    assert ledger.statement("people").spent == 2.0 == learned.guarantee.epsilon
    with pytest.raises(BudgetExceeded):
        learn_table(load_table(table), "ill", learner=learner(ledger=ledger, dataset="people"))
    assert len(ledger.statement("people").entries) == 1


def test_a_release_costs_nothing_more_and_is_split_like_labels():
    table = people()
    release = release_labels(table["ill"], mechanism=RandomizedResponse(epsilon=2.0), rng=np.random.default_rng(0))
    features = [name for name in table.column_names if name != "ill"]
    learned = learn_table(load_table(table), release, learner=learner(), features=features)
    assert learned.guarantee == release.guarantee
    assert learned.estimate.value == pytest.approx(0.87, abs=5 * learned.estimate.standard_error)
    with pytest.raises(InvalidInput, match="labels must be of the table's 10 rows, got a release of 3000"):
        learn_table(load_table(table.slice(0, 10)), release, learner=learner())


def test_a_release_says_which_column_of_a_test_table_holds_the_truth(tmp_path):
    rows, out = people(), tmp_path / "out.parquet"
    protect_table(rows, out, label="ill", mechanism=RandomizedResponse(epsilon=3.0), rng=np.random.default_rng(0))
    learned = learn_table(load_table(rows), read_release(out), learner=learner(), test=load_table(rows))
    assert learned.accuracy > 0.8


def test_labels_all_of_one_declared_class_are_as_private_as_others():
    rows = people().set_column(2, "ill", pa.array(["no"] * 3000))
    learned = learn_table(load_table(rows), "ill", learner=learner(0.1, classes=["no", "yes"]))
    assert learned.rows == 2400
    with pytest.raises(InvalidInput, match="one value, 'no', in all rows"):
        learn_table(load_table(rows), "ill", learner=learner())


def test_rows_without_a_released_label_neither_train_nor_judge():
    table = people()
    labels = [None if i % 2 else label for i, label in enumerate(table["ill"].to_pylist())]
    release = release_labels(
        labels, mechanism=RandomizedResponse(epsilon=4.0), missing=MissingLabels.PUBLIC, rng=np.random.default_rng(0)
    )
    learned = learn_table(load_table(table), release, learner=learner(), features=["age", "city"])
    assert (learned.rows, learned.judged_rows) == (1200, 300)
    assert learned.estimate.value > 0.75  # counted as wrong guesses they would leave half of it


def test_labels_by_another_mechanism_do_not_judge(tmp_path):
    table = people()
    protect_table(
        table, tmp_path / "out.parquet", label="ill", mechanism=LaplaceOneHot(epsilon=3.0), rng=np.random.default_rng(0)
    )
    release = read_release(tmp_path / "out.parquet")
    with pytest.raises(InvalidInput, match="hold_out must be 0 for a release by laplace_one_hot"):
        learn_table(load_table(table), release, learner=learner())
    learned = learn_table(load_table(table), release, learner=learner(), hold_out=0)
    assert learned.to_json()["accuracy"] is None
    judged = learn_table(load_table(table), release, learner=learner(), test=load_table(table), test_label="ill")
    assert judged.accuracy > 0.75
    staged = learn_table(load_table(table), "ill", learner=learner(stages=2), hold_out=0).model.release_
    with pytest.raises(InvalidInput, match="hold_out must be 0"):
        learn_table(load_table(table), staged, learner=learner(), features=["age", "city"])


def test_a_release_that_does_not_name_its_column_needs_the_features_named():
    table = people()
    release = release_labels(table["ill"], mechanism=RandomizedResponse(epsilon=2.0), rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="does not say which column of the table is private"):
        learn_table(load_table(table), release, learner=learner())


def test_the_private_column_is_never_a_feature_of_a_model_learned_from_its_release():
    table = people()
    release = release_labels(table["ill"], mechanism=RandomizedResponse(epsilon=2.0), rng=np.random.default_rng(0))
    release = replace(release, mechanism={**release.mechanism, "column": "ill"})
    learned = learn_table(load_table(table), release, learner=learner())
    assert learned.model.n_features_in_ == learn_table(load_table(table), "ill", learner=learner()).model.n_features_in_
    with pytest.raises(InvalidInput, match="features must not name the private column 'ill'"):
        learn_table(load_table(table), release, learner=learner(), features=["ill"])


def test_a_class_that_occurs_only_in_held_out_rows_is_known():
    table = people(50).append_column("rare", [["a", "b"] * 24 + ["a", "c"]])
    for seed in range(5):
        model = learner(random_state=seed)
        learned = learn_table(load_table(table.drop(["ill"])), "rare", learner=model, hold_out=0.5)
        assert learned.model.classes_.tolist() == ["a", "b", "c"]
        assert learned.guarantee.assumptions[-1] == "which classes occur in the labels is public"
        assert model.classes is None


def test_fits_are_announced_and_the_learner_is_as_it_was():
    begun = []
    model = learner(stages=2, retrain=Consensus(), rounds=2)
    learn_table(load_table(people(400)), "ill", learner=model, progress=lambda *step: begun.append(step))
    assert begun == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert (model.denoise, model.retrain) == (NoCorrection(), Consensus())


def test_a_model_can_be_stored_without_its_ledger():
    learned = learn_table(load_table(people(400)), "ill", learner=learner())
    again = pickle.loads(pickle.dumps({"model": learned.model, "encoder": learned.encoder}))
    X = again["encoder"].encode(people(10, seed=3))
    assert (again["model"].predict(X) == learned.model.predict(X)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": people(10).drop(["age"])}, "test must have the feature column 'age', its columns are city, ill"),
        ({"test": people(10).drop(["ill"])}, "test's label names no column 'ill'"),
        ({"hold_out": 0.9999}, "hold_out must leave rows to train on, got 0.9999 of 100 rows"),
        ({"hold_out": 1.0}, r"hold_out must be in \[0, 1\)"),
        ({"features": ["ill"]}, "features must not name the private column"),
        ({"features": ["height"]}, "features names no column 'height'"),
        ({"compare": True}, "compare needs the true labels"),
    ],
)
def test_bad_input_charges_nothing(tmp_path, options, message):
    ledger = Ledger.create(tmp_path / "ledger.db")
    table = people(100)
    ledger.register(table["ill"], name="people", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0))
    if "test" in options:
        options = {"test": load_table(options["test"])}
    with pytest.raises(InvalidInput, match=message):
        learn_table(load_table(table), "ill", learner=learner(ledger=ledger, dataset="people"), **options)
    assert ledger.statement("people").entries == ()


def test_missing_features_unknown_words_and_constants():
    rows = pa.table({"x": [1.0, None, 3.0], "same": [5, 5, 5], "word": ["a", None, "b"], "yes": [True, False, True]})
    encoder = FeatureEncoder.of(rows, columns=rows.column_names)
    X = encoder.encode(rows)
    assert X[:, 0].tolist() == [-1.0, 0.0, 1.0]
    assert X[:, 1].tolist() == [0.0, 0.0, 0.0]
    assert X[:, 2:4].tolist() == [[1, 0], [0, 0], [0, 1]]
    later = encoder.encode(pa.table({"x": [float("inf")], "same": [6], "word": ["c"], "yes": [None]}))
    assert np.isfinite(later).all()
    assert later.shape == (1, 5)
    with pytest.raises(InvalidInput, match="column 'x' must be numbers, as in the rows trained on, got string"):
        encoder.encode(rows.set_column(0, "x", [["1", "2", "3"]]))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([f"person {i}" for i in range(1001)], "has 1001 different words, more than 1000"),
        (pa.array([1, 2], pa.timestamp("s")), "neither numbers nor text"),
        ([[1], [2]], "neither numbers nor text"),
    ],
)
def test_columns_that_cannot_be_features(column, message):
    with pytest.raises(InvalidInput, match=message):
        FeatureEncoder.of(pa.table({"x": column}), columns=["x"])


def test_a_network_keeps_its_own_default_from_a_table():
    torch = pytest.importorskip("torch")
    seen = []

    class Listening(TorchClassifier):
        def fit_likelihoods(self, X, likelihoods, sample_weight=None):
            seen.append(len(X))
            return super().fit_likelihoods(X, likelihoods, sample_weight=sample_weight)

    network = Listening(lambda shape, classes: torch.nn.Linear(*shape, classes), epochs=1)
    learner = LabelPrivateClassifier(network, mechanism=RandomizedResponse(epsilon=2.0), random_state=0)
    learn_table(load_table(titanic().table), titanic().label, learner=learner)
    assert len(seen) == 1
