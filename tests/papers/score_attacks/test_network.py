import importlib
import subprocess
import sys
from functools import partial

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from sklearn.metrics import log_loss

from papers.score_attacks.networks import MutatorNetwork, RowHash
from tacit.data import digits, iris, satellite, titanic
from tacit.privacy import InvalidInput, TacitError
from tacit.scores.attacks import AttackStopped, DigitDesign, HostAnswers, infer_labels, plan_attack
from tacit.scores.metrics import SKLEARN_FLOOR, LogLoss
from tacit.scores.policies import Bounded

ORDINARY = {"Gemm", "Relu", "Softmax", "Reshape"}
# a network's softmax rounds a few times more than predictions that are submitted as numbers
NETWORK_ANSWERS = HostAnswers(growth=8.0)


def run_onnx(model, features):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    kind = np.float64 if session.get_inputs()[0].type == "tensor(double)" else np.float32
    return session.run(None, {session.get_inputs()[0].name: features.astype(kind)})[0]


def run_torch(module, features):
    kind = next(module.parameters()).dtype
    with torch.no_grad():
        return module(torch.from_numpy(features).to(kind)).numpy()


def wanted_predictions(rows, classes, rng):
    """A digit ladder on a random half, 1/K on the rest, certainty on two rows."""
    asked = rng.permutation(rows)[: rows // 2]
    if classes == 1:
        wanted = np.full(rows, 0.5)
        wanted[asked] = 1 / (1 + np.exp(np.geomspace(1e-12, 30, len(asked))))
        wanted[asked[:2]] = 0.0, 1.0
        return wanted
    wanted = np.full((rows, classes), 1 / classes)
    wanted[asked] = rng.dirichlet(np.ones(classes), size=len(asked))
    wanted[asked[:2]] = np.eye(classes)[[0, 1]]
    return wanted


def as_table(wanted):
    return np.stack([1 - wanted, wanted], axis=1) if wanted.ndim == 1 else wanted


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("form", ["whole set", "rows"])
def test_outputs_are_the_wanted_predictions_in_numpy_torch_and_onnx(form, classes, dtype):
    rng = np.random.default_rng(0)
    features = satellite().X[:300]
    wanted = wanted_predictions(len(features), classes, rng)
    if form == "rows":
        network = MutatorNetwork.for_rows(features, wanted, rng=rng, dtype=dtype)
    else:
        network = MutatorNetwork.for_whole_set(wanted, features=features.shape[1], rng=rng, dtype=dtype)
    tolerance = 64 * np.finfo(dtype).eps  # relative: a logit of 30 carries 30 of them
    for got in (
        network.predict(features),
        run_torch(network.to_torch(), features),
        run_onnx(network.to_onnx(), features),
    ):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, as_table(wanted), rtol=tolerance, atol=np.finfo(dtype).tiny)


@pytest.mark.parametrize("load", [iris, digits, satellite])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_recognized_exactly_in_any_order_and_batch(load, dtype):
    rng = np.random.default_rng(1)
    features = np.unique(load().X, axis=0)[::4][:400]
    wanted = rng.uniform(0.01, 0.99, size=len(features))  # every row is asked about
    network = MutatorNetwork.for_rows(features, wanted, rng=rng, dtype=dtype)
    logits = network.to_torch()[:-1]  # before the softmax, whose last bit may depend on the batch
    whole = run_torch(logits, features)
    order = rng.permutation(len(features))
    np.testing.assert_array_equal(run_torch(logits, features[order]), whole[order])
    for batch in (1, 7, 64):
        parts = [run_torch(logits, features[i : i + batch]) for i in range(0, len(features), batch)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_allclose(network.predict(features)[:, 1], wanted, rtol=64 * np.finfo(dtype).eps)
    # control: with one unit's threshold moved, rows are taken for others
    network.layers[0].bias[0] += 1e3
    assert np.abs(network.predict(features)[:, 1] - wanted).max() > 0.1


@pytest.mark.parametrize("seed", range(20))
def test_hash_separates_random_tables(seed):
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(2, 80)), int(rng.integers(1, 6))
    table = rng.choice([rng.normal(size=7), np.arange(7.0)], axis=0)[rng.integers(0, 7, size=(rows, width))]
    hashed = RowHash.of(table, rng=rng, width=4)
    units = np.maximum(table @ hashed.weights + hashed.bias, 0)
    chosen = np.maximum(1 - units @ hashed.strengths(np.arange(len(hashed.silent))), 0)
    assert (chosen == (hashed.place[:, None] == np.arange(len(hashed.silent)))).all()


def score_onnx(path, features, labels):
    """A host: loads the submitted file, feeds it its features, and shows scikit-learn's log loss."""
    return log_loss(labels, run_onnx(path.read_bytes(), features), labels=np.arange(labels.max() + 1))


def test_whole_set_network_reads_titanic(tmp_path):
    data = titanic()
    features, labels = data.X, data.codes
    rng = np.random.default_rng(2)

    def oracle(predictions):
        path = tmp_path / "model.onnx"
        MutatorNetwork.for_whole_set(predictions, features=features.shape[1], rng=rng, width=4).write_onnx(
            path, force=True
        )
        return score_onnx(path, features, labels)

    metric = LogLoss(floor=SKLEARN_FLOOR)
    worked_out = plan_attack(metric, rows=len(labels), policy=NETWORK_ANSWERS)
    outcome = infer_labels(oracle, worked_out)
    assert (outcome.labels == labels).all()
    assert outcome.queries == worked_out.queries <= 49


def test_row_by_row_host_tells_only_class_counts_to_the_first_form():
    chosen = np.random.default_rng(4).permutation(2201)[:500]
    features, labels = titanic().X[chosen], titanic().codes[chosen]
    network = MutatorNetwork.for_whole_set([1 / (1 + np.e)], features=8, rng=np.random.default_rng(3))
    module = network.to_torch()
    one_by_one = np.concatenate([run_torch(module, row[None]) for row in features])
    score = log_loss(labels, one_by_one)
    # a constant p costs -ln(1-p), and a logit of 1 more for each label 1: the score is affine in their number ...
    zero_cost = -np.log(1 - 1 / (1 + np.e))
    assert round((score - zero_cost) * 500) == labels.sum()
    # ... and in nothing else
    shuffled = np.random.default_rng(5).permutation(labels)
    assert (shuffled != labels).any()
    assert log_loss(shuffled, one_by_one) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(("load", "rows"), [(digits, 400), (satellite, 600)])
def test_row_network_reads_labels_from_a_row_by_row_host(load, rows, tmp_path):
    """Not Titanic: its 2,201 rows have 14 different features, and a network cannot tell equal rows apart."""
    data = load()
    features, labels = data.X[-rows:], data.codes[-rows:]
    assert len(np.unique(features, axis=0)) == rows
    rng = np.random.default_rng(5)
    hashed = RowHash.of(features, rng=rng)
    order = rng.permutation(rows)

    def oracle(predictions):
        path = tmp_path / "model.onnx"
        MutatorNetwork.for_hash(hashed, predictions).write_onnx(path, force=True)
        return score_onnx(path, features[order], labels[order])  # the host keeps its own order

    metric = LogLoss(classes=int(labels.max()) + 1, floor=SKLEARN_FLOOR)
    worked_out = plan_attack(metric, rows=rows, policy=NETWORK_ANSWERS)
    outcome = infer_labels(oracle, worked_out)
    assert (outcome.labels == labels).all()
    assert outcome.queries == worked_out.queries


def test_row_network_fails_on_a_host_that_changes_its_features():
    data = satellite()
    features, labels = data.X[:300], data.codes[:300]
    hashed = RowHash.of(features, rng=np.random.default_rng(6))
    secret = features @ np.linalg.qr(np.random.default_rng(7).normal(size=(36, 36)))[0]
    metric = LogLoss(classes=6, floor=SKLEARN_FLOOR)

    def oracle(predictions):
        return log_loss(labels, MutatorNetwork.for_hash(hashed, predictions).predict(secret), labels=range(6))

    with pytest.raises(AttackStopped):
        infer_labels(oracle, plan_attack(metric, rows=300, policy=NETWORK_ANSWERS))


def test_float32_network_reads_labels_under_noise():
    data = digits()
    features, labels = data.X[:200], (data.codes[:200] >= 5).astype(np.int64)
    rng = np.random.default_rng(8)
    hashed = RowHash.of(features, rng=rng, dtype=np.float32)
    metric = LogLoss(floor=2e-7)
    tau = 1e-5

    def oracle(predictions):
        table = np.stack([1 - predictions, predictions], axis=1)
        answer = MutatorNetwork.for_hash(hashed, table).predict(features)
        assert answer.dtype == np.float32
        return log_loss(labels, answer) + tau * rng.uniform(-0.9, 0.9)

    outcome = infer_labels(oracle, plan_attack(metric, rows=200, policy=Bounded(tau=tau)))
    assert (outcome.labels == labels).all()


def test_duplicates_let_the_row_form_count_only_within_equal_rows():
    """Titanic's 14 kinds of passengers: one prediction a kind, and a score tells how many of each kind survived."""
    data = titanic()
    features, labels = data.X, data.codes
    kinds, place, sizes = np.unique(features, axis=0, return_inverse=True, return_counts=True)
    assert len(kinds) == 14
    truth = np.bincount(place, weights=labels).astype(int)
    found = np.zeros(14, dtype=int)
    unit = 1e-10  # per label, far above the rounding of a score
    for block in (range(5), range(5, 10), range(10, 14)):
        places = unit * np.cumprod([1.0, *(sizes[list(block)[:-1]] + 1.0)])
        assert places[-1] < 30
        logits = np.zeros(14)
        logits[list(block)] = -places
        network = MutatorNetwork.for_rows(features, 1 / (1 + np.exp(-logits[place])), rng=np.random.default_rng(9))
        p = network.predict(features)[:, 1]
        left = log_loss(labels, p) * len(labels) + np.log(1 - p).sum()
        for kind, weight in reversed(list(zip(block, places, strict=True))):
            found[kind] = int((left + unit / 2) // weight)
            left -= found[kind] * weight
    assert (found == truth).all()


def test_equal_rows_with_unequal_predictions_are_refused():
    with pytest.raises(InvalidInput, match="rows 0 and 2 are equal"):
        MutatorNetwork.for_rows([[1.0], [2.0], [1.0]], [0.1, 0.5, 0.2], rng=np.random.default_rng(0))


def test_rows_too_close_for_the_dtype_are_refused():
    rows = np.array([[1.0, 1000.0], [1.0 + 2e-6, 1000.0], [0.0, 0.0]])
    MutatorNetwork.for_rows(rows, [0.1, 0.2, 0.3], rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="rows must differ by more than float32 loses in a sum"):
        MutatorNetwork.for_rows(rows, [0.1, 0.2, 0.3], rng=np.random.default_rng(0), dtype=np.float32)


def test_a_network_that_asks_nothing_answers_uniformly():
    network = MutatorNetwork.for_rows([[0.0], [1.0]], [[0.5, 0.5], [0.5, 0.5]], rng=np.random.default_rng(0))
    assert (network.predict([[0.0], [7.0]]) == 0.5).all()


@pytest.mark.parametrize(
    ("rows", "predictions", "message"),
    [
        ([[1.0]], [1.5], "must be probabilities"),
        ([[1.0]], [[0.5, 0.4]], "rows that sum to 1"),
        ([[1.0]], [[1.0]], "two columns at least"),
        ([[1.0], [2.0]], [0.5], "must be one for each of the 2 rows, got 1"),
        ([[np.nan]], [0.5], "finite numbers"),
        ([1.0], [0.5], "finite numbers"),
    ],
)
def test_bad_input(rows, predictions, message):
    with pytest.raises(InvalidInput, match=message):
        MutatorNetwork.for_rows(rows, predictions, rng=np.random.default_rng(0))


def test_features_of_another_width_are_refused():
    network = MutatorNetwork.for_whole_set([0.5, 0.4], features=3, rng=np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="features must be 6 numbers per input, got 4"):
        network.predict(np.zeros((2, 2)))


@pytest.mark.parametrize("form", ["whole set", "rows"])
def test_file_looks_like_an_ordinary_network(form, tmp_path):
    rng = np.random.default_rng(10)
    features = digits().X[:500]
    wanted = wanted_predictions(500, 10, rng)
    if form == "rows":
        network = MutatorNetwork.for_rows(features, wanted, rng=rng)
    else:
        network = MutatorNetwork.for_whole_set(wanted, features=64, rng=rng)
    path = tmp_path / "model.onnx"
    network.write_onnx(path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert {node.op_type for node in model.graph.node} <= ORDINARY
    assert all(np.abs(layer.weights).max() < 100 for layer in network.layers[:-1])
    with pytest.raises(InvalidInput, match="exists already"):
        network.write_onnx(path)


@pytest.mark.parametrize(("package", "method"), [("torch", "to_torch"), ("onnx", "to_onnx")])
def test_missing_packages_are_named(package, method, monkeypatch):
    real = importlib.import_module

    def without(name, *rest):
        if name == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    network = MutatorNetwork.for_whole_set([0.5], features=1, rng=np.random.default_rng(0))
    with pytest.raises(TacitError, match=rf"the package {package} is missing; .* 'tacit\[torch\]'"):
        getattr(network, method)()


def test_core_works_without_torch_and_onnx():
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'onnx'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import numpy as np\n"
        "from papers.score_attacks.networks import MutatorNetwork, inspect_network\n"
        "rng = np.random.default_rng(0)\n"
        "network = MutatorNetwork.for_rows([[0.0, 1.0], [1.0, 3.0]], [0.5, 0.25], rng=rng)\n"
        "print(inspect_network(network.predict, [[0.0, 1.0], [1.0, 3.0]], rng=rng).inputs)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "2\n", done.stderr


@pytest.mark.slow
def test_row_network_reads_all_of_satellite():
    data = satellite()
    features, labels = data.X, data.codes
    hashed = RowHash.of(features, rng=np.random.default_rng(11))
    metric = LogLoss(classes=6, floor=SKLEARN_FLOOR)

    def oracle(predictions):
        return log_loss(labels, MutatorNetwork.for_hash(hashed, predictions).predict(features))

    # known rows stay neutral, so that a network has a unit for each row asked about and no more
    unsettled = partial(DigitDesign, settle=False)
    worked_out = plan_attack(metric, rows=len(labels), policy=NETWORK_ANSWERS, design=unsettled)
    outcome = infer_labels(oracle, worked_out)
    assert (outcome.labels == labels).all()
    assert outcome.queries == worked_out.queries
