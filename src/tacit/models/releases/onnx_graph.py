"""ONNX files: a two-layer ReLU network read off its graph, any other one asked for outputs alone."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput, InvalidRelease, TacitError
from tacit.privacy.extras import load_extra

__all__ = ["Graph", "open_onnx", "read_graph", "write_graph"]

_SHAPING = {"Flatten", "Squeeze", "Reshape", "Identity"}  # do not change the numbers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph:
    """The numbers of a graph, and whether it is a linear layer, a ReLU and a linear layer.

    Examples
    --------
    >>> Graph(state={}, metadata={}, is_network=False).is_network
    False
    """

    state: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, str]
    is_network: bool


def read_graph(source: Path) -> Graph:
    """Read the initialisers; a two-layer ReLU network's in the order weights, biases, outputs (and output bias).

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "model.onnx"
    >>> _ = path.write_bytes(write_graph(TwoLayerReLU(weights=[[2.0]], biases=[1.0], outputs=[3.0]), metadata={}))
    >>> {name: value.tolist() for name, value in read_graph(path).state.items()}
    {'hidden.weight': [[2.0]], 'hidden.bias': [1.0], 'output.weight': [[3.0]]}
    """
    model = _load(source)
    to_array = load_extra("onnx").numpy_helper.to_array
    named = {one.name: np.asarray(to_array(one)) for one in model.graph.initializer}
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    layers = _layers(model.graph, named)
    return Graph(state=layers or named, metadata=metadata, is_network=layers is not None)


def _load(source: Path) -> Any:  # noqa: ANN401
    onnx = load_extra("onnx")
    unreadable = "{source} is no ONNX file that can be read ({kind})"
    try:
        model = onnx.load(source, load_external_data=False)
    except Exception as error:  # protobuf raises of all kinds
        raise InvalidRelease(unreadable.format(source=source, kind=type(error).__name__)) from None
    if any(tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data for tensor in _tensors(model)):
        raise InvalidRelease(f"{source} names other files to read, which is not done; save the model as one file")
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise InvalidRelease(unreadable.format(source=source, kind=type(error).__name__)) from None
    return model


def _tensors(message: Any) -> Iterator[Any]:  # noqa: ANN401
    """Return every tensor in the file, those of inner graphs and functions too."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _tensors(part)


def write_graph(network: TwoLayerReLU, *, metadata: Mapping[str, str]) -> bytes:
    """Return the network as an ONNX model of doubles: Gemm, Relu, Gemm.

    Examples
    --------
    >>> len(write_graph(TwoLayerReLU(weights=[[2.0]], biases=[1.0], outputs=[3.0]), metadata={})) > 100
    True
    """
    onnx = load_extra("onnx")
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    arrays = {
        "hidden.weight": network.weights,
        "hidden.bias": network.biases,
        "output.weight": network.outputs[None, :],
    }
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "hidden.weight", "hidden.bias"], ["hidden"], transB=1),
            helper.make_node("Relu", ["hidden"], ["active"]),
            helper.make_node("Gemm", ["active", "output.weight"], ["phi"], transB=1),
        ],
        "two_layer_relu",
        [helper.make_tensor_value_info("x", double, ["rows", network.dimension])],
        [helper.make_tensor_value_info("phi", double, ["rows", 1])],
        [onnx.numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, dict(metadata))
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def open_onnx(path: str | Path) -> Callable[[ArrayLike], NDArray[np.float64]]:
    """Return a function from rows to outputs that runs the model by ``onnxruntime``: a black box.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "model.onnx"
    >>> _ = file.write_bytes(write_graph(TwoLayerReLU(weights=[[2.0]], biases=[1.0], outputs=[3.0]), metadata={}))
    >>> open_onnx(file)([[1.0], [-1.0]])
    array([[9.],
           [0.]])
    """
    try:
        onnxruntime = importlib.import_module("onnxruntime")
    except ImportError:
        raise TacitError("the package onnxruntime is missing; install it with: pip install onnxruntime") from None
    content = _load(Path(path)).SerializeToString()
    try:
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common class
        raise InvalidRelease(f"{path} is no ONNX file that can be run ({type(error).__name__})") from None
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise InvalidInput(f"{path} must take one input, the rows, got {len(inputs)}")
    kind = np.float64 if "double" in inputs[0].type else np.float32

    def ask(X: ArrayLike) -> NDArray[np.float64]:
        try:
            return np.asarray(session.run(None, {inputs[0].name: np.asarray(X, dtype=kind)})[0], dtype=np.float64)
        except Exception as error:
            first = str(error).splitlines()[0]
            raise InvalidInput(f"{path} does not take these rows of shape {np.shape(X)}: {first}") from None

    return ask


def _layers(graph: Any, named: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]] | None:  # noqa: ANN401
    """Return the parameters of linear, ReLU, linear, each applied to what the last gave; None for any other graph."""
    layers: list[tuple[NDArray[Any], NDArray[Any] | None]] = []
    order = []
    last = next((one.name for one in graph.input if one.name not in named), "")
    for node in graph.node:
        if last not in (node.input if node.op_type == "Add" else node.input[:1]):
            return None
        last = node.output[0]
        if node.op_type in _SHAPING:
            continue
        order.append(node.op_type)
        values = [named[name] for name in node.input if name in named]
        if node.op_type == "Gemm":
            if (one := _gemm(node, values)) is None:
                return None
            layers.append(one)
        elif node.op_type == "MatMul" and len(values) == 1 and values[0].ndim == 2:
            layers.append((values[0].T, None))
        elif node.op_type == "Add" and len(values) == 1 and order[-2:-1] == ["MatMul"]:
            order.pop()
            layers[-1] = (layers[-1][0], values[0].reshape(-1))
        elif node.op_type != "Relu":
            return None
    if order[1:2] != ["Relu"] or len(order) != 3 or len(layers) != 2 or [one.name for one in graph.output] != [last]:
        return None
    (weights, biases), (outputs, bias) = layers
    found = {"hidden.weight": weights, "hidden.bias": biases, "output.weight": outputs, "output.bias": bias}
    return {name: value for name, value in found.items() if value is not None}


def _gemm(node: Any, values: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any] | None] | None:  # noqa: ANN401
    settings = {entry.name: entry for entry in node.attribute}
    plain = all(settings[name].f == 1.0 for name in ("alpha", "beta") if name in settings)
    turned = "transA" in settings and settings["transA"].i
    if not plain or turned or not values or values[0].ndim != 2 or len(values) != len(node.input) - 1:
        return None
    weights = values[0] if "transB" in settings and settings["transB"].i else values[0].T
    return weights, (values[1].reshape(-1) if len(values) > 1 else None)
