"""Model files that hold numbers and a promise, never code: state dicts (.pt), .safetensors and .onnx."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.models.network import TwoLayerReLU
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.extras import load_extra
from tacit.privacy.files import check_writable, write_atomically
from tacit.privacy.guarantee import NoGuarantee, Promise, promise_from_json

if TYPE_CHECKING:
    import torch

__all__ = ["SUFFIXES", "ModelRelease", "check_model_path", "network_from_state", "read_model"]

SUFFIXES = (".pt", ".pth", ".safetensors", ".onnx")
"""Names of model files end in one of these."""

NETWORK = "two_layer_relu"
_VERSION = 1
_KEY = "tacit_model"

State = Mapping[str, NDArray[Any]]


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
        ``two_layer_relu``, or empty where the file does not say.

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
        return cls(state=_arrays(module.state_dict()), guarantee=guarantee, mechanism=mechanism, seeded=seeded)

    @property
    def network(self) -> TwoLayerReLU:
        """The two-layer ReLU network that the state is, or an error that says why it is not one."""
        return network_from_state(self.state)

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the file its name asks for, whole or not at all; the promise stands in it.

        Examples
        --------
        >>> ModelRelease.write.__name__
        'write'
        """
        check_model_path(path, force=force)
        content = _WRITERS[Path(path).suffix](self, json.dumps(self._header()))
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

    A file of another origin has an explicit "no guarantee".

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
        raise InvalidRelease(f"{source} must end in {', '.join(SUFFIXES)}: no other kind of model file is read")
    state, text, architecture = _READERS[source.suffix](source)
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
    return _checked(source, state, text)


def network_from_state(state: State) -> TwoLayerReLU:
    """Read parameters as Phi(x) = sum_j v_j max(0, w_j . x + b_j), or say why they are not such a network.

    Two layers ``NAME.weight`` and ``NAME.bias`` of shapes (width, features) and (width,), then (1, width). An output
    bias makes the network not homogeneous unless it is 0. A state dict does not say its activation: ReLU is assumed.

    Examples
    --------
    >>> layers = {"0.weight": np.eye(2), "0.bias": np.ones(2), "2.weight": np.ones((1, 2)), "2.bias": np.array([0.3])}
    >>> network_from_state(layers)
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: the network is not homogeneous: it has an output bias 0.3; train it without one
    (bias=False in the last layer)
    """
    layers: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name in sorted(state):  # some kinds of file do not keep the order
        prefix, _, last = name.rpartition(".")
        layers.setdefault(prefix, {})[last] = np.asarray(state[name], dtype=np.float64)
    parts = list(layers.values())
    for hidden, output in itertools.permutations(parts, 2) if len(parts) == 2 else ():
        if _fit(hidden, output):
            bias = float(output.get("bias", np.zeros(1))[0])
            if bias:
                raise InvalidInput(
                    f"the network is not homogeneous: it has an output bias {bias:g}; train it without one "
                    "(bias=False in the last layer)"
                )
            return TwoLayerReLU(weights=hidden["weight"], biases=hidden["bias"], outputs=output["weight"][0])
    shapes = [str(np.shape(value)) for value in state.values()]
    raise InvalidInput(
        "the network is not a homogeneous two-layer ReLU network (hidden weights, hidden biases, one output without "
        f"bias): it has parameters of shapes {', '.join(shapes[:6])}{', ...' if len(shapes) > 6 else ''}"
    )


def _fit(hidden: Mapping[str, NDArray[np.float64]], output: Mapping[str, NDArray[np.float64]]) -> bool:
    """Say whether these are a hidden layer with biases and a layer of one output on top of it."""
    if set(hidden) != {"weight", "bias"} or not {"weight"} <= set(output) <= {"weight", "bias"}:
        return False
    if hidden["weight"].ndim != 2 or output["weight"].shape != (1, len(hidden["weight"])):
        return False
    return hidden["bias"].shape == (len(hidden["weight"]),) and output.get("bias", np.zeros(1)).shape == (1,)


def _checked(source: Path, state: State, text: str) -> ModelRelease:
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
            architecture=header["architecture"],
        )
    except (ValueError, KeyError, TypeError, AttributeError, InvalidInput) as error:
        raise InvalidRelease(f"{source} has an incomplete header: {error}") from None


def _checksum(header: Mapping[str, Any], state: State) -> str:
    """Over header and numbers: a promise cannot be edited apart from what it is about."""
    try:
        digest = hashlib.sha256(json.dumps(header, sort_keys=True, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"mechanism must be plain JSON (no NaN, no objects): {error}") from None
    for name in sorted(state):
        value = np.ascontiguousarray(state[name])
        digest.update(f"{name}|{value.dtype.str}|{value.shape}|".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()


def _arrays(state: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    def array(value: Any) -> NDArray[Any]:  # noqa: ANN401
        plain = value.detach().cpu()
        # NumPy has no bfloat16
        return np.asarray((plain.float() if plain.dtype.itemsize == 2 and plain.is_floating_point() else plain).numpy())

    return {str(name): array(value) for name, value in state.items()}


def _write_pt(release: ModelRelease, header: str) -> bytes:
    torch = load_extra("torch")
    buffer = io.BytesIO()
    # a copy: torch warns about arrays that cannot be written to
    state = {name: torch.from_numpy(np.array(value)) for name, value in release.state.items()}
    torch.save({"state": state, _KEY: header}, buffer)
    return buffer.getvalue()


def _read_pt(source: Path) -> tuple[State, str | None, str]:
    torch = load_extra("torch")
    import pickle
    import warnings

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
    return _arrays(state), text if isinstance(text, str) else None, ""


def _write_safetensors(release: ModelRelease, header: str) -> bytes:
    save = load_extra("safetensors.numpy").save
    content: bytes = save(
        {name: np.ascontiguousarray(value) for name, value in release.state.items()}, metadata={_KEY: header}
    )
    return content


def _read_safetensors(source: Path) -> tuple[State, str | None, str]:
    safetensors = load_extra("safetensors")
    try:
        with safetensors.safe_open(source, framework="pt") as file:
            state = _arrays({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 - no mapping
            text = (file.metadata() or {}).get(_KEY)
    except safetensors.SafetensorError as error:
        raise InvalidRelease(f"{source} is no safetensors file: {error}") from None
    return state, text, ""


def _write_onnx(release: ModelRelease, header: str) -> bytes:
    from tacit.models.onnx_graph import write_graph

    return write_graph(release.network, metadata={_KEY: header})


def _read_onnx(source: Path) -> tuple[State, str | None, str]:
    from tacit.models.onnx_graph import read_graph

    graph = read_graph(source)
    return graph.state, graph.metadata.get(_KEY), NETWORK if graph.is_network else ""


_WRITERS = {".pt": _write_pt, ".pth": _write_pt, ".safetensors": _write_safetensors, ".onnx": _write_onnx}
_READERS = {".pt": _read_pt, ".pth": _read_pt, ".safetensors": _read_safetensors, ".onnx": _read_onnx}
