"""Two kinds of file that hold parameters by name and one text: torch state dicts and safetensors."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.models.layers import ModelState
from tacit.privacy.errors import InvalidRelease
from tacit.privacy.extras import load_extra
from tacit.privacy.folders import KEY

__all__ = ["arrays_of", "read_safetensors", "read_torch", "write_safetensors", "write_torch"]


def arrays_of(state: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return a torch state dict as NumPy arrays; plain dense numbers only."""

    def array(value: Any) -> NDArray[Any]:  # noqa: ANN401
        plain = value.detach().cpu()
        # NumPy has no bfloat16
        return np.asarray((plain.float() if plain.dtype.itemsize == 2 and plain.is_floating_point() else plain).numpy())

    return {str(name): array(value) for name, value in state.items()}


def write_torch(state: ModelState, header: str | None) -> bytes:
    """Return a file that ``torch.load`` opens with ``weights_only``."""
    torch = load_extra("torch")
    buffer = io.BytesIO()
    # a copy: torch warns about arrays that cannot be written to
    tensors = {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
    torch.save(tensors if header is None else {"state": tensors, KEY: header}, buffer)
    return buffer.getvalue()


def read_torch(source: Path) -> tuple[ModelState, str | None]:
    """Return the parameters of a state dict, and the text beside them; a file with code in it is not opened."""
    torch = load_extra("torch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it says of files with code, the error says too
            found = torch.load(source, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise InvalidRelease(
            f"{source} contains code or objects besides numbers and was not opened; save only the model's state_dict()"
        ) from None
    except Exception as error:  # torch raises of all kinds on files that are not its own
        raise InvalidRelease(f"{source} is no model file that torch can read ({type(error).__name__})") from None
    text = found.get(KEY) if isinstance(found, dict) else None
    state = found["state"] if isinstance(text, str) and "state" in found else found
    if not (isinstance(state, dict) and all(torch.is_tensor(value) for value in state.values())):
        raise InvalidRelease(f"{source} is no state dict: it must map names to tensors; save the model's state_dict()")
    size = source.stat().st_size
    if any(value.numel() * value.element_size() > size for value in state.values() if not value.is_sparse):
        raise InvalidRelease(f"{source} has a tensor larger than the file: it repeats numbers; save contiguous tensors")
    return _plain(source, state), text if isinstance(text, str) else None


def write_safetensors(state: ModelState, header: str | None) -> bytes:
    """Return a safetensors file with the header in its metadata."""
    save = load_extra("safetensors.numpy").save
    content: bytes = save(dict(state), metadata=None if header is None else {KEY: header})
    return content


def read_safetensors(source: Path) -> tuple[ModelState, str | None]:
    """Return the parameters of a safetensors file, and the text beside them."""
    safetensors = load_extra("safetensors")
    try:
        with safetensors.safe_open(source, framework="pt") as file:
            state = _plain(source, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 - no mapping
            text = (file.metadata() or {}).get(KEY)
    except safetensors.SafetensorError as error:
        raise InvalidRelease(f"{source} is no safetensors file: {error}") from None
    return state, text


def _plain(source: Path, state: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    try:
        return arrays_of(state)
    except (TypeError, NotImplementedError, RuntimeError) as error:  # sparse, quantized, of 8 bits, without numbers
        raise InvalidRelease(f"{source} must have dense tensors of ordinary numbers: {error}") from None
