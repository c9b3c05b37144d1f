"""Feature rows from one end to the other: choose a few under noise, learn from them, link them; rows, then totals.

    python examples/features.py

On Landsat pixels, 36 bands and six kinds of soil: half of the rows are released, the other half judges what is learned.
Noised rows need a large epsilon to teach anything; the totals of the classes teach nearly all at epsilon 1.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from tacit.data import satellite
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
from tacit.labels import RandomizedResponse
from tacit.privacy.noise import system_rng
from tacit.privacy.release import read_release

KEEP, DELTA = 6, 1e-5


def plan_for(epsilon, *, rows, released_rows):
    """What leaves at this epsilon, divided as theory says."""
    parts = split_budget(
        epsilon, delta=DELTA, features=36, keep=KEEP, rows=rows, classes=6, released_rows=released_rows
    )
    release = NoisedRows if released_rows else ClassTotals
    return FeaturePlan(
        box=Box.symmetric(3.0),  # the bands are standardised
        release=release(epsilon=parts.release, delta=DELTA),
        selection=PrivateSelection(epsilon=parts.selection, keep=KEEP),
        class_rows=NoisedClassRows(epsilon=parts.class_rows),
        labels=RandomizedResponse(epsilon=parts.labels) if released_rows else None,
    )


def main():
    """Print one line a release."""
    rng = system_rng()
    data = satellite()
    pixels = data.table.take(pa.array(rng.permutation(len(data))))
    private, later = pixels.slice(0, len(data) // 2), pixels.slice(len(data) // 2)

    def values(table, names):
        return np.column_stack([table[name].to_numpy() for name in names])

    clean = FisherClassifier().fit(values(private, data.features), private[data.label].to_numpy())
    print(f"{'release':<22}{'accuracy':>9}{'linked':>8}")
    print(f"{'36 bands in clear':<22}{clean.score(values(later, data.features), later[data.label].to_numpy()):>9.1%}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, epsilon in (("rows", 1.0), ("rows", 4.0), ("rows", 16.0), ("totals", 1.0), ("totals", 4.0)):
            plan = plan_for(epsilon, rows=len(private), released_rows=kind == "rows")
            path = Path(folder) / f"{kind}{epsilon:g}"
            made = protect_features(private, path, label=data.label, plan=plan, rng=rng)
            release = read_release(made.path)
            score = learn_release(release).score(values(later, made.features), later[data.label].to_numpy())
            linked = ""
            if kind == "rows":
                links = link_rows(release, values(private, made.features))
                linked = f"{linkage_leak(links, np.arange(len(links)), candidates=len(links), delta=DELTA).rate:.2%}"
            print(f"{f'{kind}, epsilon {epsilon:g}':<22}{score:>9.1%}{linked:>8}")


if __name__ == "__main__":
    main()
