"""DP-SGD: train any torch module so that no record shows in it, charged before the first step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from tacit.models.mechanisms.dp_sgd import DpSgd
from tacit.models.plan import Plan
from tacit.models.releases.members import NumbersMember
from tacit.models.releases.release import Release
from tacit.models.releases.state_files import arrays_of
from tacit.models.trained import TrainedModel
from tacit.privacy.delivery import ReleaseRequest, deliver
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra
from tacit.privacy.guarantee import AnyGuarantee
from tacit.privacy.ledger import Receipt
from tacit.privacy.ledger.fingerprint import arrow_batches, list_column
from tacit.privacy.noise import is_seeded
from tacit.privacy.payment import Payment
from tacit.privacy.releases import ReleaseHeader

if TYPE_CHECKING:
    import torch

__all__ = ["PrivateModel", "train_dp_sgd"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateModel:
    """A trained module that may leave, and what is guaranteed about the records it was trained on.

    All of the module may be published, and so may every output, unless ``seeded``: noise and samples from a seeded
    generator are not private.

    Parameters
    ----------
    repeated
        Whether it is an earlier model that was paid for, delivered again.
    """

    module: torch.nn.Module
    guarantee: AnyGuarantee
    mechanism: Mapping[str, Any]
    seeded: bool
    receipt: Receipt | None = None
    repeated: bool = False

    def __str__(self) -> str:
        warning = "; seeded, so the noise hides nothing from anyone who knows the seed" if self.seeded else ""
        return f"model by {self.mechanism['name']}: {self.guarantee}{warning}"


def train_dp_sgd(
    module: torch.nn.Module,
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: float,
    delta: float,
    clip: float,
    epochs: float,
    batch_size: int,
    rng: np.random.Generator,
    learning_rate: float = DpSgd.learning_rate,
    make_optimizer: Callable[[Any], torch.optim.Optimizer] | None = None,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
    payment: Payment | None = None,
    table: object = None,
    progress: Callable[[int, int], None] | None = None,
) -> PrivateModel:
    """Train a copy of ``module`` by DP-SGD: sum_i clip(grad l_i) + N(0, s^2 clip^2), rows drawn by Poisson sampling.

    s is the least noise for which all steps together cost at most (epsilon, delta), by :func:`find_noise`.

    Unit: one record, its label included; neighbors have one record replaced. Opacus and most tools account for one
    record added or removed, which looks cheaper for the same noise. Assumptions:
    :data:`~tacit.models.training.accounting.ASSUMPTIONS`, of which the first is an exception to how tacit draws noise.
    The noise is drawn in float64 from ``rng``, by default bits of AES in counter mode; Opacus' own ``secure_mode``
    needs a package that is not maintained and is not used. Not protected: the number of rows, the settings, any
    measurement on the rows that is shown besides (a loss curve, a chosen checkpoint), and how long training took.

    Parameters
    ----------
    module
        A torch module of one input tensor. BatchNorm is replaced by GroupNorm; the original is left unchanged.
    X, y
        One row per record; class codes for several outputs, two values (positive or not) for one.
    epsilon, delta
        The guarantee; delta below 1/rows, and well below it for a guarantee that means something.
    clip
        The largest norm of a row's gradient.
    epochs
        How often a row is drawn, in expectation.
    batch_size
        The expected number of rows per step.
    rng
        :func:`tacit.privacy.noise.system_rng` for a real release. A seeded one makes a model that is not private.
    learning_rate, make_optimizer
        SGD with this rate and momentum 0.9; or a function from parameters to an optimizer.
    loss
        From outputs and targets to a loss a row; default: cross-entropy, or logistic loss for one output.
    payment, table
        Who pays, charged before the first step. ``table`` is the data as the ledger knows them; default: ``y``. Where
        they are kept for labels, the charge is the same guarantee for one label: a record's change includes its
        label's. The same rows and settings, for a module of the same layers and parameters with the same loss and
        optimizer (by their names), get the model that was paid for, whatever weights they start from.

    References
    ----------
    Abadi et al. (2016), Algorithm 1.
    """
    load_extra("torch")
    rows, targets = _rows(X, y)
    how = DpSgd(clip=clip, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate)
    plan = Plan(label="y", epsilon=epsilon, delta=delta, mechanism=how)
    settled = {"rows": len(rows), **how.settle(plan, rows=len(rows), classes=0)}
    training = how.prepare(module, settled, rows, targets, make_optimizer=make_optimizer, loss=loss)
    header = ReleaseHeader(
        surface=plan.surface,
        plan=plan.to_json(),
        settled=settled,
        guarantee=how.guarantee(plan, settled),
        seeded=is_seeded(rng),
    )

    def train() -> Release:
        state = arrays_of(training.fit(rng=rng, progress=progress).state_dict())
        return Release.of_trained(TrainedModel(state=state), header=header)

    if payment is None:
        release = train()
    else:
        request = ReleaseRequest(
            plan=plan,
            guarantee=header.guarantee,
            seeded=header.seeded,
            rows=lambda: arrow_batches(targets if table is None else table),
            private=(),
            data=(lambda: _records(rows, targets), lambda: _description(training.module, make_optimizer, loss)),
        )
        release = deliver(Release, request, draw=train, payment=payment)
        _load(training.module, release)
    return PrivateModel(
        module=training.module,
        guarantee=header.guarantee,
        mechanism={"name": how.name, "clip": clip, **settled},
        seeded=header.seeded,
        receipt=release.receipt,
        repeated=release.repeated,
    )


def _rows(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    rows, targets = np.ascontiguousarray(X), np.ascontiguousarray(y)  # torch takes no reversed view
    if rows.ndim < 2 or len(rows) < 2:
        raise InvalidInput(f"X must have two rows or more, a record each, got shape {rows.shape}")
    if targets.shape != (len(rows),):
        raise InvalidInput(f"must have one label for each of {len(rows)} rows, got shape {targets.shape}", field="y")
    if not (np.issubdtype(rows.dtype, np.number) and np.issubdtype(targets.dtype, np.number)):
        raise InvalidInput(f"X and y must be numbers, got {rows.dtype} and {targets.dtype}; encode them first")
    if not (np.isfinite(rows).all() and np.isfinite(targets).all()):
        raise InvalidInput("X and y must be finite, got NaN or infinity: drop those rows or fill them in")
    return rows, targets


def _records(rows: NDArray[Any], targets: NDArray[Any]) -> Iterator[pa.RecordBatch]:
    """What the model is trained on; each row's features are one list."""
    yield pa.record_batch({"X": list_column(rows), "y": pa.array(targets)})


def _description(module: torch.nn.Module, *choices: object) -> Iterator[pa.RecordBatch]:
    """The identity of a training of the same rows, without the first weights, which may be drawn again."""
    shapes = {name: list(value.shape) for name, value in module.state_dict().items()}
    names = [getattr(choice, "__qualname__", type(choice).__name__) for choice in choices]
    layers = [(name, type(layer).__qualname__) for name, layer in module.named_modules()]
    yield pa.record_batch({"module": [json.dumps([shapes, layers, names])]})


def _load(module: torch.nn.Module, release: Release) -> None:
    import torch

    assert isinstance(release.member, NumbersMember)
    module.load_state_dict({name: torch.tensor(value) for name, value in release.member.state.items()})
    module.eval()
