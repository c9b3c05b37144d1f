"""The audit of models: an unprotected network tells its rows, DP-SGD keeps its promise."""

import numpy as np
import pytest

pytest.importorskip("opacus", reason="the models surface needs the extra torch")

from tacit.audit.models import ModelsRelease
from tacit.audit.source import bundled_source
from tacit.privacy import InvalidInput, NoGuarantee


@pytest.fixture(scope="module")
def digits():
    return bundled_source("digits")


def audit(release, source):
    return release.audit(source, rng=np.random.default_rng(0), tell=lambda _: None)


def test_an_unprotected_network_is_caught(digits):
    found = audit(ModelsRelease(), digits)
    assert isinstance(found.promise, NoGuarantee)
    assert found.leak.advantage_interval.low > 0
    assert found.leak.epsilon_lower_bound > 0.2
    assert found.utility.protected > 0.9


def test_dp_sgd_keeps_its_promise_and_some_use(digits):
    found = audit(ModelsRelease(epsilon=3.0), digits)
    assert found.promise.epsilon == pytest.approx(3.0)
    assert found.leak.epsilon_lower_bound < 0.5
    assert 0.7 < found.utility.protected < found.utility.unprotected


def test_a_seed_repeats_it(digits):
    one, two = (audit(ModelsRelease(epsilon=3.0, epochs=1), digits) for _ in range(2))
    assert one.leak == two.leak


@pytest.mark.parametrize(
    ("options", "said"),
    [({"epsilon": -1.0}, "epsilon"), ({"epsilon": 1.0, "delta": 0.0}, "delta"), ({"rows": 0}, "rows")],
)
def test_impossible_releases_are_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        ModelsRelease(**options)
