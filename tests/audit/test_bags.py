"""The audit of bags: what totals of the bundled data tell, and that noise takes it away."""

import numpy as np
import pytest

from tacit.audit import State
from tacit.audit.bags import BagsRelease
from tacit.audit.source import bundled_source
from tacit.privacy import Guarantee, InvalidInput, NoGuarantee

BY = (("class", "sex", "age"),)


@pytest.fixture(scope="module")
def titanic():
    return bundled_source("titanic")


def audit(release, source):
    return release.audit(source, rng=np.random.default_rng(0), tell=lambda _: None)


def test_exact_totals_fix_labels(titanic):
    exact = audit(BagsRelease(by=BY), titanic)
    assert (exact.certain, exact.state) == (30, State.OPEN), "a label that is certain is a leak, whatever the rate"
    assert "fix 30 labels for certain" in exact.advice
    assert isinstance(exact.promise, NoGuarantee)
    assert exact.leak.baseline == pytest.approx(0.791, abs=1e-3), "the rival has the features"


def test_noise_takes_that_away_and_leaves_the_use(titanic):
    noised = audit(BagsRelease(by=BY, epsilon=1.0), titanic)
    assert isinstance(noised.promise, Guarantee)
    assert noised.promise.epsilon == 1.0
    assert "within chance" in noised.advice
    assert (noised.certain, noised.state) == (0, State.QUIET)
    assert noised.leak.advantage < 0.05
    assert noised.utility.protected > 0.75


def test_more_than_two_classes():
    iris = bundled_source("iris")
    found = audit(BagsRelease(random=2, bags=300), iris)
    assert found.leak.trials == 150


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "either by columns"),
        ({"by": BY, "random": 3, "bags": 5}, "either by columns"),
        ({"random": 3}, "either by columns"),
        ({"by": BY, "epsilon": 0.0}, "epsilon must be"),
        ({"random": 3, "bags": 5, "epsilon": 1.0}, "random bags here are exact"),
        ({"by": BY, "min_size": 0}, "min_size must be"),
    ],
)
def test_contradictions_are_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        BagsRelease(**options)
