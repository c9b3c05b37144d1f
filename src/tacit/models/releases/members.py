"""What a model file holds: parameters as numbers in one of three formats, or a pickle that opens only on trust."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from abc import abstractmethod
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np

from tacit.data.learned import LearnedModel
from tacit.models.layers import LinearLayers, ModelState
from tacit.models.points import Floats
from tacit.models.releases import onnx_graph, state_files
from tacit.privacy.bounded_json import parse_json
from tacit.privacy.errors import InvalidInput, InvalidRelease
from tacit.privacy.releases.members import Facts, ReleaseMember, Seal

__all__ = ["EstimatorMember", "ModelMember", "NumbersMember", "OnnxMember", "SafetensorsMember", "TorchMember"]

_LEAST = 2.0**-53  # probabilities below count as this, so that logits are finite


class ModelMember(ReleaseMember):
    """A trained model that answers rows."""

    endings: ClassVar[tuple[str, ...]]

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """What the outputs represent, where the file itself says it."""
        return None

    @property
    def table_model(self) -> LearnedModel | None:
        """The model that a learn command wrote, which takes rows of a table; None of any other."""
        return None

    @property
    def layers(self) -> LinearLayers:
        """The linear layers that the model is, or an error that says why it is none."""
        raise InvalidInput("the model is not a homogeneous two-layer ReLU network; attack it with method loss")

    def open(self) -> Any:  # noqa: ANN401
        """Open what only trust may open; numbers are open."""

    @abstractmethod
    def outputs(self, X: Floats, *, black_box: bool) -> Floats:
        """Return the model's outputs for encoded rows, one column per output."""

    def logits(self, X: Floats, *, classes: int, black_box: bool = False) -> Floats:
        """Return a logit per class for encoded rows; of a single output, 0 and that output."""
        found = self.outputs(X, black_box=black_box)
        if found.shape[1] == 1:
            return np.column_stack([np.zeros(len(found)), found[:, 0]])
        unseen = max(0, classes - found.shape[1])  # classes that no training row had
        return np.pad(found, ((0, 0), (0, unseen)), constant_values=np.log(_LEAST))

    @abstractmethod
    def as_kind(self, kind: type[ModelMember]) -> ModelMember:
        """Return the same model for a file of another kind, or raise."""


class NumbersMember(ModelMember):
    """Parameters by name."""

    def __init__(self, state: ModelState) -> None:
        self.state = {name: np.ascontiguousarray(value) for name, value in state.items()}

    @property
    def layers(self) -> LinearLayers:
        """The linear layers that the parameters are, or an error that says why they are none."""
        return LinearLayers.of_state(self.state)

    def outputs(self, X: Floats, *, black_box: bool) -> Floats:  # noqa: ARG002
        """Return the outputs of the layers."""
        return self.layers(X)

    def as_kind(self, kind: type[ModelMember]) -> ModelMember:
        """Return the numbers for another format."""
        if not issubclass(kind, NumbersMember):
            raise InvalidInput(f"must end in {_listed(_NUMBERS)}: this model is numbers, not a pickle", field="out")
        return kind(self.state)

    def save(self, file: BinaryIO, seal: Seal | None) -> Facts:
        """Write the parameters with their header."""
        facts = {"kind": self.kind, "sha256": self._digest()}
        file.write(self._encode(None if seal is None else json.dumps(dict(seal(facts)))))
        return facts

    @classmethod
    def load(cls, path: Path) -> tuple[Self, object]:
        """Read parameters and the header, without running anything in the file."""
        member, text = cls._decode(path)
        if not member.state or not all(value.dtype.kind in "biuf" for value in member.state.values()):
            raise InvalidRelease(f"{path} has no parameters; save the model's state dict")
        try:
            return member, None if text is None else parse_json(text)
        except ValueError as error:
            raise InvalidRelease(f"{path} has a damaged header: {error}") from None

    def check(self, facts: Facts, *, source: str) -> None:
        """Compare the numbers with their digest."""
        if self._digest() != facts.get("sha256"):
            raise InvalidRelease(f"{source} has a bad checksum: its numbers were changed or damaged")

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for name in sorted(self.state):  # some formats do not keep the order
            value = self.state[name]
            digest.update(f"{name}|{value.dtype.str}|{value.shape}|".encode() + value.tobytes())
        return digest.hexdigest()

    @abstractmethod
    def _encode(self, header: str | None) -> bytes: ...

    @classmethod
    @abstractmethod
    def _decode(cls, path: Path) -> tuple[Self, str | None]: ...


class SafetensorsMember(NumbersMember):
    """Parameters in a safetensors file."""

    kind = "safetensors"
    endings = (".safetensors",)

    def _encode(self, header: str | None) -> bytes:
        return state_files.write_safetensors(self.state, header)

    @classmethod
    def _decode(cls, path: Path) -> tuple[Self, str | None]:
        state, text = state_files.read_safetensors(path)
        return cls(state), text


class TorchMember(NumbersMember):
    """Parameters in a torch state dict."""

    kind = "pt"
    endings = (".pt", ".pth")

    def _encode(self, header: str | None) -> bytes:
        return state_files.write_torch(self.state, header)

    @classmethod
    def _decode(cls, path: Path) -> tuple[Self, str | None]:
        state, text = state_files.read_torch(path)
        return cls(state), text


class OnnxMember(NumbersMember):
    """Parameters in an ONNX graph, which is read as linear layers only if that is what it is.

    ``content`` is the file, where the model was read from one: it can be run.
    """

    kind = "onnx"
    endings = (".onnx",)

    def __init__(self, state: ModelState, *, content: bytes | None = None, is_layers: bool = True) -> None:
        super().__init__(LinearLayers.of_state(state).state if content is None else state)
        self._content, self._is_layers = content, is_layers

    @property
    def layers(self) -> LinearLayers:
        """The linear layers that the graph is, or an error."""
        if not self._is_layers:
            raise InvalidInput(
                "the network is not a homogeneous two-layer ReLU network: its graph is not only linear layers "
                "with ReLU between them; attack it as a black box"
            )
        return super().layers

    def outputs(self, X: Floats, *, black_box: bool) -> Floats:
        """Return the outputs; as a black box, by running the graph."""
        if self._content is None or (self._is_layers and not black_box):
            return super().outputs(X, black_box=black_box)
        found = onnx_graph.run_graph(self._content, X)
        return found.reshape(len(X), -1)

    def _encode(self, header: str | None) -> bytes:
        return onnx_graph.write_graph(self.layers, header=header)

    @classmethod
    def _decode(cls, path: Path) -> tuple[Self, str | None]:
        graph = onnx_graph.read_graph(path)
        return cls(graph.state, content=graph.content, is_layers=graph.is_layers), graph.header


class EstimatorMember(ModelMember):
    """A fitted scikit-learn estimator: a joblib file that ends in its header, as Parquet does.

    Opening a pickle runs the code in it, so it stays closed until :meth:`open` is called. The classes of an estimator
    that tacit fitted are codes; of one from elsewhere they are labels, and its outputs are in their order.
    """

    kind = "joblib"
    endings = (".joblib",)

    def __init__(self, content: bytes, *, coded: bool = True) -> None:
        self._content, self._coded = content, coded
        self._estimator: Any = None

    @classmethod
    def of_estimator(cls, estimator: Any) -> EstimatorMember:  # noqa: ANN401
        """Return the member of an estimator in memory."""
        import joblib

        buffer = io.BytesIO()
        joblib.dump(estimator, buffer)
        return cls(buffer.getvalue())

    def open(self) -> Any:  # noqa: ANN401
        """Return the estimator; anyone who calls this trusts the file."""
        if self._estimator is None:
            import joblib

            try:
                self._estimator = joblib.load(io.BytesIO(self._content))
            except Exception as error:  # whatever the pickle or its modules raise
                raise InvalidRelease(f"the pickle cannot be opened: {type(error).__name__}: {error}") from error
        return self._estimator

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The labels of an estimator from elsewhere; None if its classes are codes, or it is closed."""
        if self._coded or self._estimator is None:
            return None
        return tuple(np.asarray(_with_classes(self._estimator).classes_).tolist())

    @property
    def table_model(self) -> LearnedModel | None:
        """The model that a learn command wrote, which takes rows of a table; None of any other."""
        return self._opened if isinstance(self._opened, LearnedModel) else None

    @property
    def _opened(self) -> Any:  # noqa: ANN401
        if self._estimator is None:
            raise InvalidRelease(
                "the release is a pickle, and opening it runs the code in it: read it with trust=True (--trust) if you "
                "know who made it"
            )
        return self._estimator

    def outputs(self, X: Any, *, black_box: bool) -> Floats:  # noqa: ANN401, ARG002
        """Return logarithms of the probabilities; the member must have been opened."""
        model = _with_classes(self._opened)
        given = np.asarray(model.predict_proba(X))
        codes = np.asarray(model.classes_, dtype=np.int64) if self._coded else np.arange(given.shape[1])
        found = np.zeros((len(given), codes.max() + 1))
        found[:, codes] = given
        return np.asarray(np.log(np.maximum(found, _LEAST)))

    def as_kind(self, kind: type[ModelMember]) -> ModelMember:
        """Return the pickle; there is no other kind of file for it."""
        if kind is not EstimatorMember:
            raise InvalidInput("must end in .joblib: only a pickle holds this estimator", field="out")
        return self

    def save(self, file: BinaryIO, seal: Seal | None) -> Facts:
        """Write the pickle, then the header and its length."""
        facts = {"kind": self.kind, "sha256": hashlib.sha256(self._content).hexdigest()}
        header = b"" if seal is None else json.dumps(dict(seal(facts))).encode()
        file.write(self._content + header + struct.pack("<Q", len(header)) + _MAGIC)
        return facts

    @classmethod
    def load(cls, path: Path) -> tuple[Self, object]:
        """Read the header; the pickle stays closed."""
        content = path.read_bytes()
        if not content.endswith(_MAGIC):
            return cls(content, coded=False), None
        end = len(content) - len(_MAGIC) - 8
        try:
            (size,) = struct.unpack_from("<Q", content, max(end, 0))
            return cls(content[: max(end - size, 0)]), parse_json(content[max(end - size, 0) : end])
        except (ValueError, struct.error) as error:
            raise InvalidRelease(f"{path} has a damaged header: {error}") from None

    def check(self, facts: Facts, *, source: str) -> None:
        """Compare the pickle with its digest."""
        if hashlib.sha256(self._content).hexdigest() != facts.get("sha256"):
            raise InvalidRelease(f"{source} has a bad checksum: it was changed or damaged since it was written")


_MAGIC = b"TACIT2"


def _with_classes(model: Any) -> Any:  # noqa: ANN401
    """Return a model, or raise if it gives no probabilities of classes."""
    if hasattr(model, "classes_") and hasattr(model, "predict_proba"):
        return model
    raise InvalidRelease(
        f"the pickle must be a model with predict_proba and classes_, got {type(model).__name__}: a model of numbers "
        "has no probabilities to evaluate or attack"
    )


_NUMBERS: tuple[type[ModelMember], ...] = (SafetensorsMember, TorchMember, OnnxMember)


def _listed(kinds: tuple[type[ModelMember], ...]) -> str:
    return ", ".join(ending for kind in kinds for ending in kind.endings)
