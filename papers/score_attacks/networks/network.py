"""A submission that must be a model: ordinary-looking networks that answer with chosen predictions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from papers.score_attacks.networks.row_hash import Floats, RowHash, feature_table
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra
from tacit.privacy.files import write_atomically
from tacit.privacy.rounding import check_count

if TYPE_CHECKING:
    import torch

__all__ = ["LinearLayer", "MutatorNetwork"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearLayer:
    """One linear layer: x @ weights + bias."""

    weights: Floats
    bias: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MutatorNetwork:
    """A feed-forward network of linear and ReLU layers whose outputs are the predictions an attack asks for.

    Two forms. :meth:`for_whole_set` gives the wanted predictions whatever its input is (the paper's network):
    it defeats a host that hands over the whole set as one input. :meth:`for_rows` recognizes each row by its
    features: it defeats a host that scores row by row, in any order and batch, and whose features are public.
    Weights are NumPy arrays; :meth:`to_torch` and :meth:`write_onnx` make what is submitted.

    Parameters
    ----------
    classes
        Numbers in a prediction row, by a softmax. For two classes the paper has one number by a sigmoid; a softmax of
        two is the same, and keeps small probabilities where a runtime's sigmoid loses them (onnxruntime's does).

    References
    ----------
    Aggarwal et al. (2021), Appendix G, equation (12) and Theorem 9.
    """

    layers: tuple[LinearLayer, ...]
    classes: int
    rows: int | None

    @classmethod
    def for_whole_set(
        cls,
        predictions: ArrayLike,
        *,
        features: int,
        rng: np.random.Generator,
        width: int = 16,
        dtype: type[np.floating[Any]] = np.float64,
    ) -> MutatorNetwork:
        """Return a network that answers with ``predictions`` whatever the features are.

        A ReLU layer makes its values >= 0, and the next one has negative weights only: nothing passes it, and the last
        layer's bias is the answer. The paper's two layers need inputs >= 0 for that; with the layer before them it
        holds for every input. It needs no knowledge of the features. A host that feeds it one row at a time (build it
        with one row of predictions) reveals to the attacker only how many labels each class has.

        Parameters
        ----------
        predictions
            (rows,) probabilities of class 1, or (rows, classes) whose rows sum to 1.

        References
        ----------
        Aggarwal et al. (2021), Theorem 9, which as printed needs inputs >= 0.
        """
        logits = _logits(predictions, dtype=dtype)
        inputs = len(logits) * check_count(features, name="features")
        width = check_count(width, name="width")
        ordinary = LinearLayer(weights=_draw((inputs, width), rng), bias=_draw((width,), rng))
        dead = LinearLayer(weights=-np.abs(_draw((width, width), rng)), bias=-np.abs(_draw((width,), rng)))
        last = LinearLayer(weights=_draw((width, logits.size), rng), bias=logits.ravel())
        layers = _cast((ordinary, dead, last), dtype)
        return cls(layers=layers, classes=logits.shape[1], rows=len(logits))

    @classmethod
    def for_rows(
        cls,
        rows: ArrayLike,
        predictions: ArrayLike,
        *,
        rng: np.random.Generator,
        width: int = 64,
        dtype: type[np.floating[Any]] = np.float64,
    ) -> MutatorNetwork:
        """Return a network that answers each of ``rows`` with its prediction, and anything else with 1/K or near it.

        The first layer hashes: each of its ReLUs is silent (exactly 0) on some rows and at least 1 on the others, by
        a threshold in a gap of a random projection. The second layer has a unit for each row asked about (prediction
        other than 1/K) that subtracts every first-layer unit silent on that row from 1: it is exactly 1 on that
        row and exactly 0 on every other one, so the last layer's sum is exact in any dtype and order of summation.
        First-layer units are added until no two rows collide.

        Parameters
        ----------
        rows
            The host's features, (rows, features). Equal rows must have equal predictions: a network cannot tell them
            apart, so it can ask about each distinct row once.
        dtype
            Of the weights, hence of the network; rows are recognized as they are in this dtype.
        """
        asked = (_logits(predictions, dtype=dtype) != 0).any(axis=1)
        asked[0] |= not asked.any()  # a network needs one unit, even if it asks nothing
        hashed = RowHash.of(rows, rng=rng, asked=asked, width=width, dtype=dtype)
        return cls.for_hash(hashed, predictions)

    @classmethod
    def for_hash(cls, hashed: RowHash, predictions: ArrayLike) -> MutatorNetwork:
        """Return the network of :meth:`for_rows` on a first layer that many queries share."""
        dtype = hashed.weights.dtype.type
        logits = _by_distinct_row(_logits(predictions, dtype=dtype), hashed.place)
        asked = np.flatnonzero((logits != 0).any(axis=1))
        if not asked.size:
            asked = np.flatnonzero(hashed.asked)[:1]
        first = LinearLayer(weights=hashed.weights, bias=hashed.bias)
        select = LinearLayer(weights=-hashed.strengths(asked), bias=np.ones(len(asked)))
        last = LinearLayer(weights=logits[asked], bias=np.zeros(logits.shape[1]))
        return cls(layers=_cast((first, select, last), dtype), classes=logits.shape[1], rows=None)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The floating-point type the network computes in."""
        return self.layers[0].weights.dtype

    def predict(self, features: ArrayLike) -> Floats:
        """Return the network's predictions, (rows, classes)."""
        values = feature_table(features, dtype=self.dtype.type)
        if self.rows is not None:
            values = values.reshape(1, -1)
        if values.shape[1] != len(self.layers[0].weights):
            raise InvalidInput(
                f"must be {len(self.layers[0].weights)} numbers per input, got {values.shape[1]}", field="features"
            )
        for layer in self.layers[:-1]:
            values = np.maximum(values @ layer.weights + layer.bias, 0)
        logits = values @ self.layers[-1].weights + self.layers[-1].bias
        return np.asarray(softmax(logits.reshape(-1, self.classes), axis=1))

    def to_torch(self) -> torch.nn.Module:
        """Return the network as a ``torch.nn.Sequential`` in evaluation mode."""
        library = load_extra("torch")
        nn = library.nn
        parts: list[Any] = [] if self.rows is None else [nn.Flatten(start_dim=0)]
        for layer in self.layers:
            linear = nn.Linear(*layer.weights.shape, dtype=getattr(library, self.dtype.name))
            with library.no_grad():
                linear.weight.copy_(library.from_numpy(layer.weights.T.copy()))
                linear.bias.copy_(library.from_numpy(layer.bias))
            parts += [linear, nn.ReLU()]
        parts.pop()
        if self.rows is not None:
            parts.append(nn.Unflatten(0, (self.rows, self.classes)))
        module: torch.nn.Module = nn.Sequential(*parts, nn.Softmax(dim=-1)).eval()
        return module

    def to_onnx(self) -> bytes:
        """Return the network as a serialized ONNX model: Gemm, Relu and Softmax.

        The whole-set form has a Reshape at each end, and its first axis is fixed to the number of rows.
        """
        return _onnx_bytes(self)

    def write_onnx(self, path: str | Path, *, force: bool = False) -> None:
        """Write the network as an ONNX file; an existing file is rejected unless ``force``."""
        model = self.to_onnx()
        with write_atomically(path, force=force) as file:
            file.write(model)


def _logits(predictions: ArrayLike, *, dtype: type[np.floating[Any]]) -> Floats:
    """Return (rows, classes) logits, 0 for 1/K; a probability of 0 becomes a logit whose exponential underflows."""
    p = np.asarray(predictions, dtype=np.float64)
    if p.ndim not in (1, 2) or p.size == 0 or not ((p >= 0) & (p <= 1)).all():
        raise InvalidInput(
            f"must be probabilities, (rows,) or (rows, classes), got shape {p.shape}", field="predictions"
        )
    if p.ndim == 2 and (p.shape[1] < 2 or np.abs(p.sum(axis=1) - 1).max() > 1e-6):
        raise InvalidInput("must have two columns at least, and rows that sum to 1", field="predictions")
    with np.errstate(divide="ignore"):
        if p.ndim == 1:
            logit = np.log(p) - np.log1p(-p)
            logits = np.stack([np.minimum(-logit, 0), np.minimum(logit, 0)], axis=1)
        else:
            logits = np.log(p / p.max(axis=1, keepdims=True))
    least = float(np.log(np.finfo(dtype).smallest_subnormal)) - 20
    return np.asarray(np.maximum(logits, least))


def _by_distinct_row(logits: Floats, place: NDArray[np.intp]) -> Floats:
    if len(place) != len(logits):
        raise InvalidInput(f"must be one for each of the {len(place)} rows, got {len(logits)}", field="predictions")
    _, first = np.unique(place, return_index=True)
    unequal = (logits != logits[first][place]).any(axis=1)
    if unequal.any():
        j = int(unequal.argmax())
        raise InvalidInput(
            f"must agree where features do: rows {first[place[j]]} and {j} are equal and ask for "
            f"different ones; ask about each distinct row once",
            field="predictions",
        )
    return logits[first]


def _draw(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Weights of the size that common initializations give."""
    return rng.normal(scale=np.sqrt(2 / shape[0]), size=shape)


def _cast(layers: tuple[LinearLayer, ...], dtype: type[np.floating[Any]]) -> tuple[LinearLayer, ...]:
    return tuple(LinearLayer(weights=layer.weights.astype(dtype), bias=layer.bias.astype(dtype)) for layer in layers)


def _onnx_bytes(network: MutatorNetwork) -> bytes:
    onnx = load_extra("onnx")
    helper, to_tensor = onnx.helper, onnx.numpy_helper.from_array
    weights: list[Any] = []
    nodes: list[Any] = []
    value = "features"

    def add(op: str, *constants: NDArray[Any], **options: int) -> None:
        nonlocal value
        names = [f"{op.lower()}_{len(nodes)}_{k}" for k in range(len(constants))]
        weights.extend(to_tensor(constant, name) for constant, name in zip(constants, names, strict=True))
        output = f"{op.lower()}_{len(nodes)}"
        nodes.append(helper.make_node(op, [value, *names], [output], name=output, **options))
        value = output

    if network.rows is not None:
        add("Reshape", np.array([1, -1]))
    for layer in network.layers:
        add("Gemm", layer.weights, layer.bias)
        add("Relu")
    nodes.pop()
    value = nodes[-1].output[0]
    if network.rows is not None:
        add("Reshape", np.array([network.rows, network.classes]))
    add("Softmax", axis=-1)
    kind = helper.np_dtype_to_tensor_dtype(network.dtype)
    batch: int | str = "batch" if network.rows is None else network.rows
    inputs = len(network.layers[0].weights) // (network.rows or 1)
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("features", kind, [batch, inputs])],
        [helper.make_tensor_value_info(value, kind, [batch, network.classes])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
