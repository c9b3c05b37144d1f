"""The three kinds of model file, as bytes: parameters by name, and one text beside them."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.models.releases.onnx_graph import read_graph, write_graph
from tacit.models.releases.state import network_from_state
from tacit.privacy.errors import InvalidRelease
from tacit.privacy.extras import load_extra

__all__ = ["NETWORK", "OTHER", "SUFFIXES", "arrays_of", "decode_model", "encode_model"]

SUFFIXES = (".pt", ".pth", ".safetensors", ".onnx")
"""Names of model files end in one of these."""

NETWORK = "two_layer_relu"
"""What a file says of a two-layer ReLU network."""

OTHER = "other"
"""What is said of a graph that is another function of its numbers."""

_KEY = "tacit_model"

State = Mapping[str, NDArray[Any]]


def encode_model(suffix: str, state: State, *, header: str) -> bytes:
    """Return a file of the kind that ``suffix`` names; ONNX only of two-layer ReLU networks.

    Examples
    --------
    >>> len(encode_model(".safetensors", {"weight": np.ones(2)}, header="{}")) > 16
    True
    """
    return _WRITERS[suffix](state, header)


def decode_model(source: Path) -> tuple[State, str | None, str]:
    """Return parameters, the text beside them if there is one, and the architecture where the file shows it.

    Nothing in the file is run.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> _ = path.write_bytes(encode_model(".safetensors", {"weight": np.ones(2)}, header="{}"))
    >>> decode_model(path)[1]
    '{}'
    """
    return _READERS[source.suffix](source)


def arrays_of(state: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return a torch state dict as NumPy arrays; plain dense numbers only.

    Examples
    --------
    >>> import torch
    >>> arrays_of({"weight": torch.ones(2, dtype=torch.bfloat16)})["weight"].dtype
    dtype('float32')
    """

    def array(value: Any) -> NDArray[Any]:  # noqa: ANN401
        plain = value.detach().cpu()
        # NumPy has no bfloat16
        return np.asarray((plain.float() if plain.dtype.itemsize == 2 and plain.is_floating_point() else plain).numpy())

    return {str(name): array(value) for name, value in state.items()}


def _write_pt(state: State, header: str) -> bytes:
    torch = load_extra("torch")
    buffer = io.BytesIO()
    # a copy: torch warns about arrays that cannot be written to
    tensors = {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
    torch.save({"state": tensors, _KEY: header}, buffer)
    return buffer.getvalue()


def _read_pt(source: Path) -> tuple[State, str | None, str]:
    torch = load_extra("torch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it says of files with code, the error says too
            found = torch.load(source, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise InvalidRelease(
            f"{source} holds code or objects besides numbers and was not opened; save the model's state_dict() alone"
        ) from None
    except Exception as error:  # torch raises of all kinds on files that are not its own
        raise InvalidRelease(f"{source} is no model file that torch can read ({type(error).__name__})") from None
    text = found.get(_KEY) if isinstance(found, dict) else None
    state = found["state"] if isinstance(text, str) and "state" in found else found
    if not (isinstance(state, dict) and all(torch.is_tensor(value) for value in state.values())):
        raise InvalidRelease(f"{source} is no state dict: it must map names to tensors; save the model's state_dict()")
    size = source.stat().st_size
    if any(value.numel() * value.element_size() > size for value in state.values() if not value.is_sparse):
        raise InvalidRelease(f"{source} holds a tensor larger than the file: it repeats numbers; save contiguous ones")
    return _plain(source, state), text if isinstance(text, str) else None, ""


def _plain(source: Path, state: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    try:
        return arrays_of(state)
    except (TypeError, NotImplementedError, RuntimeError) as error:  # sparse, quantized, of 8 bits, without numbers
        raise InvalidRelease(f"{source} must hold dense tensors of ordinary numbers: {error}") from None


def _write_safetensors(state: State, header: str) -> bytes:
    save = load_extra("safetensors.numpy").save
    content: bytes = save({name: np.ascontiguousarray(value) for name, value in state.items()}, metadata={_KEY: header})
    return content


def _read_safetensors(source: Path) -> tuple[State, str | None, str]:
    safetensors = load_extra("safetensors")
    try:
        with safetensors.safe_open(source, framework="pt") as file:
            state = _plain(source, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 - no mapping
            text = (file.metadata() or {}).get(_KEY)
    except safetensors.SafetensorError as error:
        raise InvalidRelease(f"{source} is no safetensors file: {error}") from None
    return state, text, ""


def _write_onnx(state: State, header: str) -> bytes:
    return write_graph(network_from_state(state), metadata={_KEY: header})


def _read_onnx(source: Path) -> tuple[State, str | None, str]:
    graph = read_graph(source)
    return graph.state, graph.metadata.get(_KEY), NETWORK if graph.is_network else OTHER


_WRITERS = {".pt": _write_pt, ".pth": _write_pt, ".safetensors": _write_safetensors, ".onnx": _write_onnx}
_READERS = {".pt": _read_pt, ".pth": _read_pt, ".safetensors": _read_safetensors, ".onnx": _read_onnx}
