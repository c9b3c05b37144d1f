"""Feature rows from one end to the other: choose a few under noise, learn from them, link them; rows, then totals.

    python examples/features.py

On Landsat pixels, 36 bands and six kinds of soil: half of the rows are released, the other half judges what is learned.
Noised rows need a large epsilon to teach anything; the totals of the classes teach most of it at epsilon 1.
"""

import tempfile
from pathlib import Path

import numpy as np

from tacit.data import numeric_matrix, satellite
from tacit.features import (
    Box,
    ClassTotals,
    FeaturePlan,
    FisherClassifier,
    NoisedClassRows,
    NoisedRows,
    PrivateSelection,
    learn_release,
    protect_features,
)
from tacit.features.attack import link_rows, linkage_leak
from tacit.features.theory import split_budget
from tacit.labels.mechanisms.response import RandomizedResponse
from tacit.privacy import read_release
from tacit.privacy.noise import system_rng

KEEP, DELTA = 6, 1e-5


def plan_for(kind, epsilon, *, rows):
    """Divide epsilon between class sizes, the choice of bands, their values, and the labels of released rows."""
    of_rows = kind is NoisedRows
    parts = split_budget(epsilon, delta=DELTA, features=36, keep=KEEP, rows=rows, classes=6, released_rows=of_rows)
    return FeaturePlan(
        box=Box.symmetric(3.0),  # the bands are standardised
        class_rows=NoisedClassRows(epsilon=parts.class_rows),
        selection=PrivateSelection(epsilon=parts.selection, keep=KEEP),
        release=kind(epsilon=parts.release, delta=DELTA),
        labels=RandomizedResponse(epsilon=parts.labels) if of_rows else None,
    )


def main():
    """Print one line a release."""
    rng, data = system_rng(), satellite()
    shuffled = rng.permutation(len(data))
    private, later = data.take(shuffled[::2]), data.take(shuffled[1::2])
    clear = FisherClassifier().fit(private.X, private.y).score(later.X, later.y)
    print(f"{'release':<22}{'accuracy':>9}{'linked':>8}")
    print(f"{'36 bands in clear':<22}{clear:>9.1%}")
    for kind, epsilon in ((NoisedRows, 1.0), (NoisedRows, 16.0), (ClassTotals, 1.0), (ClassTotals, 4.0)):
        with tempfile.TemporaryDirectory() as folder:
            plan = plan_for(kind, epsilon, rows=len(private))
            made = protect_features(private.table, Path(folder) / "bands", label=data.label, plan=plan, rng=rng)
            release = read_release(made.path)
        score = learn_release(release).score(numeric_matrix(later.table, columns=made.features), later.y)
        linked = "no rows"
        if kind is NoisedRows:  # attack: who has the raw rows says which of them a released one is
            links = link_rows(release, numeric_matrix(private.table, columns=made.features))
            leak = linkage_leak(links, np.arange(len(links)), candidates=len(links), delta=DELTA)
            linked = f"{leak.rate:.1%}"
        print(f"{f'{kind.__name__}, epsilon {epsilon:g}':<22}{score:>9.1%}{linked:>8}")


if __name__ == "__main__":
    main()
