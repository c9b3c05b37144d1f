"""A network from one end to the other: train it, tell who it was trained on, then train it under a promise.

    python examples/models.py

First 20 points in 100 dimensions: trained to its margin a network names them all, stopped early it tells less. Then 800
images of digits, odd against even, by DP-SGD: a promise for every image, kept in the file that leaves.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch

from tacit.data import digits
from tacit.models.attacks import attack_losses, attack_margin
from tacit.models.releases.files import ModelRelease, read_model
from tacit.models.training import margin_snapshots, stop_before_ties, train_dp_sgd
from tacit.privacy.noise import system_rng


def tell_points():
    """Learn to the margin, and attack by outputs at the margin; protect by stopping before points tie there."""
    rng = np.random.default_rng(0)
    X, y, fresh = rng.normal(size=(20, 100)), rng.choice([-1.0, 1.0], 20), rng.normal(size=(1000, 100))
    path = list(margin_snapshots(X, y, width=50, rng=rng, steps=600, every=10))
    stopped = stop_before_ties(path, X, y)
    for name, network in (("trained to its margin", path[-1]), ("stopped early", stopped.model)):
        leak = attack_margin(network, X, fresh, labels=y).leak
        print(f"{name}: membership AUC {leak.roc.auc:.3f}, {leak.roc.at_0_1_percent}")
    print(f"  {stopped.promise}")


def keep_a_promise():
    """Train with noise, write what leaves, read it back, and attack that."""
    data = digits()
    order = np.random.default_rng(0).permutation(len(data))
    X, y = data.X[order] / 16 - 0.3, 2.0 * (data.codes[order] % 2) - 1.0
    layers = [torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1, bias=False)]
    how = {"clip": 1.0, "epochs": 10, "batch_size": 80, "learning_rate": 0.2}
    made = train_dp_sgd(
        torch.nn.Sequential(*layers), X[:800], y[:800], epsilon=3.0, delta=1e-5, rng=system_rng(), **how
    )
    release = ModelRelease.of_module(
        made.module, guarantee=made.guarantee, mechanism=made.mechanism, seeded=made.seeded
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        release.write(file)
        back = read_model(file)
    margins = y * back.network(X)
    leak = attack_losses(-margins[:800], -margins[800:], rng=np.random.default_rng(1))
    print(f"by DP-SGD: accuracy {(margins[800:] > 0).mean():.1%}, membership AUC {leak.roc.auc:.3f}")
    print(f"  {back}")


if __name__ == "__main__":
    tell_points()
    keep_a_promise()
