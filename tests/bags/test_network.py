"""Networks from bag means attached to rows: the gradient is exact, processes add up, training streams."""

import os
import pickle
import socket
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from papers.label_bags.bags import curate
from tacit.bags.learners import (
    MLP,
    AdditiveModel,
    BatchTraining,
    BoostedTrees,
    FeatureCross,
    NoiseRidge,
    Ridge,
    TorchModule,
)
from tacit.bags.learners.cells import cells_of
from tacit.bags.losses import LogisticLoss
from tacit.bags.mechanisms.sizes import SizeRule
from tacit.privacy.errors import InvalidInput

torch = pytest.importorskip("torch", reason="needs the extra torch")
from tacit.bags.learners.batches import encode, vocabulary  # noqa: E402
from tacit.bags.learners.network import _targets, bag_loss  # noqa: E402
from tacit.bags.learners.part_networks import PartModules  # noqa: E402

PLAIN = Ridge(l2=0.0)
CPU = {"device": "cpu", "double": True}


class Pinned(torch.nn.Module):
    """f1 = b0 x1 + b1 or f2 = b1 x1 x2 + b2 x2 of the formula sheet f1; codes are 1 for 0 and 2 for 1."""

    def __init__(self, b, first):
        super().__init__()
        self.b, self.first = b, first

    def forward(self, codes):
        x = (codes - 1).double()
        b = self.b
        f = b[0] * x[:, 0] + b[1] if self.first else b[1] * x[:, 0] * x[:, 1] + b[2] * x[:, 1]
        return f[:, None]


def bag_gradient(parts, release, frame, *, seed=0):
    """The full-batch gradient from bags, and the modules, codes and cells to compute the labels' own."""
    cells = cells_of(parts, release.partitions)
    sources = sorted({one.source for one in cells})
    used = [release.partitions[s] for s in sources]
    columns = vocabulary(cells)
    torch.manual_seed(seed)
    loss = release.loss
    modules = PartModules(cells, columns, targets=loss.targets).double()
    with torch.no_grad():
        for parameter in modules.parameters():  # outputs start at 0: no gradient would reach the first layers
            parameter.add_(0.1 * torch.randn_like(parameter))
    with encode(frame, columns, used, block_rows=1000) as rows:
        targets = _targets(cells, used, sources, rows, loss=loss, penalty=PLAIN, like=modules.intercept)
        codes, bags = torch.from_numpy(rows.codes).long(), torch.from_numpy(rows.bags).long()
    bag_loss(modules, targets, codes, bags).backward()
    return modules, codes, targets.cells(bags)


def assert_gradient_is_the_labels(modules, codes, cells, loss, labels):
    ours = [p.grad.clone() for p in modules.parameters() if p.grad is not None]
    modules.zero_grad()
    f = modules.intercept + torch.stack(modules.outputs(codes, cells)).sum(dim=0)
    T = torch.from_numpy(loss.statistic(labels))
    (loss.tensor_potential(f).sum() - (f * T).sum()).backward()
    theirs = [p.grad for p in modules.parameters() if p.grad is not None]
    assert len(ours) == len(theirs) > 1
    assert max(float(t.abs().max()) for t in theirs) > 0.1
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=0)


@pytest.mark.parametrize("by", [[("a", "b"), ("b", "c")], [("a", "b", "c")]], ids=["exact", "finer"])
def test_the_gradient_is_that_of_individual_labels(naive, loss, by):
    frame = naive.rows(300)
    labels = naive.labels(frame, loss)
    parts = [
        MLP(("a", "b"), hidden=(6,), embedding=3),
        MLP(("b", "c"), hidden=(5, 4), embedding=3),
        FeatureCross(("b",)),
    ]
    release = naive.release(frame, labels, by, loss)
    modules, codes, cells = bag_gradient(parts, release, frame)
    assert_gradient_is_the_labels(modules, codes, cells, loss, labels)


@pytest.mark.parametrize("sizes", [SizeRule(least=15), SizeRule(least=15, small="merge")], ids=["drop", "merge"])
def test_the_gradient_is_exact_where_small_bags_are_gone(naive, sizes):
    """For the model that says nothing, or one thing, about rows of small bags."""
    frame, loss = naive.rows(300), LogisticLoss()
    labels = naive.labels(frame, loss)
    release = curate(frame.assign(y=labels), by=[("a", "b"), ("b", "c")], label="y", loss=loss, sizes=sizes)
    assert sum(len(one) for one in release.partitions) < 36
    parts = [MLP(("a", "b"), hidden=(6,)), MLP(("b", "c"), hidden=(5,)), FeatureCross(("c",))]
    modules, codes, cells = bag_gradient(parts, release, frame)
    inside = [cell is None or bool((cell >= 0).all()) for cell in cells]
    assert all(inside) == (sizes.small == "merge")
    if sizes.small == "merge":
        assert_gradient_is_the_labels(modules, codes, cells, loss, labels)
        return
    # a part's own gradient: over the rows that it speaks about, from their labels
    ours = [p.grad.clone() for p in modules.parts.parameters() if p.grad is not None]
    modules.zero_grad()
    outputs = modules.outputs(codes, cells)
    mean = torch.sigmoid(modules.add(outputs)).detach()
    T = torch.from_numpy(loss.statistic(labels))
    sum(((mean - T) * out).sum() for out in outputs).backward()
    theirs = [p.grad for p in modules.parts.parameters() if p.grad is not None]
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=0)


@pytest.mark.parametrize("by", [[("x1",), ("x1", "x2")], [("x1", "x2")]], ids=["exact", "finer"])
def test_the_pinned_gradient_of_shared_parameters(naive, by):
    frame = pd.DataFrame({"x1": [0, 0, 1, 1, 1], "x2": [0, 1, 0, 1, 1]})
    labels = np.array([1, 0, 1, 1, 0])
    b = torch.nn.Parameter(torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64))
    parts = [
        TorchModule(("x1",), build=lambda *_: Pinned(b, first=True)),
        TorchModule(("x1", "x2"), build=lambda *_: Pinned(b, first=False)),
    ]
    release = naive.release(frame, labels, by, LogisticLoss())
    cells = cells_of(parts, release.partitions)
    sources = sorted({one.source for one in cells})
    used = [release.partitions[s] for s in sources]
    columns = vocabulary(cells)
    modules = PartModules(cells, columns, targets=1).double()
    with encode(frame, columns, used, block_rows=10) as rows:
        targets = _targets(cells, used, sources, rows, loss=LogisticLoss(), penalty=PLAIN, like=modules.intercept)
        bag_loss(modules, targets, torch.from_numpy(rows.codes).long(), torch.from_numpy(rows.bags).long()).backward()
    np.testing.assert_allclose(b.grad.numpy(), [-0.277645, -0.055662, 0.771818], atol=5e-7)


@pytest.mark.parametrize(
    "name", ["log", *[pytest.param(name, marks=pytest.mark.slow) for name in ("squared", "cross_entropy", "poisson")]]
)
def test_a_network_after_400_steps_is_that_of_the_labels(naive, name):
    """Full batches by plain gradient descent, from bags and from rows as bags of one."""
    loss = naive.losses[name]
    frame = naive.rows(100)
    labels = naive.labels(frame, loss)
    frame["row"] = np.arange(len(frame))
    parts = [MLP(("a", "b"), hidden=(4,), embedding=2), MLP(("b", "c"), hidden=(4,), embedding=2)]
    settings = BatchTraining(
        epochs=400, batch_rows=None, rate=0.1, optimizer=lambda p, rate: torch.optim.SGD(p, lr=rate), **CPU
    )
    fits = [
        AdditiveModel(parts=parts, penalty=PLAIN, solver=settings, random_state=3)
        .fit(naive.release(frame, labels, by, loss), frame)
        .decision_function(frame)
        for by in ([("a", "b"), ("b", "c")], [("a", "b", "c", "row")])
    ]
    assert np.ptp(fits[0]) > 0.3
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-6)


def test_crosses_by_batches_reach_the_exact_fit(naive):
    frame, loss = naive.rows(500), LogisticLoss()
    release = naive.release(frame, naive.labels(frame, loss), [("a", "b"), ("c",)], loss)
    exact = AdditiveModel(penalty=Ridge(l2=1.0)).fit(release, frame).predict_proba(frame)
    slow = AdditiveModel(
        penalty=Ridge(l2=1.0), solver=BatchTraining(epochs=400, batch_rows=None, rate=0.05, **CPU), random_state=0
    ).fit(release, frame)
    np.testing.assert_allclose(slow.predict_proba(frame), exact, atol=1e-3)


def test_networks_learn_and_generalize_to_new_combinations(naive):
    frame, loss = naive.rows(2000), LogisticLoss()
    labels = naive.labels(frame, loss)
    release = naive.release(frame, labels, [("a", "b", "c")], loss)
    test = naive.rows(2000, seed=7)
    truth = naive.labels(test, loss, seed=8)
    model = AdditiveModel(parts=[MLP(("a", "b", "c"))], solver=BatchTraining(epochs=20, device="cpu"), random_state=0)
    found = model.fit(release, frame).mean_loss(test, truth)
    base = -np.mean(np.where(truth, np.log(labels.mean()), np.log(1 - labels.mean())))
    assert found < base - 0.05
    unknown = test.head(2).assign(b="never")
    assert model.decision_function(unknown) == pytest.approx(model.intercept_[0])


def test_streaming_from_a_file_is_training_in_memory(naive, tmp_path):
    frame, loss = naive.rows(1000), LogisticLoss()
    labels = naive.labels(frame, loss)
    release = naive.release(frame, labels, [("a", "b")], loss)
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    settings = BatchTraining(epochs=50, batch_rows=None, rate=0.05, block_rows=128, **CPU)
    seen = []
    streamed = AdditiveModel(parts=[MLP(("a", "b"))], solver=settings, random_state=1)
    streamed.fit(release, path, progress=lambda done, of: seen.append((done, of)))
    whole = AdditiveModel(parts=[MLP(("a", "b"))], solver=settings, random_state=1).fit(release, frame)
    np.testing.assert_allclose(streamed.predict_proba(path), whole.predict_proba(frame), atol=1e-9)
    assert seen[-1] == (50, 50)


def test_mini_batches_of_a_stream_reach_the_same_model(naive, tmp_path):
    frame, loss = naive.rows(1500), LogisticLoss()
    labels = naive.labels(frame, loss)
    release = naive.release(frame, labels, [("a", "b")], loss)
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    settings = BatchTraining(epochs=60, batch_rows=100, rate=0.02, block_rows=300, device="cpu")
    streamed = AdditiveModel(parts=[FeatureCross(("a", "b"))], solver=settings, random_state=1).fit(release, path)
    exact = AdditiveModel(parts=[FeatureCross(("a", "b"))]).fit(release, frame)
    np.testing.assert_allclose(streamed.predict_proba(frame), exact.predict_proba(frame), atol=0.05)


def test_recalibration_meets_the_released_total(naive):
    frame, loss = naive.rows(1000), LogisticLoss()
    labels = naive.labels(frame, loss)
    release = naive.release(frame, labels, [("a", "b")], loss)
    settings = BatchTraining(epochs=1, batch_rows=50, rate=0.3, **CPU)
    fits = {
        on: AdditiveModel(parts=[MLP(("a", "b"))], solver=settings, recalibrate=on, random_state=0).fit(release, frame)
        for on in (False, True)
    }
    gaps = {on: abs(model.predict_proba(frame)[:, 1].mean() - labels.mean()) for on, model in fits.items()}
    assert gaps[True] < 1e-6 < 1e-3 < gaps[False]


def test_noise_is_not_learned_by_networks(naive):
    frame, loss = naive.rows(2000), LogisticLoss()
    labels = naive.labels(frame, loss)
    test = naive.rows(2000, seed=9)
    truth = naive.labels(test, loss, seed=10)
    noised = naive.release(frame, labels, [("a", "b", "c")], loss, noise=12.0, rng=np.random.default_rng(0))
    settings = BatchTraining(epochs=40, batch_rows=500, rate=0.02, device="cpu")
    losses = {
        name: AdditiveModel(parts=[MLP(("a", "b", "c"))], penalty=penalty, solver=settings, random_state=0)
        .fit(noised, frame)
        .mean_loss(test, truth)
        for name, penalty in (("careful", NoiseRidge()), ("careless", PLAIN))
    }
    assert losses["careful"] < losses["careless"] - 0.05


def test_a_fitted_network_is_pickled_and_refitted_alike(naive):
    frame, loss = naive.rows(200), LogisticLoss()
    release = naive.release(frame, naive.labels(frame, loss), [("a", "b")], loss)
    make = lambda: AdditiveModel(  # noqa: E731
        parts=[MLP(("a", "b"))], solver=BatchTraining(epochs=2, device="cpu"), random_state=5
    ).fit(release, frame)
    model = make()
    np.testing.assert_array_equal(model.predict_proba(frame), make().predict_proba(frame))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_what_does_not_train_by_batches_is_refused(naive):
    frame, loss = naive.rows(50), LogisticLoss()
    release = naive.release(frame, naive.labels(frame, loss), [("a", "b")], loss)
    with pytest.raises(InvalidInput, match=r"part BoostedTrees\(a\) does not train by batches"):
        AdditiveModel(parts=[BoostedTrees(("a",)), MLP(("b",))]).fit(release, frame)
    with pytest.raises(InvalidInput, match="must return a torch module"):
        AdditiveModel(parts=[TorchModule(("a",), build=lambda *_: 1)]).fit(release, frame)
    with pytest.raises(InvalidInput, match="build of TorchModule"):
        TorchModule(("a",))


WORKER = """
import sys
import joblib
folder = sys.argv[1]
joblib.load(folder + "/model").fit(joblib.load(folder + "/bags"), folder + "/rows.parquet")
"""


def test_two_processes_give_the_result_of_one(naive, tmp_path, monkeypatch):
    """This process is the first of the two; ``torchrun`` sets the same variables."""
    frame, loss = naive.rows(401), LogisticLoss()
    release = naive.release(frame, naive.labels(frame, loss), [("a", "b"), ("c",)], loss)
    settings = BatchTraining(epochs=3, batch_rows=64, rate=0.02, device="cpu", double=True)
    model = AdditiveModel(parts=[MLP(("a", "b"), hidden=(4,)), MLP(("c",))], solver=settings, random_state=2)
    rows = tmp_path / "rows.parquet"
    frame.to_parquet(rows)
    alone = model.fit(release, rows).decision_function(frame)
    assert np.ptp(alone) > 0.1
    joblib.dump(release, tmp_path / "bags")
    joblib.dump(clone(model), tmp_path / "model")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path)], env={**os.environ, "RANK": "1", "OMP_NUM_THREADS": "1"}
    )
    together = model.fit(release, rows)
    assert worker.wait(timeout=300) == 0
    np.testing.assert_allclose(together.decision_function(frame), alone, atol=1e-5)
