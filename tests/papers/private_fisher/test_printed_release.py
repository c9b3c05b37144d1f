"""Algorithm 1 as printed: it has no guarantee, its noise is too small, and what it releases can be learned from."""

import numpy as np
import pytest
from scipy.stats import norm

from papers.private_fisher.printed_release import published_release
from tacit.features.attacks.linkage import link_rows
from tacit.features.attacks.released_rows import ReleasedRows
from tacit.features.learners.fisher import FisherClassifier
from tacit.privacy import NoGuarantee
from tacit.privacy.noise import CoordinateNoise


def test_the_printed_algorithm_carries_no_guarantee_and_its_noise_is_too_small():
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 5)) + 4 * np.outer(y, np.arange(5) == 3)
    release = published_release(X, y, keep=1, epsilon=1.0, delta=1e-5, rng=rng)
    assert isinstance(release.guarantee, NoGuarantee)
    assert release.features == (3,)
    # the noise alone, at a largest norm of 10 and so a sensitivity of 20: the true delta against the claimed 1e-5
    s = (2 * 10 * np.log(1e5)) ** 0.5
    true = norm.cdf(20 / (2 * s) - s / 20) - np.e * norm.cdf(-20 / (2 * s) - s / 20)
    assert true == pytest.approx(0.248, abs=5e-4)
    private = CoordinateNoise.for_privacy(1.0, delta=1e-5, sensitivity=2048, coordinates=1)
    assert float(private.scale) / 1024 * 10 > s


def test_the_printed_release_teaches_and_can_be_linked():
    rng = np.random.default_rng(9)
    y = rng.integers(0, 2, 3000)
    X = rng.normal(size=(3000, 8)) / 5 + np.outer(y, np.arange(8) == 5)
    release = published_release(X, y, keep=2, epsilon=50.0, delta=1e-5, rng=rng)
    places = list(release.features)
    assert places[0] == 5
    model = FisherClassifier(noise=release.noise).fit(release.rows, release.labels)
    assert model.score(X[:, places], y) > 0.9
    assert len(link_rows(ReleasedRows(release.rows, noise=release.noise), X[:, places])) == 3000
