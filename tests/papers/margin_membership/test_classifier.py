"""The margin as a scikit-learn classifier."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from papers.margin_membership.classifier import MarginClassifier
from tacit.privacy.errors import InvalidInput


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([MarginClassifier(width=20, steps=100)])
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


def test_points_no_network_separates_are_said_and_still_classified():
    X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 1, 1]
    with pytest.warns(ConvergenceWarning, match="does not separate"):
        model = MarginClassifier(width=20, random_state=0).fit(X, y)
    assert not model.separated_
    assert model.predict([[1.0]]) == [1]


def test_separated_points_have_least_margin_one():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 20)), rng.permutation([0, 1] * 5)
    model = MarginClassifier(width=30, random_state=0).fit(X, y)
    assert model.separated_
    assert np.min((2 * y - 1) * model.decision_function(X)) == pytest.approx(1, abs=1e-9)


def test_three_classes_are_refused():
    with pytest.raises(InvalidInput, match="Only binary"):
        MarginClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
