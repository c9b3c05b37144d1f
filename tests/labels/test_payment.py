"""Learners and the ledger: what is charged, for which labels, and what travels with a copy of a learner."""

import pickle
from importlib import import_module

import joblib
import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tacit.labels import Plan, protect
from tacit.labels.fitting.denoise import ForwardCorrection, NoCorrection
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.regressor import LabelPrivateRegressor
from tacit.labels.learners.released import ReleasedLabels
from tacit.labels.learners.terms import REPRESENTATION, WEIGHTS
from tacit.labels.learners.validate import score_by_release
from tacit.privacy import BudgetExceeded, Guarantee, InvalidInput, LedgerError, Unit, UnitMismatch
from tacit.privacy.ledger import Ledger
from tacit.privacy.payment import Payment

X, Y = make_blobs(240, centers=3, n_features=4, cluster_std=2.0, random_state=0)
NUMBERS = X[:, 0] - X[:, 1]


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.register(Y, name="blobs", budget=Guarantee(unit=Unit.LABEL, epsilon=20.0))
    ledger.register(NUMBERS, name="numbers", budget=Guarantee(unit=Unit.LABEL, epsilon=20.0))
    ledger.register([5, 6], name="others", budget=Guarantee(unit=Unit.LABEL, epsilon=20.0))
    return ledger


def paying(ledger, dataset):
    return None if ledger is None else Payment(ledger=ledger, dataset=dataset)


def classifier(ledger, *, dataset=None, **options):
    seed = {} if ledger is not None else {"random_state": 0}
    return LabelPrivateClassifier(GaussianNB(), payment=paying(ledger, dataset), **seed, **options)


def regressor(ledger, *, dataset=None, **options):
    seed = {} if ledger is not None else {"random_state": 0}
    return LabelPrivateRegressor(payment=paying(ledger, dataset), **seed, **options)


LEARNERS = [(classifier, Y, "blobs"), (regressor, NUMBERS, "numbers")]


def entries(ledger, name="blobs"):
    return ledger.statement(name).entries


@pytest.mark.parametrize(("learner", "labels", "name"), LEARNERS, ids=["classifier", "regressor"])
class TestRecognition:
    def test_labels_are_recognized_whatever_holds_them(self, ledger, learner, labels, name):
        learner(ledger).fit(X, labels)
        learner(ledger, dataset=name, epsilon=2.0).fit(X, labels.tolist())
        assert [entry.version for entry in entries(ledger, name)] == [1, 1]
        assert ledger.statement(name).spent == 3.0

    def test_a_fit_that_fails_after_the_charge_is_paid_once(self, ledger, learner, labels, name):
        class Failing(type(learner(None)._base())):
            def fit(self, *arguments, **options):
                if entries(ledger, name):  # it was tried out before
                    raise RuntimeError("after the charge")
                return super().fit(*arguments, **options)

        model = learner(ledger)
        with pytest.raises(RuntimeError, match="after the charge"):
            model.set_params(estimator=Failing()).fit(X, labels)
        assert len(entries(ledger, name)) == 1
        kept = model.release_.labels
        again = learner(ledger).fit(X, labels)
        assert len(entries(ledger, name)) == 1
        assert again.release_.labels.equals(kept)
        assert again.release_.repeated
        assert (again.receipt_, model.receipt_ is None) == (None, False)
        other = learner(None).set_params(payment=Payment(ledger=ledger, again=True), random_state=None).fit(X, labels)
        assert len(entries(ledger, name)) == 2
        assert not other.release_.labels.equals(kept), "control: another one was drawn"

    def test_a_kill_between_charge_and_draw_is_paid_once(self, ledger, learner, labels, name, monkeypatch):
        module = import_module(type(learner(ledger)).__module__)
        with monkeypatch.context() as patched:
            patched.setattr(module, "release_codes", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                learner(ledger).fit(X, labels)
        learner(ledger).fit(X, labels)
        assert len(entries(ledger, name)) == 1

    def test_a_seed_and_a_payment_exclude_each_other(self, ledger, learner, labels, name):
        with pytest.raises(InvalidInput, match="random_state must be None with a payment"):
            learner(ledger).set_params(random_state=0).fit(X, labels)
        assert entries(ledger, name) == ()

    def test_known_labels_cannot_be_charged_to_another_data_set(self, ledger, learner, labels, name):
        with pytest.raises(InvalidInput, match=f"dataset must be '{name}', which has these labels"):
            learner(ledger, dataset="others").fit(X, labels)
        assert not any(entries(ledger, each) for each in ledger.data_sets)

    def test_unknown_labels_need_a_data_set(self, ledger, learner, labels, name):
        with pytest.raises(LedgerError, match="does not know these 100 rows"):
            learner(ledger).fit(X[:100], labels[100:200])
        model = learner(ledger, dataset=name).fit(X[:100], labels[100:200])
        (entry,) = entries(ledger, name)
        assert entry.guarantee.epsilon == model.guarantee_.epsilon == 1.0

    def test_appended_rows_are_the_same_data_set(self, ledger, learner, labels, name):
        learner(ledger).fit(np.r_[X, X[:5]], np.r_[labels, labels[:5]])
        assert [entry.version for entry in entries(ledger, name)] == [2]

    def test_a_refused_charge_releases_nothing(self, ledger, learner, labels, name):
        ledger.set_budget(name, Guarantee(unit=Unit.LABEL, epsilon=0.5))
        model = learner(ledger)
        with pytest.raises(BudgetExceeded):
            model.fit(X, labels)
        assert not hasattr(model, "release_")
        assert entries(ledger, name) == ()

    def test_bad_input_is_found_before_the_charge(self, ledger, learner, labels, name):
        model = learner(ledger)
        with pytest.raises(ValueError, match="sample_weight"):
            model.fit(X, labels, sample_weight=np.ones(7))
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full_like(X, np.nan), labels)
        with pytest.raises(InvalidInput, match="rows_per_person must be"):
            learner(ledger, rows_per_person=0).fit(X, labels)
        assert entries(ledger, name) == ()

    def test_the_entry_and_the_release_assume_the_same(self, ledger, learner, labels, name):
        model = learner(ledger).fit(X, labels, sample_weight=np.ones(len(X)))
        (entry,) = entries(ledger, name)
        assert entry.guarantee.assumptions == model.release_.guarantee.assumptions == model.guarantee_.assumptions
        assert len(model.guarantee_.assumptions) == 3

    def test_persons_of_several_rows(self, ledger, learner, labels, name):
        with pytest.raises(UnitMismatch, match="is kept for persons of 1 rows"):
            learner(ledger, rows_per_person=3).fit(X, labels)
        ledger.register(labels[::-1].copy(), name="persons", budget=Guarantee(unit=Unit.LABEL, epsilon=5.0, rows=3))
        model = learner(ledger, rows_per_person=3).fit(X[::-1], labels[::-1])
        assert str(model.guarantee_) == "epsilon 3 for 3 labels of one person"
        assert ledger.statement("persons").spent == 3.0


@pytest.mark.parametrize(("learner", "labels", "name"), LEARNERS, ids=["classifier", "regressor"])
class TestCopies:
    def test_a_clone_charges_the_same_ledger(self, ledger, learner, labels, name):
        copy = clone(learner(ledger))
        assert copy.payment.ledger is ledger
        copy.fit(X, labels)
        assert len(entries(ledger, name)) == 1

    def test_a_clone_inside_a_pipeline(self, ledger, learner, labels, name):
        clone(make_pipeline(StandardScaler(), learner(ledger))).fit(X, labels)
        assert len(entries(ledger, name)) == 1

    def test_a_stored_model_predicts_without_the_ledger_and_does_not_fit_uncharged(
        self, ledger, learner, labels, name, tmp_path
    ):
        model = learner(ledger).fit(X, labels)
        joblib.dump(model, tmp_path / "model.joblib")
        stored = (tmp_path / "model.joblib").read_bytes()
        assert ledger._secret not in stored
        assert ledger._secret.hex().encode() not in stored
        for end in ("", ".releases"):
            (tmp_path / f"ledger.db{end}").rename(tmp_path / f"moved.db{end}")
        again = joblib.load(tmp_path / "model.joblib")
        assert (again.predict(X) == model.predict(X)).all()
        with pytest.raises(LedgerError, match="stored without its ledger"):
            again.fit(X, labels)
        again.set_params(payment=Payment(ledger=Ledger.open(tmp_path / "moved.db"))).fit(X, labels)
        assert model.payment.ledger is ledger, "storing a model leaves it as it was"

    def test_an_unfitted_learner_takes_the_handle_along(self, ledger, learner, labels, name):
        stored = pickle.dumps(learner(ledger))
        assert ledger._secret not in stored
        pickle.loads(stored).fit(X, labels)
        assert len(entries(ledger, name)) == 1


def test_a_search_on_raw_labels_charges_every_part_once(ledger):
    learner = classifier(ledger, dataset="blobs", denoise=NoCorrection())
    GridSearchCV(learner, {"rounds": [0, 1]}, cv=3).fit(X, Y)
    assert len(entries(ledger)) == 3 + 1, "the two candidates learn from the same released labels"
    assert ledger.statement("blobs").spent == 4.0


def test_staged_labels_are_paid_for_with_their_features(ledger):
    learner = classifier(ledger, mechanism="staged", epsilon=2.0)
    first = learner.fit(X, Y).release_
    assert clone(learner).fit(X, Y).release_.table.equals(first.table)
    assert len(entries(ledger)) == 1
    clone(learner).fit(X + 1, Y)
    assert len(entries(ledger)) == 2


def test_a_stage_that_an_estimator_saw_before_it_raised_is_not_drawn_again(ledger):
    seen = []

    class Spying(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            if seen or not entries(ledger):  # tried out before the charge
                return super().fit(X, y, sample_weight)
            seen.append(y)
            raise RuntimeError("after the first stage")

    learner = classifier(ledger, mechanism="staged", epsilon=2.0)
    with pytest.raises(RuntimeError, match="after the first stage"):
        clone(learner).set_params(estimator=Spying()).fit(X, Y)
    for estimator in (Spying(), GaussianNB()):
        with pytest.raises(LedgerError, match=r"blobs/1 paid for was delivered.*charge for another release with again"):
            clone(learner).set_params(estimator=estimator).fit(X, Y)
    assert (len(seen), len(entries(ledger))) == (1, 1)
    clone(learner).set_params(payment=Payment(ledger=ledger, again=True)).fit(X, Y)
    assert len(entries(ledger)) == 2


def test_staged_labels_keep_what_their_guarantee_assumes(ledger):
    """Labels drawn with weights, or from a representation, are not delivered to a fit that assumes nothing of these."""
    learner = classifier(ledger, mechanism="staged", epsilon=2.0)
    clone(learner).fit(X, Y, sample_weight=np.ones(len(Y)))
    clone(learner).set_params(representation=StandardScaler()).fit(X, Y)
    plain = clone(learner).fit(X, Y)
    assert len(entries(ledger)) == 3
    assert not {WEIGHTS, REPRESENTATION} & set(plain.guarantee_.assumptions)


@pytest.mark.parametrize("kind", [str, float, bool])
def test_classes_of_a_release_that_was_paid_for_have_the_type_of_the_labels(ledger, kind):
    labels = Y > 0
    learner = classifier(ledger, dataset="others")
    learner.fit(X, labels.astype(int))
    again = clone(learner).fit(X, labels.astype(int).astype(kind))
    assert again.release_.repeated
    assert set(again.predict(X)) <= set(labels.astype(int).astype(kind))


@pytest.mark.slow  # two processes import everything anew
def test_a_search_in_two_processes_charges_the_same_ledger(ledger):
    cross_val_score(classifier(ledger, dataset="blobs"), X, Y, cv=2, n_jobs=2)
    assert len(entries(ledger)) == 2


@pytest.fixture
def release(ledger):
    made = protect(pa.table({"y": Y}), Plan(label="y", epsilon=1), payment=Payment(ledger=ledger))
    assert made.receipt is not None
    return made


def test_a_search_on_one_release_is_charged_once(ledger, release):
    grid = {"rounds": [0, 1], "denoise": [NoCorrection(), ForwardCorrection(rounds=1, folds=2)]}
    learner = make_pipeline(StandardScaler(), classifier(ledger))
    names = {f"labelprivateclassifier__{name}": values for name, values in grid.items()}
    search = GridSearchCV(learner, names, scoring=score_by_release, cv=3).fit(X, ReleasedLabels(release))
    assert len(entries(ledger)) == 1, "the release itself"
    assert search.best_estimator_.score(X, Y) > 0.6
    assert search.best_score_ == pytest.approx(search.best_estimator_.score(X, Y), abs=0.35)
    assert search.best_estimator_[-1].release_.guarantee == release.guarantee


def test_released_labels_are_cut_like_an_array(release):
    y = ReleasedLabels(release)
    labels = release.labels.to_numpy()
    assert (y.shape, y.ndim, y.dtype) == ((240,), 1, labels.dtype)
    assert (np.asarray(y[labels > 0]) == labels[labels > 0]).all()
    assert y[3] == labels[3]
    assert y[np.array([1, 2])].release.header == release.header


def test_a_regressor_fits_a_release_of_numbers_and_charges_nothing(ledger):
    values = tuple(np.linspace(NUMBERS.min(), NUMBERS.max(), 5).tolist())
    plan = Plan(label="y", epsilon=3, mechanism="unbiased", values=values)
    release = protect(pa.table({"y": NUMBERS}), plan, rng=np.random.default_rng(0))
    model = regressor(ledger).fit(X, release)
    assert entries(ledger, "numbers") == ()
    assert model.guarantee_ == release.guarantee
    assert model.score(X, NUMBERS) > 0.8
    again = regressor(ledger).fit(X, regressor(None, epsilon=3.0).fit(X, NUMBERS).release_)
    assert again.score(X, NUMBERS) > 0.8


def test_releases_that_a_learner_cannot_take(release, ledger):
    with pytest.raises(InvalidInput, match="y must be a release of numbers, got one by rr"):
        regressor(None).fit(X, release)
    with pytest.raises(InvalidInput, match="y must be a release of classes"):
        classifier(None).fit(X, regressor(None).fit(X, NUMBERS).release_)
    with pytest.raises(InvalidInput, match="one label for each of the 10 rows of X, got 240"):
        classifier(None).fit(X[:10], release)
    with pytest.raises(InvalidInput, match="one label for each of the 10 rows of X, got 240"):
        regressor(None).fit(X[:10], regressor(None).fit(X, NUMBERS).release_)


def test_rows_without_a_released_label_are_left_out():
    labels = [None if i % 4 == 0 else int(label) for i, label in enumerate(Y)]
    plan = Plan(label="y", epsilon=3, missing="public")
    release = protect(pa.table({"y": labels}), plan, rng=np.random.default_rng(0))
    model = classifier(None).fit(X, release, sample_weight=np.ones(len(X)))
    assert len(model._given) == 180
    assert model.score(X, Y) > 0.8
    assert model.retraining_report(Y).chosen_fraction <= 1


@pytest.mark.parametrize("choice", ["full", GaussianNB, ForwardCorrection])
@pytest.mark.parametrize("name", ["estimator", "student", "denoise", "retrain"])
def test_a_word_or_a_class_where_an_object_is_meant_is_refused_before_it_is_charged(ledger, name, choice):
    for learner, y, data_set in LEARNERS:
        if name in learner(ledger).get_params():
            with pytest.raises(InvalidInput, match=f"{name} must be an object with a method"):
                learner(ledger).set_params(**{name: choice}).fit(X, y)
            assert ledger.statement(data_set).entries == ()


def test_a_ledger_is_no_path():
    with pytest.raises(InvalidInput, match=r"payment must be a Payment, got 'ledger\.db'"):
        LabelPrivateClassifier(payment="ledger.db").fit(X, Y)
