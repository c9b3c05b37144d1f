"""Model files that hold numbers and a promise, never code: state dicts (.pt), .safetensors and .onnx."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.models.network import TwoLayerReLU
from tacit.models.releases.formats import NETWORK, OTHER, SUFFIXES, State, arrays_of, decode_model, encode_model
from tacit.models.releases.state import network_from_state
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.files import check_writable, write_atomically
from tacit.privacy.guarantee import NoGuarantee, Promise, promise_from_json

if TYPE_CHECKING:
    import torch

__all__ = ["ModelRelease", "check_model_path", "read_model"]

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelRelease:
    """A model's numbers as they leave, with what is promised about its training data.

    Parameters
    ----------
    state
        Name and values of each parameter.
    guarantee
        The promise, or an explicit none with its reason.
    mechanism
        How it was trained, in public terms: a name, the feature columns, the classes.
    seeded
        Whether noise came from a seeded generator.
    architecture
        ``two_layer_relu``, ``other`` for an ONNX graph of another kind, or empty where the file does not say.

    Examples
    --------
    >>> import tempfile
    >>> network = TwoLayerReLU(weights=[[1.0, 2.0]], biases=[0.5], outputs=[3.0])
    >>> made = ModelRelease.of_network(network, guarantee=NoGuarantee(reason="trained to the margin"),
    ...                                mechanism={"name": "margin"}, seeded=False)
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> made.write(path)
    >>> back = read_model(path)
    >>> print(back)
    model by margin: no guarantee: trained to the margin
    >>> back.network.weights
    array([[1., 2.]])
    """

    state: State
    guarantee: Promise
    mechanism: Mapping[str, Any]
    seeded: bool
    architecture: str = ""

    def __post_init__(self) -> None:
        if "name" not in self.mechanism:
            raise InvalidInput(f"mechanism must have a name, got {dict(self.mechanism)!r}")

    @classmethod
    def of_network(
        cls, network: TwoLayerReLU, *, guarantee: Promise, mechanism: Mapping[str, Any], seeded: bool
    ) -> ModelRelease:
        """Return a two-layer ReLU network as a release.

        Examples
        --------
        >>> network = TwoLayerReLU(weights=[[1.0]], biases=[0.5], outputs=[3.0])
        >>> sorted(ModelRelease.of_network(network, guarantee=NoGuarantee(reason="exact"),
        ...                                mechanism={"name": "margin"}, seeded=False).state)
        ['hidden.bias', 'hidden.weight', 'output.weight']
        """
        state = {
            "hidden.weight": network.weights,
            "hidden.bias": network.biases,
            "output.weight": network.outputs[None, :],
        }
        return cls(state=state, guarantee=guarantee, mechanism=mechanism, seeded=seeded, architecture=NETWORK)

    @classmethod
    def of_module(
        cls, module: torch.nn.Module, *, guarantee: Promise, mechanism: Mapping[str, Any], seeded: bool
    ) -> ModelRelease:
        """Return a torch module's state dict as a release; its code stays where it is.

        Examples
        --------
        >>> import torch
        >>> made = ModelRelease.of_module(torch.nn.Linear(2, 1), guarantee=NoGuarantee(reason="exact"),
        ...                               mechanism={"name": "sgd"}, seeded=False)
        >>> made.state["weight"].shape
        (1, 2)
        """
        return cls(state=arrays_of(module.state_dict()), guarantee=guarantee, mechanism=mechanism, seeded=seeded)

    @property
    def network(self) -> TwoLayerReLU:
        """The two-layer ReLU network that the state is, or an error that says why it is not one."""
        if self.architecture == OTHER:
            raise InvalidInput(
                "the network is not a homogeneous two-layer ReLU network: its graph is another one than linear, ReLU, "
                "linear; ask it as a black box"
            )
        return network_from_state(self.state)

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the file its name asks for, whole or not at all; the promise stands in it.

        Examples
        --------
        >>> ModelRelease.write.__name__
        'write'
        """
        check_model_path(path, force=force)
        content = encode_model(Path(path).suffix, self.state, header=json.dumps(self._header()))
        with write_atomically(path, force=force) as file:
            file.write(content)

    def _header(self) -> dict[str, Any]:
        header = {
            "version": _VERSION,
            "architecture": self.architecture,
            "mechanism": dict(self.mechanism),
            "seeded": self.seeded,
            "guarantee": self.guarantee.to_json(),
        }
        return {**header, "checksum": _checksum(header, self.state)}

    def __str__(self) -> str:
        warning = "; seeded, so the noise hides nothing from who knows the seed" if self.seeded else ""
        return f"model by {self.mechanism['name']}: {self.guarantee}{warning}"


def check_model_path(path: str | Path, *, force: bool = False) -> None:
    """Raise as :meth:`ModelRelease.write` would, before anything is trained or charged.

    Examples
    --------
    >>> check_model_path("model.pkl")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: model.pkl must end in .pt, .pth, .safetensors, .onnx: no other kind of model
    file is read or written
    """
    if Path(path).suffix not in SUFFIXES:
        raise InvalidInput(f"{path} must end in {', '.join(SUFFIXES)}: no other kind of model file is read or written")
    check_writable(path, force=force)


def read_model(path: str | Path) -> ModelRelease:
    """Read a model file without running anything in it, and check what tacit wrote: version, checksum, promise.

    A file of another origin has an explicit "no guarantee". The checksum finds damage and careless edits. It is not a
    signature: who rewrites the file can write any promise into it with a fitting checksum, so believe a promise as far
    as you trust where the file came from.

    Raises
    ------
    InvalidRelease
        With one sentence: missing, of another kind, with code in it, or changed since it was written.

    Examples
    --------
    >>> read_model("missing.pt")
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidRelease: missing.pt does not exist
    """
    source = Path(path)
    if not source.is_file():
        raise InvalidRelease(f"{source} does not exist")
    if source.suffix not in SUFFIXES:
        raise InvalidRelease(
            f"{source} must end in {', '.join(SUFFIXES)}: no other kind of model file is read; of any model its losses "
            "on rows can be attacked"
        )
    state, text, architecture = decode_model(source)
    if not state or not all(value.dtype.kind in "biuf" for value in state.values()):
        raise InvalidRelease(f"{source} holds no parameters; save the model's state dict")
    if text is None:
        return ModelRelease(
            state=state,
            guarantee=NoGuarantee(reason="the file does not say how the model was trained"),
            mechanism={"name": "unknown"},
            seeded=False,
            architecture=architecture,
        )
    return _checked(source, state, text, architecture)


def _checked(source: Path, state: State, text: str, architecture: str) -> ModelRelease:
    try:
        header = json.loads(text)
        if header.get("version") != _VERSION:
            raise InvalidRelease(f"{source} is of version {header.get('version')!r}; this tacit reads {_VERSION}")
        stated = header.pop("checksum", None)
        if stated != _checksum(header, state):
            raise InvalidRelease(f"{source} has a bad checksum: it was changed or damaged since it was written")
        return ModelRelease(
            state=state,
            guarantee=promise_from_json(header["guarantee"]),
            mechanism=header["mechanism"],
            seeded=header["seeded"],
            architecture=architecture or header["architecture"],  # what the graph shows goes first
        )
    except (ValueError, KeyError, TypeError, AttributeError, InvalidInput) as error:
        raise InvalidRelease(f"{source} has an incomplete header: {error}") from None


def _checksum(header: Mapping[str, Any], state: State) -> str:
    """Over header and numbers: neither is edited by mistake without the other; no signature, anyone can compute it."""
    try:
        digest = hashlib.sha256(json.dumps(header, sort_keys=True, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"mechanism must be plain JSON (no NaN, no objects): {error}") from None
    for name in sorted(state):
        value = np.ascontiguousarray(state[name])
        digest.update(f"{name}|{value.dtype.str}|{value.shape}|".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()
