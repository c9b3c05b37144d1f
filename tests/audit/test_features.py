"""The audit of features: rows in clear are linked, noised ones are not, and no promise is refuted."""

import numpy as np
import pytest

from tacit.audit.features import FeaturesRelease
from tacit.audit.source import bundled_source
from tacit.privacy import Guarantee, InvalidInput, NoGuarantee


@pytest.fixture(scope="module")
def satellite():
    return bundled_source("satellite")


def audit(release, source):
    return release.audit(source, rng=np.random.default_rng(0), tell=lambda _: None)


def test_rows_in_clear_are_linked(satellite):
    found = audit(FeaturesRelease(), satellite)
    assert found.leak.rate > 0.99
    assert isinstance(found.promise, NoGuarantee)
    assert found.utility.protected == found.utility.unprotected


def test_noised_rows_are_not_and_keep_their_promise(satellite):
    found = audit(FeaturesRelease(epsilon=16.0), satellite)
    assert isinstance(found.promise, Guarantee)
    assert found.promise.epsilon == pytest.approx(16.0)
    assert found.leak.rate < 0.01
    assert 0.5 < found.leak.epsilon_lower_bound < 16.0
    assert not found.broken
    assert 0.3 < found.utility.protected < found.utility.unprotected


def test_class_totals_are_worth_more_at_the_same_epsilon(satellite):
    totals, rows = (audit(FeaturesRelease(epsilon=1.0, totals=kind), satellite) for kind in (True, False))
    assert totals.utility.protected > rows.utility.protected + 0.2
    assert not totals.broken


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta must be > 0"),
        ({"keep": 0}, "keep must be"),
        ({"bound": -1.0}, "bound must be"),
        ({"totals": True}, "give an epsilon"),
    ],
)
def test_impossible_releases_are_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        FeaturesRelease(**options)
