"""Fisher's classifier from a release alone: the release says which noise to take out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tacit.data.classes import Classes
from tacit.data.matrix import numeric_matrix
from tacit.features.learn.fisher import FisherClassifier
from tacit.features.learn.rules import Rule
from tacit.privacy.errors import InvalidRelease
from tacit.privacy.release import Release

__all__ = ["learn_release"]


def learn_release(release: Release, *, rule: Rule | None = None, noised_test: bool = False) -> FisherClassifier:
    """Return a classifier of clean rows (or, with ``noised_test``, of rows that carry the release's noise).

    Noised rows give either rule; class totals give the independence rule. The classifier takes columns in the order of
    the release's features.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.privacy import NoGuarantee
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1000)
    >>> noisy = rng.normal(size=1000) + 4 * y + rng.normal(scale=2.0, size=1000)
    >>> release = Release(value=pa.table({"a": noisy, "label": y}), guarantee=NoGuarantee(reason="an example"),
    ...                   surface="features", seeded=True,
    ...                   mechanism={"name": "noised_rows", "features": ["a"], "noise": [2.0], "classes": [0, 1]})
    >>> learn_release(release).score((rng.normal(size=1000) + 4 * y)[:, None], y) > 0.95
    True
    """
    if release.surface != "features":
        raise InvalidRelease(f"the release must be of features, got one of {release.surface}")
    header: dict[str, Any] = dict(release.mechanism)
    if isinstance(release.value, pa.Table):
        names = header["features"]
        transition = header.get("labels", {}).get("transition")
        model = FisherClassifier(rule, noise=header["noise"], noised_test=noised_test, transition=transition)
        rows, labels = numeric_matrix(release.value, columns=names), release.value["label"]
        classes = Classes.of(labels, declared=header.get("classes"))  # the published release has no list
        return model.fit_codes(rows, classes.encode(labels), classes=classes.values)
    return FisherClassifier(rule, noised_test=noised_test).fit_totals(
        counts=release.value["counts"],
        sums=release.value["sums"],
        squares=release.value["squares"],
        lower=header["lower"],
        upper=header["upper"],
        classes=header["classes"],
        squares_noise=header["noise"]["squares"],
    )
