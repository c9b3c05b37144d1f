"""Model files: numbers and a guarantee go in and come out; code never runs."""

import json
import os
import pickle
import re
import stat
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from tacit.data import Encoder
from tacit.models import Plan, Release
from tacit.models.layers import LinearLayers
from tacit.models.network import TwoLayerReLU
from tacit.models.releases.members import EstimatorMember, SafetensorsMember
from tacit.models.releases.onnx_graph import read_graph
from tacit.privacy.errors import InvalidInput, InvalidRelease, TacitError
from tacit.privacy.guarantee import Guarantee, NoGuarantee, Unit
from tacit.privacy.loss import PureLoss
from tacit.privacy.releases import ReleaseHeader

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
SUFFIXES = [".pt", ".pth", ".safetensors", ".onnx"]
RNG = np.random.default_rng(0)
NETWORK = TwoLayerReLU(weights=RNG.normal(size=(4, 3)), biases=RNG.normal(size=4), outputs=RNG.normal(size=4))
FEATURES = ["a", "b", "c"]
ONE = Guarantee(unit=Unit.RECORD, epsilon=3.0, delta=1e-5, assumptions=("a stated one",))


def _header(guarantee=ONE, plan=None, **settled):
    plan = plan or Plan(label="ill", epsilon=3, delta=1e-5, mechanism="dp_sgd:width=4,epochs=1")
    run = {"noise": 5.0, "rate": 0.1, "steps": 10, "rows": 100, "batch_size": 10, "classes": [0, 1], **settled}
    encoder = Encoder.of_numbers(FEATURES).to_json()
    return ReleaseHeader(
        surface="models", plan=plan.to_json(), settled=run, guarantee=guarantee, seeded=True, encoder=encoder
    )


def _release(guarantee=ONE, network=NETWORK, **changes):
    return Release(header=_header(guarantee, **changes), members={"model": SafetensorsMember(network.state)})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_bit_for_bit(suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    _release().write(path)
    back = Release.read(path)
    for part in ("weights", "biases", "outputs"):
        np.testing.assert_array_equal(getattr(back.network, part), getattr(NETWORK, part))
    assert (back.guarantee.unit, back.guarantee.epsilon, back.guarantee.delta) == (Unit.RECORD, 3.0, 1e-5)
    assert (list(back.encoder.names), back.seeded, back.label) == (FEATURES, True, "ill")
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    with pytest.raises(InvalidInput, match="exists already"):
        _release().write(path)
    _release(NoGuarantee(reason="none")).write(path, force=True)
    assert Release.read(path).guarantee == NoGuarantee(reason="none")
    assert [one.name for one in tmp_path.iterdir()] == [path.name], "control: nothing half written is left"


@pytest.mark.parametrize("lie", [{"rate": 1e-9}, {"steps": 1}, {"rows": 10**6}, {"batch_size": 1, "rate": 0.01}])
def test_fewer_or_smaller_steps_than_planned_are_refused(lie, tmp_path):
    _release(**lie).write(tmp_path / "lie.safetensors")
    with pytest.raises(InvalidRelease, match="states other steps than its plan takes"):
        Release.read(tmp_path / "lie.safetensors")


def test_loss_and_assumptions_are_those_of_the_mechanism(tmp_path):
    free = replace(ONE, loss=PureLoss(epsilon=1e-9), assumptions=())
    _release(free).write(tmp_path / "lie.safetensors")
    read = Release.read(tmp_path / "lie.safetensors").guarantee
    assert read.loss.epsilon_at(1e-5) > 0.1
    assert "the number of rows is public; a neighbor has one record replaced" in read.assumptions


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_guarantee_cannot_be_edited_apart_from_the_numbers(tmp_path):
    path = tmp_path / "model.pt"
    _release().write(path)
    found = torch.load(path, weights_only=True)
    header = json.loads(found["tacit_release"])
    header["guarantee"]["epsilon"] = 0.1
    torch.save({**found, "tacit_release": json.dumps(header)}, path)
    with pytest.raises(InvalidRelease, match="bad checksum"):
        Release.read(path)
    found["state"]["0.bias"][0] += 1
    torch.save(found, path)
    with pytest.raises(InvalidRelease, match="bad checksum"):
        Release.read(path)


LESS = {
    "epsilon": {"guarantee": replace(ONE, epsilon=0.5)},
    "delta": {"guarantee": replace(ONE, delta=1e-9)},
    "unit": {"guarantee": replace(ONE, unit=Unit.LABEL)},
    "noise": {"noise": 0.5},
    "no plan's": {"plan": Plan(label="ill", epsilon=None, mechanism="margin")},
}


@pytest.mark.parametrize("case", list(LESS))
def test_a_guarantee_that_the_mechanism_cannot_keep_is_refused(case, tmp_path):
    _release(**LESS[case]).write(tmp_path / "model.safetensors")
    with pytest.raises(InvalidRelease, match=r"its mechanism has|what the mechanism's privacy loss costs"):
        Release.read(tmp_path / "model.safetensors")


def test_state_dicts_of_strangers_are_read_without_a_guarantee(tmp_path):
    layers = [torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1, bias=False)]
    module = torch.nn.Sequential(*layers).double()
    torch.save(module.state_dict(), tmp_path / "model.pt")
    found = Release.read(tmp_path / "model.pt")
    assert isinstance(found.guarantee, NoGuarantee)
    X = RNG.normal(size=(7, 3))
    np.testing.assert_allclose(found.network(X), module(torch.from_numpy(X)).detach().numpy()[:, 0], rtol=1e-12)


class _Runs:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("how", ["torch", "pickle", "module"])
def test_a_file_with_code_in_it_is_not_opened(how, tmp_path):
    path, mark = tmp_path / "model.pt", str(tmp_path / "ran")
    if how == "torch":
        torch.save({"weight": torch.ones(2), "more": _Runs(mark)}, path)
    elif how == "pickle":
        path.write_bytes(pickle.dumps(_Runs(mark)))
    else:
        torch.save(torch.nn.Linear(2, 1), path)
    with pytest.raises(InvalidRelease, match=r"contains code or objects besides numbers and was not opened"):
        Release.read(path)
    assert not os.path.exists(mark)
    if how == "pickle":
        pickle.loads(path.read_bytes())
        assert os.path.exists(mark), "control: the file does run code where it is let"


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("content", [b"", b"PAR1 this is no model", b"\x00" * 64])
def test_files_of_another_kind_are_refused_in_a_sentence(suffix, content, tmp_path):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidRelease) as error:
        Release.read(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


def test_other_names_documents_and_tensors_are_refused(tmp_path):
    for name in ("model.pkl", "model"):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(InvalidRelease, match=r"must end in \.safetensors"):
            Release.read(tmp_path / name)
        with pytest.raises(InvalidInput, match=r"must end in \.safetensors"):
            _release().write(tmp_path / "new" / name)
    with pytest.raises(InvalidInput, match=r"out must end in \.safetensors"):
        _release().write(tmp_path / "model.joblib")
    torch.save({"epoch": 3, "model": {"weight": torch.ones(2)}}, tmp_path / "checkpoint.pt")
    with pytest.raises(InvalidRelease, match="no state dict"):
        Release.read(tmp_path / "checkpoint.pt")
    with zipfile.ZipFile(tmp_path / "zip.pt", "w") as file:
        file.writestr("data.txt", "x")
    with pytest.raises(InvalidRelease):
        Release.read(tmp_path / "zip.pt")


WRONG = {
    "output bias": ({"0.bias": (5,), "2.bias": (1,)}, "not homogeneous: it has an output bias 1"),
    "no hidden bias": ({}, "not a homogeneous two-layer ReLU network"),
    "two outputs": ({"0.bias": (5,), "2.weight": (2, 5)}, "not a homogeneous two-layer ReLU network"),
    "three layers": ({"0.bias": (5,), "4.weight": (1, 1)}, "not a homogeneous two-layer ReLU network"),
    "convolution": ({"0.bias": (5,), "0.weight": (5, 3, 2, 2)}, "not made of linear layers"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_networks_that_are_not_homogeneous_say_so(case):
    shapes, sentence = WRONG[case]
    state = {name: np.ones(shape) for name, shape in {"0.weight": (5, 3), "2.weight": (1, 5), **shapes}.items()}
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        _ = LinearLayers.of_state(state).network


def test_an_output_bias_of_zero_is_none():
    state = {"0.weight": np.ones((5, 3)), "0.bias": np.ones(5), "2.weight": np.ones((1, 5)), "2.bias": np.zeros(1)}
    assert LinearLayers.of_state(state).network.width == 5


def test_layers_are_told_apart_in_any_order():
    one = {"out.weight": np.full((1, 1), 2.0), "hidden.weight": np.full((1, 1), 3.0), "hidden.bias": np.ones(1)}
    assert LinearLayers.of_state(one).network([[1.0]]) == [8.0]


def _run(path, X):
    return Release.read(path).member.outputs(X, black_box=True)


def test_graphs_of_other_makers_are_read_and_others_only_asked(tmp_path):
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    arrays = {"W": NETWORK.weights.T, "b": NETWORK.biases, "v": NETWORK.outputs[:, None]}

    def save(name, activation):
        nodes = [
            ("MatMul", ["x", "W"], "h"),
            ("Add", ["h", "b"], "z"),
            (activation, ["z"], "a"),
            ("MatMul", ["a", "v"], "y"),
        ]
        graph = helper.make_graph(
            [helper.make_node(kind, inputs, [out]) for kind, inputs, out in nodes],
            "made elsewhere",
            [helper.make_tensor_value_info("x", double, [None, 3])],
            [helper.make_tensor_value_info("y", double, [None, 1])],
            [onnx.numpy_helper.from_array(np.ascontiguousarray(a), n) for n, a in arrays.items()],
        )
        opsets = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / name)
        return tmp_path / name

    X = RNG.normal(size=(6, 3))
    path = save("relu.onnx", "Relu")
    np.testing.assert_allclose(Release.read(path).network(X), NETWORK(X), rtol=1e-12)
    np.testing.assert_allclose(_run(path, X)[:, 0], NETWORK(X), rtol=1e-12)
    other = save("sigmoid.onnx", "Sigmoid")
    assert not read_graph(other).is_layers
    with pytest.raises(InvalidInput, match="not a homogeneous"):
        _ = Release.read(other).network
    assert np.isfinite(_run(other, X)).all()
    with pytest.raises(InvalidInput, match="does not take these rows"):
        _run(other, X[:, :2])
    onnx.save(onnx.load(path), tmp_path / "spread.onnx", save_as_external_data=True, size_threshold=0)
    with pytest.raises(InvalidRelease, match="names other files to read"):
        Release.read(tmp_path / "spread.onnx")
    model = onnx.load(path)
    model.graph.initializer[0].dims[0] += 1
    onnx.save(model, tmp_path / "short.onnx")
    with pytest.raises(InvalidRelease):  # the numbers do not fill their shape
        Release.read(tmp_path / "short.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"x")
    with pytest.raises(TacitError, match="no ONNX file"):
        Release.read(tmp_path / "broken.onnx")


@pytest.mark.parametrize("change", ["activation", "input", "output", "alpha"])
@pytest.mark.parametrize("known", [True, False])
def test_another_graph_with_the_same_numbers_is_not_read_as_the_network(change, known, tmp_path):
    """The header's word and the parameters' names would both say two-layer ReLU; the graph says otherwise."""
    path = tmp_path / "model.onnx"
    square = TwoLayerReLU(weights=np.eye(3), biases=np.ones(3), outputs=np.ones(3))
    _release(network=square).write(path)
    model = onnx.load(path)
    if change == "activation":
        model.graph.node[1].op_type = "Tanh"
    elif change == "input":
        model.graph.node[2].input[0] = "x"  # past the hidden layer
    elif change == "output":
        model.graph.output[0].name = "layer0"
    else:
        model.graph.node[0].attribute.append(onnx.helper.make_attribute("alpha", 2.0))
    if not known:
        del model.metadata_props[:]
    onnx.save(model, path)
    with pytest.raises(InvalidInput, match="its graph is not only"):
        _ = Release.read(path).network


def test_files_named_in_an_inner_graph_are_not_read(tmp_path, monkeypatch):
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    np.array([7.0]).tofile(tmp_path / "secret.bin")
    outside = onnx.TensorProto(name="w", data_type=double, dims=[1, 1], data_location=onnx.TensorProto.EXTERNAL)
    outside.external_data.add(key="location", value="secret.bin")
    kind = helper.make_tensor_value_info("o", double, None)
    then = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["o"])], "then", [], [kind], [outside])
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["o"])], "other", [], [kind])
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
        "outer",
        [helper.make_tensor_value_info("x", double, [None, 1])],
        [helper.make_tensor_value_info("y", double, None)],
        [onnx.numpy_helper.from_array(np.array(True), "c")],
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(graph, ir_version=9).SerializeToString())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRelease, match="names other files to read"):
        Release.read(path)


STRANGE = {
    "sparse": lambda: torch.ones(2, 2).to_sparse(),
    "of 8 bits": lambda: torch.ones(2, 2).to(torch.float8_e4m3fn),
    "without numbers": lambda: torch.ones(2, 2, device="meta"),
    "larger than the file": lambda: torch.ones(1).expand(10**7, 10**6),
}


@pytest.mark.parametrize("kind", list(STRANGE))
def test_tensors_that_are_no_plain_numbers_are_refused_in_a_sentence(kind, tmp_path):
    torch.save({"0.weight": STRANGE[kind](), "0.bias": torch.ones(2)}, tmp_path / "model.pt")
    with pytest.raises(InvalidRelease, match=r"must have dense tensors|larger than the file"):
        Release.read(tmp_path / "model.pt")


def test_a_network_of_several_outputs_is_the_same_in_every_format(tmp_path):
    state = {"0.weight": RNG.normal(size=(4, 3)), "0.bias": RNG.normal(size=4), "2.weight": RNG.normal(size=(3, 4))}
    release = Release(header=_header(), members={"model": SafetensorsMember(state)})
    X = RNG.normal(size=(5, 3))
    for suffix in SUFFIXES:
        release.write(tmp_path / f"model{suffix}")
        back = Release.read(tmp_path / f"model{suffix}").member
        for black_box in (False, True):
            np.testing.assert_allclose(back.outputs(X, black_box=black_box), release.member.layers(X), rtol=1e-12)


def test_a_pickle_opens_only_on_trust(tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    X, y = np.arange(6.0).reshape(-1, 1), np.array([0, 0, 0, 1, 1, 1])
    model = DecisionTreeClassifier().fit(X, y)
    path = tmp_path / "model.joblib"
    elsewhere = NoGuarantee(reason="the file does not state how the model was trained")
    header = ReleaseHeader(surface="models", plan=None, guarantee=elsewhere, seeded=False)
    Release(header=header, members={"model": EstimatorMember.of_estimator(model)}).write(path)
    closed = Release.read(path)
    assert closed.guarantee == elsewhere
    with pytest.raises(InvalidRelease, match=r"is a pickle, and opening it runs the code in it"):
        closed.member.outputs(X, black_box=False)
    opened = Release.read(path, trust=True).member
    np.testing.assert_array_equal(opened.logits(X, classes=2).argmax(axis=1), y)
    with pytest.raises(InvalidInput, match=r"out must end in \.joblib"):
        closed.write(tmp_path / "model.pt")
    path.write_bytes(pickle.dumps(_Runs(str(tmp_path / "ran"))))
    Release.read(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [b"TACIT2", b"\0" * 4 + b"TACIT2", b"{}" + b"\xff" * 8 + b"TACIT2"])
def test_a_header_whose_length_is_damaged_is_refused(tmp_path, content):
    path = tmp_path / "model.joblib"
    path.write_bytes(content)
    with pytest.raises(InvalidRelease):
        Release.read(path)


@pytest.mark.parametrize("content", [b"", b"no pickle"])
def test_a_pickle_that_cannot_be_opened_is_refused(tmp_path, content):
    path = tmp_path / "model.joblib"
    path.write_bytes(content)
    with pytest.raises(InvalidRelease, match="the pickle cannot be opened"):
        Release.read(path, trust=True)
