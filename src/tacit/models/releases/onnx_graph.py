"""ONNX files: linear layers with ReLU between them are computed from the graph, any other graph is only run."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.layers import LinearLayers, ModelState
from tacit.privacy.errors import InvalidInput, InvalidRelease, TacitError
from tacit.privacy.extras import load_extra
from tacit.privacy.folders import KEY

__all__ = ["OnnxGraph", "read_graph", "run_graph", "write_graph"]

_SHAPING = {"Flatten", "Squeeze", "Reshape", "Identity"}  # do not change the numbers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnnxGraph:
    """An ONNX file: its numbers, its header, its bytes, and whether it is linear layers with ReLU between them."""

    state: ModelState
    header: str | None
    content: bytes
    is_layers: bool


def read_graph(source: Path) -> OnnxGraph:
    """Read the numbers of a file that names no other file; those of linear layers in their order."""
    model = _load(source)
    named = _numbers(model, source)
    layers = _layers(model.graph, named)
    return OnnxGraph(
        state=named if layers is None else layers.state,
        header={entry.key: entry.value for entry in model.metadata_props}.get(KEY),
        content=model.SerializeToString(),
        is_layers=layers is not None,
    )


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


def _numbers(model: Any, source: Path) -> dict[str, NDArray[Any]]:  # noqa: ANN401
    to_array = load_extra("onnx").numpy_helper.to_array
    try:
        return {one.name: np.asarray(to_array(one)) for one in model.graph.initializer}
    except Exception as error:  # the checker lets numbers pass that do not fill their shape
        raise InvalidRelease(f"{source} has numbers that cannot be read ({type(error).__name__})") from None


def _tensors(message: Any) -> Iterator[Any]:  # noqa: ANN401
    """Return every tensor in the file, those of inner graphs and functions too."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _tensors(part)


def write_graph(layers: LinearLayers, *, header: str | None) -> bytes:
    """Return the layers as an ONNX model of doubles: Gemm, Relu, ..., Gemm."""
    onnx = load_extra("onnx")
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    nodes, last = [], "x"
    for place, (_, bias) in enumerate(layers.parts):
        if place:
            nodes.append(helper.make_node("Relu", [last], [f"active{place}"]))
            last = f"active{place}"
        inputs = [last, f"{2 * place}.weight", *([] if bias is None else [f"{2 * place}.bias"])]
        last = f"layer{place}"
        nodes.append(helper.make_node("Gemm", inputs, [last], transB=1))
    first, final = layers.parts[0][0], layers.parts[-1][0]
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", double, ["rows", first.shape[1]])],
        [helper.make_tensor_value_info(last, double, ["rows", len(final)])],
        [onnx.numpy_helper.from_array(value, name) for name, value in layers.state.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {} if header is None else {KEY: header})
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def run_graph(content: bytes, X: ArrayLike) -> NDArray[np.float64]:
    """Ask a model for its outputs on rows by ``onnxruntime``: a black box."""
    try:
        onnxruntime = importlib.import_module("onnxruntime")
    except ImportError:
        raise TacitError("the package onnxruntime is missing; install it with: pip install onnxruntime") from None
    try:
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common class
        raise InvalidRelease(f"the model is no ONNX file that can be run ({type(error).__name__})") from None
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise InvalidInput(f"the model must take one input, the rows, got {len(inputs)}")
    kind = np.float64 if "double" in inputs[0].type else np.float32
    try:
        return np.asarray(session.run(None, {inputs[0].name: np.asarray(X, dtype=kind)})[0], dtype=np.float64)
    except Exception as error:
        first = str(error).splitlines()[0]
        raise InvalidInput(f"the model does not take these rows of shape {np.shape(X)}: {first}") from None


def _layers(graph: Any, named: Mapping[str, NDArray[Any]]) -> LinearLayers | None:  # noqa: ANN401
    """Return linear layers, each applied to the ReLU of the one before; None for any other graph."""
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
    alternating = [(kind == "Relu") == bool(place % 2) for place, kind in enumerate(order)]
    if not all(alternating) or len(order) != 2 * len(layers) - 1 or [one.name for one in graph.output] != [last]:
        return None
    return LinearLayers(tuple((w.astype(np.float64), None if b is None else b.astype(np.float64)) for w, b in layers))


def _gemm(node: Any, values: list[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any] | None] | None:  # noqa: ANN401
    settings = {entry.name: entry for entry in node.attribute}
    plain = all(settings[name].f == 1.0 for name in ("alpha", "beta") if name in settings)
    turned = "transA" in settings and settings["transA"].i
    if not plain or turned or not values or values[0].ndim != 2 or len(values) != len(node.input) - 1:
        return None
    weights = values[0] if "transB" in settings and settings["transB"].i else values[0].T
    return weights, (values[1].reshape(-1) if len(values) > 1 else None)
