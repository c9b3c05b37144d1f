"""The sub-models that an additive model is a sum of: what each sees, and of which shape it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tacit.privacy.errors import InvalidInput
from tacit.privacy.lazy import lazy_method

if TYPE_CHECKING:
    from torch import nn

    from tacit.bags.learners.part_networks import PartInputs

__all__ = ["MLP", "BoostedTrees", "FeatureCross", "ModelPart", "TorchModule", "check_parts"]


@dataclass(frozen=True, slots=True)
class ModelPart:
    """A sub-model f_j that sees only some columns, as the keys of the partition that it learns from show them.

    Parameters
    ----------
    columns
        What the sub-model sees; a numeric column that the partition cut at edges is seen as its bucket.
    by
        The columns of the partition to learn from, which must contain ``columns``; None takes the exact partition,
        or else the one with the fewest bags among those that contain them.

    References
    ----------
    Chen et al. (2023), Equation (4).
    """

    needs_torch: ClassVar[bool] = False
    """Whether the extra ``torch`` is needed to train it."""

    by_cell: ClassVar[bool] = False
    """Whether its network sees the cell of a row instead of the codes of its columns."""

    columns: tuple[str, ...]
    by: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("columns", "by"):
            given = getattr(self, name)
            if given is None:
                continue
            names = (given,) if isinstance(given, str) else tuple(given)
            if not names or len(set(names)) < len(names) or not all(isinstance(one, str) for one in names):
                raise InvalidInput(f"{name} of a part must be different column names, at least one, got {given!r}")
            object.__setattr__(self, name, names)

    def grower(self, _cells: Any, /) -> Any:  # noqa: ANN401
        """Return what grows the part's trees on its cells; None for a part of another shape."""
        return None

    def network(self, inputs: PartInputs) -> nn.Module:  # noqa: ARG002
        """Return a torch module from codes, or from cells, to one output per target."""
        raise InvalidInput(f"part {self} does not train by batches: use Lbfgs() for crosses and trees")

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.columns)})"


@dataclass(frozen=True, slots=True)
class FeatureCross(ModelPart):
    """A linear cross: one weight for each combination of values, that is an embedding table."""

    by_cell: ClassVar[bool] = True

    def network(self, inputs: PartInputs) -> nn.Module:
        """Return an output per cell, 0 at first."""
        return inputs.table()


@dataclass(frozen=True, slots=True)
class BoostedTrees(ModelPart):
    """Boosted decision trees on a few columns; splits and leaves come from bag totals, exactly as from labels.

    Parameters
    ----------
    rounds
        How many trees.
    depth
        Splits on a path at most.
    rate
        What share of a tree's step is taken.
    least_rows
        Rows in a leaf at least.

    References
    ----------
    Chen et al. (2023), Section 3: sub-models may be decision trees.
    """

    grower = lazy_method("tacit.bags.learners.forest", "ForestGrower")

    rounds: int = 50
    depth: int = 3
    rate: float = 0.1
    least_rows: int = 20

    def __post_init__(self) -> None:
        ModelPart.__post_init__(self)
        for name in ("rounds", "depth", "least_rows"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} of {self} must be >= 1, got {getattr(self, name)!r}")
        if not 0 < self.rate <= 1:
            raise InvalidInput(f"rate of {self} must be in (0, 1], got {self.rate!r}")


@dataclass(frozen=True, slots=True)
class MLP(ModelPart):
    """A multi-layer perceptron on embeddings of its columns; needs the extra ``torch``.

    Parameters
    ----------
    hidden
        Widths of the hidden layers.
    embedding
        Numbers that represent one value of a column.

    References
    ----------
    Chen et al. (2023), Section 5: each sub-model is a network with logits as output.
    """

    needs_torch: ClassVar[bool] = True

    hidden: tuple[int, ...] = (32,)
    embedding: int = 8

    def __post_init__(self) -> None:
        ModelPart.__post_init__(self)
        if self.embedding < 1 or any(width < 1 for width in self.hidden):
            raise InvalidInput(
                f"widths of {self} must be >= 1, got hidden={self.hidden} and embedding={self.embedding}"
            )

    def network(self, inputs: PartInputs) -> nn.Module:
        """Return the perceptron."""
        return inputs.perceptron(embedding=self.embedding, hidden=self.hidden)


@dataclass(frozen=True, slots=True)
class TorchModule(ModelPart):
    """Any torch module on the codes of its columns; parts that are given the same module share its parameters.

    Parameters
    ----------
    build
        Called once with the number of values of each column and the number of targets; returns a module that maps
        an int64 tensor of shape (rows, columns), codes from 0 (a value not seen in the bags) to the number of
        values, to a float tensor of shape (rows, targets). To share parameters, let two parts' ``build`` return
        modules that hold the same parameters, or the same module.

    Examples
    --------
    >>> def build(sizes, targets):
    ...     import torch
    ...     return torch.nn.Embedding(sizes[0] + 1, targets)
    >>> str(TorchModule(("city",), build=build))
    'TorchModule(city)'
    """

    needs_torch: ClassVar[bool] = True

    build: Callable[[Sequence[int], int], Any] | None = None

    def __post_init__(self) -> None:
        ModelPart.__post_init__(self)
        if not callable(self.build):
            raise InvalidInput(f"build of {self} must be a function that returns a torch module, got {self.build!r}")

    def network(self, inputs: PartInputs) -> nn.Module:
        """Return what ``build`` makes."""
        assert self.build is not None
        return inputs.checked(self.build(inputs.sizes, inputs.targets), name=str(self))


def check_parts(parts: Sequence[ModelPart]) -> tuple[ModelPart, ...]:
    """Return the parts as a tuple, refusing what is none."""
    if not parts:
        raise InvalidInput("must have at least one part, got none", field="parts")
    for part in parts:
        if not isinstance(part, ModelPart):
            raise InvalidInput(
                f"must be FeatureCross, BoostedTrees, MLP or TorchModule objects, got {part!r}", field="parts"
            )
    return tuple(parts)
