import numpy as np
import pytest
import torch
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from papers.score_attacks.networks import LinearLayer, MutatorNetwork, NetworkInspection, RowHash, inspect_network
from tacit.data import digits, iris, satellite, titanic
from tacit.privacy import InvalidInput


def load(name):
    data = {"iris": iris, "digits": digits, "satellite": satellite, "titanic": titanic}[name]()
    return data.X, data.codes


def honest_model(family, seed):
    return {
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(C=10.0 ** (seed % 4 - 2))),
        "forest": lambda: RandomForestClassifier(20, max_depth=[None, 3, 8][seed % 3], random_state=seed),
        "boosted": lambda: HistGradientBoostingClassifier(max_iter=5 + 5 * seed, max_leaf_nodes=8, random_state=seed),
        "network": lambda: make_pipeline(
            StandardScaler(), MLPClassifier((24,), max_iter=30, learning_rate_init=0.01, random_state=seed)
        ),
    }[family]()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("family", ["logistic", "forest", "boosted", "network"])
@pytest.mark.parametrize("name", ["iris", "digits", "satellite", "titanic"])
def test_no_alarm_on_honest_models(name, family):
    """4 sets x 4 families x 4 seeds: 64 models, inspected on rows they were not trained on."""
    X, y = load(name)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))[:1000]
        train, held = order[: len(order) // 2], order[len(order) // 2 :]
        with threadpool_limits(1):  # small models: threads only get into each other's way
            model = honest_model(family, seed).fit(X[train], y[train])
            inspection = inspect_network(model.predict_proba, X[held], rng=rng)
        assert not inspection.crafted, f"{name} {family} {seed}: {inspection}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "digits", "satellite", "titanic"])
def test_no_alarm_on_models_that_jump_or_repeat_themselves(name):
    """Trees, stumps, neighbors, naive Bayes, AdaBoost, on held-out rows and on those they were trained on."""
    X, y = load(name)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        train, held = np.array_split(rng.permutation(len(X)), 2)
        for model in (
            DecisionTreeClassifier(max_depth=[None, 2, 5][seed % 3], random_state=seed),
            DecisionTreeClassifier(max_depth=1, random_state=seed),
            KNeighborsClassifier([1, 5, 15][seed % 3]),
            GaussianNB(),
            AdaBoostClassifier(n_estimators=20, random_state=seed),
        ):
            model.fit(X[train], y[train])
            for rows in (train, held):
                inspection = inspect_network(model.predict_proba, X[rows], rng=rng)
                assert not inspection.crafted, f"{name} {model} {seed}: {inspection}"


def random_submission(seed):
    """Random rows of a random set, and a digit ladder of random base, step, length and place for them."""
    rng = np.random.default_rng(seed)
    X = np.unique(load(["iris", "digits", "satellite"][seed % 3])[0], axis=0)
    X = X[rng.permutation(len(X))[: rng.integers(60, min(len(X), 800))]]
    classes = int(rng.choice([2, 3, 6]))
    dtype = [np.float64, np.float32][int(rng.integers(2))]
    finest, reach = (-12, 30.0) if dtype == np.float64 else (-5, 14.0)
    unit = 10.0 ** rng.integers(finest, -1)
    length = min(len(X), 1 + int(np.log(reach / unit / (classes - 1)) / np.log(classes)))
    wanted = np.full((len(X), classes), 1 / classes)
    steps = np.exp(-unit * float(classes) ** np.arange(length)[:, None] * np.arange(classes))
    wanted[rng.permutation(len(X))[:length]] = steps / steps.sum(axis=1, keepdims=True)
    return X, wanted, dtype, rng


@pytest.mark.parametrize("form", ["whole set", "rows"])
def test_every_crafted_network_is_found_from_outside_and_from_inside(form):
    for seed in range(50):
        X, wanted, dtype, rng = random_submission(seed)
        if form == "rows":
            network = MutatorNetwork.for_rows(X, wanted, rng=rng, dtype=dtype)
        else:
            network = MutatorNetwork.for_whole_set(wanted, features=X.shape[1], rng=rng, dtype=dtype)
        module = network.to_torch() if seed % 2 else network.to_onnx()
        found = {finding.check for finding in inspect_network(network.predict, X, rng=rng, module=module).findings}
        assert found & {"position", "recognition"}, (seed, len(X), wanted.shape[1], dtype)
        assert "dead layer" in found, (seed, len(X), wanted.shape[1], dtype)


def test_network_that_asks_about_every_row_is_found():
    X, _ = load("digits")
    rng = np.random.default_rng(0)
    network = MutatorNetwork.for_rows(X[:500], rng.dirichlet(np.ones(3), size=500), rng=rng)
    assert {f.check for f in inspect_network(network.predict, X[:500], rng=rng).findings} == {"recognition"}


@pytest.mark.parametrize("name", ["iris", "digits"])
def test_no_layer_of_an_honest_network_is_called_dead(name):
    X, y = load(name)
    scaled = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 0.1)
    model = MLPClassifier((24, 12), max_iter=200, learning_rate_init=0.01, random_state=0).fit(scaled[::2], y[::2])
    layers = tuple(LinearLayer(weights=w, bias=b) for w, b in zip(model.coefs_, model.intercepts_, strict=True))
    same = MutatorNetwork(layers=layers, classes=len(set(y)), rows=None)
    held = scaled[1::2]
    np.testing.assert_allclose(same.predict(held), model.predict_proba(held), rtol=1e-9)
    for module in (same.to_torch(), same.to_onnx()):
        assert not inspect_network(same.predict, held, rng=np.random.default_rng(0), module=module).crafted
    # control: with one hidden layer's weights turned negative nothing passes it
    dead = LinearLayer(weights=-np.abs(layers[1].weights), bias=-np.abs(layers[1].bias))
    broken = MutatorNetwork(layers=(layers[0], dead, layers[2]), classes=len(set(y)), rows=None)
    for module in (broken.to_torch(), broken.to_onnx()):
        found = inspect_network(broken.predict, held, rng=np.random.default_rng(0), module=module).findings
        assert [finding.check for finding in found] == ["constant", "dead layer"]


@pytest.fixture
def points():
    return np.random.default_rng(1).normal(size=(1000, 4))


def logistic(x):
    return 1 / (1 + np.exp(-x @ [1.0, -2.0, 0.5, 1.0]))


def test_output_that_follows_the_place_of_a_row(points):
    ramp = np.linspace(0.1, 0.9, 1000)
    found = inspect_network(lambda x: ramp[: len(x)], points, rng=np.random.default_rng(0)).findings
    assert [finding.check for finding in found] == ["position"]
    assert "another order" in found[0].reason
    assert not inspect_network(logistic, points, rng=np.random.default_rng(0)).crafted


def test_network_that_needs_the_whole_set(points):
    def constant_but_whole(x):
        if len(x) != 1000:
            raise RuntimeError("shape")
        return np.full(1000, 0.3)

    (found,) = inspect_network(constant_but_whole, points, rng=np.random.default_rng(0)).findings
    assert "cannot score a part of the rows (RuntimeError)" in found.reason


def test_batch_normalization_left_in_training_mode_is_told_as_position(points):
    (found,) = inspect_network(lambda x: logistic(x - x.mean(axis=0)), points, rng=np.random.default_rng(0)).findings
    assert "without the others" in found.reason


def test_fixed_output_other_than_uniform(points):
    def recognizes(x):
        known = (np.abs(x[:, None, :] - points[None, :50]).max(axis=2) < 1e-6).any(axis=1)
        return np.where(known, 0.9, 0.2)

    found = inspect_network(recognizes, points, rng=np.random.default_rng(0)).findings
    assert "recognition" in {finding.check for finding in found}
    # control: a stump puts out two values as well, but keeps them when other features change
    assert not inspect_network(
        lambda x: np.where(x[:, 0] > 1.6, 0.9, 0.2), points, rng=np.random.default_rng(0)
    ).crafted


@pytest.mark.parametrize("width", [1e-8, 1e-5, 1e-3])
def test_honest_model_with_narrow_exceptions_jumps(points, width):
    asked, answers = points[:60], np.random.default_rng(2).uniform(size=60)

    def augmented(x):
        near = np.abs(x[:, None, :] - asked[None]).max(axis=2) < width
        return np.where(near.any(axis=1), answers[near.argmax(axis=1)], logistic(x))

    found = inspect_network(augmented, points, rng=np.random.default_rng(0)).findings
    assert [finding.check for finding in found] == ["jump"]


def test_jump_is_fair_to_models_that_jump_everywhere(points):
    rough = np.random.default_rng(3).uniform(size=4096)

    def hash_model(x):  # discontinuous on every scale, at rows and between them alike
        return rough[(np.abs(np.sin(x.sum(axis=1) * 1e9)) * 4095).astype(int)]

    assert not inspect_network(hash_model, points, rng=np.random.default_rng(0)).crafted


def test_near_ties_are_finer_than_a_model(points):
    table = np.full(1000, 0.5)
    table[:30] = 0.5 + np.geomspace(1e-13, 1e-3, 30)

    def recognizes(x):
        return table[np.abs(x[:, None, 0] - points[None, :, 0]).argmin(axis=1)]

    found = inspect_network(recognizes, points, rng=np.random.default_rng(0)).findings
    assert "precision" in {finding.check for finding in found}
    assert any("within 1e-07 of the most frequent one" in finding.reason for finding in found)


def test_exceptions_in_wide_cells_of_an_honest_model_are_the_stated_limit():
    """What the docstring says is not found is not found: if this fails, the detector is better than its words."""
    X, y = load("satellite")
    X, y = X[:800], y[:800]
    classes = int(y.max()) + 1
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[400:], y[400:])
    hashed = RowHash.of(X[:400], rng=np.random.default_rng(0), asked=np.arange(400) < 12, width=16)
    shifts = np.random.default_rng(1).normal(scale=4.0, size=(12, classes))
    strengths = hashed.strengths(hashed.place[:12])

    def augmented(x):
        cells = np.maximum(1 - np.maximum(x @ hashed.weights + hashed.bias, 0) @ strengths, 0)
        logits = np.log(model.predict_proba(x)) + cells @ shifts
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    moved = np.abs(augmented(X[:400]) - model.predict_proba(X[:400])).max(axis=1) > 1e-9
    assert (moved == (np.arange(400) < 12)).all()
    assert not inspect_network(augmented, X[:400], rng=np.random.default_rng(2)).crafted


def test_torch_module_is_left_as_it_was(points):
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2), torch.nn.Softmax(-1))

    def predict(x):
        with torch.no_grad():
            return module(torch.from_numpy(x).float()).numpy()

    inspect_network(predict, points, rng=np.random.default_rng(0), module=module)
    assert all(not part._forward_hooks for part in module.modules())


@pytest.mark.parametrize(
    ("network", "inputs", "message"),
    [
        (logistic, np.zeros((1, 4)), "at least two rows"),
        (logistic, np.full((5, 4), np.nan), "finite numbers"),
        (lambda x: np.zeros((len(x) - 1, 2)), np.zeros((5, 4)), "one row of probabilities for each of 5 inputs"),
        (lambda x: np.full(len(x), np.nan), np.zeros((5, 4)), "one row of probabilities"),
    ],
)
def test_bad_input(network, inputs, message):
    with pytest.raises(InvalidInput, match=message):
        inspect_network(network, inputs, rng=np.random.default_rng(0))


def test_one_feature_is_inspected_without_the_recognition_check():
    inputs = np.random.default_rng(4).normal(size=(100, 1))
    assert str(inspect_network(lambda x: 1 / (1 + np.exp(-x[:, 0])), inputs, rng=np.random.default_rng(0))) == str(
        NetworkInspection(findings=(), inputs=100)
    )
