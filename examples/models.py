"""A model end to end: train it, find the rows it was trained on, then train it with a guarantee.

    python examples/models.py

First 20 points in 100 dimensions: trained to its margin a network names them all, stopped early it reveals less. Then
800 images of digits, odd or even, by DP-SGD: a guarantee for every image, kept in the file that is released.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from tacit import models
from tacit.data import digits


def name_points():
    """Train without a guarantee, to the margin and not quite so far, and attack by outputs at the margin."""
    rng = np.random.default_rng(0)
    points, fresh = (
        pd.DataFrame(rng.normal(size=(rows, 100))).assign(y=rng.integers(0, 2, rows)) for rows in (20, 1000)
    )
    for mechanism in ("margin:width=50,steps=600", "early_stop:width=50,steps=600"):
        plan = models.Plan(label="y", epsilon=None, mechanism=mechanism)
        release = models.protect(points, plan, rng=rng)
        leak = models.attack(release, truth=points, data=fresh, rng=rng)
        print(f"{mechanism}: membership AUC {leak.roc.auc:.3f}, {leak.roc.at_0_1_percent}")
        print(f"  {release.guarantee}")


def keep_a_guarantee():
    """Train with noise, write what is released, read it back, judge it and attack it."""
    data = digits()
    order = np.random.default_rng(0).permutation(len(data))
    images = pd.DataFrame(data.X[order]).assign(odd=data.codes[order] % 2)
    trained, others = images[:800], images[800:]
    plan = models.Plan(
        label="odd",
        epsilon=3,
        delta=1e-5,
        ranges={"*": (0, 16)},
        mechanism="dp_sgd:epochs=10,batch_size=80,learning_rate=0.2",
    )
    with tempfile.TemporaryDirectory() as folder:
        release = models.protect(trained, plan, out=Path(folder) / "model.safetensors")
        model = models.learn(release, test=others)
        leak = models.attack(release, truth=trained, data=others, method="loss")
    print(f"by DP-SGD: accuracy {model.report_.accuracy:.1%}, membership AUC {leak.roc.auc:.3f}")
    print(f"  {model.guarantee_}")


if __name__ == "__main__":
    name_points()
    keep_a_guarantee()
