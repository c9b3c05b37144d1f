"""What is used of each boosting library, scikit-learn's private losses above all, and the way without them."""

import inspect

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from tacit.labels.fitting.boosting import libraries
from tacit.labels.fitting.boosting.expectation import ExpectationTrees
from tacit.labels.fitting.boosting.histogram_trees import HistogramTrees
from tacit.labels.fitting.boosting.learner import LikelihoodBoosting
from tacit.labels.fitting.boosting.objective import ReleasedObjective
from tacit.labels.fitting.boosting.trees import TreeJudge
from tests.labels.test_boosting import LIBRARIES, make, released, table


def test_scikit_learn_takes_a_loss_of_ours():
    """Where this fails, the private interface has changed: :func:`takes_losses` must say so, and trees are slower."""
    assert libraries.takes_losses()
    for method in ("_encode_y", "_check_early_stopping_loss", "_raw_predict"):
        assert hasattr(HistGradientBoostingRegressor, method)
    source = inspect.getsource(HistGradientBoostingRegressor.fit)
    assert "isinstance(self.loss, BaseLoss)" in source
    assert "self._loss.gradient_hessian(" in source


def test_scikit_learns_own_loss_grows_the_same_trees():
    """With labels that are known, our objective from even shares is scikit-learn's loss: tree by tree."""
    X, y = table()
    y[:2], y = [0, 1], y[: 2 * min(np.bincount(y))]
    X = X[: len(y)]
    loss = ReleasedObjective(
        likelihood=np.eye(2)[y],
        weights=None,
        start=np.log(np.bincount(y) / len(y)),
        points=np.array([0.0, 1.0]),
        bound=1.0,
    )
    own = HistGradientBoostingClassifier(max_iter=10, early_stopping=False, random_state=0).fit(X, y)
    library = HistogramTrees()
    ours = library.grow(library.prepared(own, loss), X, loss, rounds=10, held=None, options={})
    np.testing.assert_allclose(loss.probabilities(library.scores(ours, X))[:, 1], own.predict_proba(X)[:, 1], atol=1e-5)


@pytest.mark.parametrize("library", LIBRARIES)
def test_trees_end_at_the_round_that_held_out_rows_like_best(library):
    X, y = table(rows=2000)
    whole = ReleasedObjective.of(released(y, epsilon=1.0), None)
    kept, judges = np.arange(1200), np.arange(1200, 2000)
    trees = libraries.library_of(make(library))
    model = trees.prepared(make(library), whole)
    held = TreeJudge(X[judges], whole.take(judges), 8)
    fitted = trees.grow(model, X[kept], whole.take(kept), rounds=60, held=held, options={})
    reached = whole.take(judges).loss(trees.scores(fitted, X[judges]))
    assert reached == pytest.approx(held.losses[held.best], rel=1e-4)
    assert held.losses[0] == pytest.approx(whole.take(judges).loss(np.zeros(800)))
    assert len(held.losses) <= held.best + 8 + 1
    assert reached < held.losses[0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_small_trees_are_smaller_and_small_ones_stay(library):
    whole = ReleasedObjective.of(released(table()[1], epsilon=1.0), None)
    trees = libraries.library_of(make(library))
    few = trees.with_few_leaves(trees.prepared(make(library), whole))
    assert trees.with_few_leaves(few) is None
    assert trees.rounds(few) >= 15


@pytest.mark.parametrize("classes", [2, 3])
def test_without_a_loss_of_ours_expectation_maximization_learns(classes, monkeypatch):
    monkeypatch.setattr(libraries, "takes_losses", lambda: False)
    assert isinstance(libraries.library_of(HistGradientBoostingClassifier()), ExpectationTrees)
    X, y = table(classes=classes, rows=500)
    estimator = HistGradientBoostingClassifier(max_iter=5, learning_rate=0.5, max_leaf_nodes=4)
    model = LikelihoodBoosting(estimator, random_state=0).fit_likelihoods(X, released(y, epsilon=3.0, classes=classes))
    fresh, truth = table(classes=classes, seed=5)
    assert model.score(fresh, truth) > 0.7


def test_expectation_steps_make_the_release_likelier():
    pytest.importorskip("catboost")
    X, y = table(classes=3)
    whole = ReleasedObjective.of(released(y, epsilon=2.0, classes=3), None)
    trees = libraries.library_of(make("catboost"), scores=3)
    assert isinstance(trees, ExpectationTrees)
    held = TreeJudge(X, whole, 50)  # the rows that are learned from: their likelihood never falls
    trees.grow(trees.prepared(make("catboost"), whole), X, whole, rounds=10, held=held, options={})
    assert (np.diff(held.losses) < 0).all()
