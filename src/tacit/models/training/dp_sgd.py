"""DP-SGD: train a network so that no record shows in it, charged before the first step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.training.accounting import SampledGaussian, find_noise
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra
from tacit.privacy.guarantee import Guarantee, Unit
from tacit.privacy.ledger import Receipt
from tacit.privacy.noise import is_seeded
from tacit.privacy.payment import Payment
from tacit.privacy.rounding import check_count, check_delta

if TYPE_CHECKING:
    import torch

    from tacit.models.training.noisy_steps import NoisyTraining

__all__ = ["ASSUMPTIONS", "PrivateModel", "plan_run", "sampling", "train_dp_sgd"]

ASSUMPTIONS = (
    "the noise is floating-point Gaussian noise: its rounding is not accounted for",
    "the number of rows is public; a neighbor has one record replaced",
    "the network, its first weights and all settings were chosen without these rows",
    "module and loss treat each row by itself and keep nothing of it: tried on two rows, not proved",
)
"""What the guarantee of every model trained by :func:`train_dp_sgd` rests on."""

_MOST = 1e30  # float32 holds its products with the noise


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateModel:
    """A trained module that may leave, and what is guaranteed about the records it was trained on.

    All of the module may be published, and so may every output, unless ``seeded``: noise and samples from a seeded
    generator are not private.
    """

    module: torch.nn.Module
    guarantee: Guarantee
    mechanism: Mapping[str, Any]
    seeded: bool
    receipt: Receipt | None = None

    def __str__(self) -> str:
        warning = "; seeded, so the noise hides nothing from who knows the seed" if self.seeded else ""
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
    learning_rate: float = 0.5,
    make_optimizer: Callable[[Any], torch.optim.Optimizer] | None = None,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None = None,
    payment: Payment | None = None,
    table: object = None,
    progress: Callable[[int, int], None] | None = None,
) -> PrivateModel:
    """Train a copy of ``module`` by DP-SGD: sum_i clip(grad l_i) + N(0, s^2 clip^2), rows drawn by Poisson sampling.

    s is the least noise for which all steps together cost at most (epsilon, delta), by :func:`find_noise`.

    Unit: one record, its label included; neighbors have one record replaced. Opacus and most tools account for one
    record added or removed, which looks cheaper for the same noise. Assumptions: :data:`ASSUMPTIONS`, of which the
    first is an exception to how tacit draws noise. The noise is drawn in float64 from ``rng``, by default bits of AES
    in counter mode; Opacus' own ``secure_mode`` needs a package that is not maintained and is not used. Not protected:
    the number of rows, the settings, any measurement on the rows that is shown besides (a loss curve, a chosen
    checkpoint), and how long training took.

    Parameters
    ----------
    module
        A torch module of one input tensor. BatchNorm is replaced by GroupNorm; the original is left as it is.
    X, y
        A row a record; class codes for several outputs, two values (positive or not) for one.
    epsilon, delta
        The guarantee; delta below 1/rows, and well below it for a guarantee that means something.
    clip
        The largest norm of a row's gradient.
    epochs
        How often a row is drawn, in expectation.
    batch_size
        The expected number of rows a step.
    rng
        :func:`tacit.privacy.noise.system_rng` for a real release. A seeded one makes a model that is not private.
    learning_rate, make_optimizer
        SGD with this rate and momentum 0.9; or a function from parameters to an optimizer.
    loss
        From outputs and targets to a loss a row; default: cross-entropy, or logistic loss for one output.
    payment, table
        Who pays, charged before the first step. ``table`` is the data as the ledger knows them; default: ``y``. Where
        they are kept for labels, the charge is the same guarantee for one label: a record's change includes its
        label's.

    References
    ----------
    Abadi et al. (2016), Algorithm 1.
    """
    torch = load_extra("torch")
    load_extra("opacus")
    from tacit.models.training.noisy_steps import NoisyTraining, make_private, row_losses

    rows, targets = _rows(X, y)
    for name, value in (("clip", clip), ("epochs", epochs), ("learning_rate", learning_rate)):
        if not 0 < value <= _MOST:
            raise InvalidInput(f"must be > 0 and at most {_MOST:g}, got {value!r}", field=name)
    run = plan_run(len(rows), epsilon=epsilon, delta=delta, epochs=epochs, batch_size=batch_size)
    private = make_private(module)
    training = NoisyTraining(
        run=run,
        clip=clip,
        batch_size=batch_size,
        make_optimizer=make_optimizer or (lambda p: torch.optim.SGD(p, lr=learning_rate, momentum=0.9)),
        loss=loss or row_losses,
    )
    kind = next(private.parameters())
    features = torch.tensor(rows, dtype=kind.dtype, device=kind.device)  # copies: Arrow's arrays are read-only
    codes = torch.tensor(targets, device=kind.device)
    _check(training, private, features, codes)
    _check_alone(training, private, features, codes)
    guarantee = Guarantee(unit=Unit.RECORD, epsilon=epsilon, delta=delta, loss=run.loss(), assumptions=ASSUMPTIONS)
    receipt = None
    if payment is not None:
        receipt = payment.charge(guarantee, np.asarray(y) if table is None else table, purpose="models by dp_sgd")
    training.fit(private, features, codes, rng=rng, progress=progress)
    private.eval()
    return PrivateModel(
        module=private,
        guarantee=guarantee,
        mechanism={
            "name": "dp_sgd",
            "noise": run.noise,
            "rate": run.rate,
            "steps": run.steps,
            "clip": clip,
            "batch_size": batch_size,
            "rows": len(rows),
        },
        seeded=is_seeded(rng),
        receipt=receipt,
    )


def _rows(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[Any]]:
    rows, targets = np.asarray(X), np.asarray(y)
    if rows.ndim < 2 or len(rows) < 2:
        raise InvalidInput(f"X must have two rows or more, a record each, got shape {rows.shape}")
    if targets.shape != (len(rows),):
        raise InvalidInput(f"must hold one label for each of {len(rows)} rows, got shape {targets.shape}", field="y")
    if not (np.issubdtype(rows.dtype, np.number) and np.issubdtype(targets.dtype, np.number)):
        raise InvalidInput(f"X and y must be numbers, got {rows.dtype} and {targets.dtype}; encode them first")
    if not (np.isfinite(rows).all() and np.isfinite(targets).all()):
        raise InvalidInput("X and y must be finite, got NaN or infinity: drop those rows or fill them in")
    return rows, targets


def plan_run(rows: int, *, epsilon: float, delta: float, epochs: float, batch_size: int) -> SampledGaussian:
    """Return the steps and the least noise for so many rows, or raise if there are none."""
    if check_count(batch_size, name="batch_size") > rows:
        raise InvalidInput(f"must be at most the {rows} rows, got {batch_size}", field="batch_size")
    check_delta(delta, rows=rows)
    rate, steps = sampling(rows, epochs=epochs, batch_size=batch_size)
    return find_noise(epsilon=epsilon, delta=delta, rate=rate, steps=steps)


def sampling(rows: int, *, epochs: float, batch_size: int) -> tuple[float, int]:
    """Return the probability with which a step draws a row, and the number of steps."""
    return batch_size / rows, max(1, round(epochs * rows / batch_size))


def _check(training: NoisyTraining, module: torch.nn.Module, X: torch.Tensor, y: torch.Tensor) -> None:
    """Raise before the charge if training could not begin."""
    torch = load_extra("torch")
    try:
        training.make_optimizer(module.parameters())
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"make_optimizer must take parameters, got: {error}") from None
    try:
        with torch.no_grad():
            one = module(X[:1])
            shape = tuple(training.loss(one.expand(len(y), *one.shape[1:]), y).shape)  # all labels, one row: cheap
    except (RuntimeError, IndexError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise InvalidInput(
            f"must take rows of shape {tuple(X.shape[1:])} and these labels: {first}", field="module"
        ) from None
    if shape != (len(y),):
        raise InvalidInput(f"loss must return one number a row, got shape {shape} for {len(y)} rows")
    training.loss(module(X[:1]), y[:1]).sum().backward()  # type: ignore[no-untyped-call]
    unused = [name for name, p in module.named_parameters() if p.requires_grad and p.grad is None]
    module.zero_grad()
    if unused:
        raise InvalidInput(
            f"must use every parameter it trains, {unused[0]!r} has no part in the outputs; freeze it", field="module"
        )


def _check_alone(training: NoisyTraining, module: torch.nn.Module, X: torch.Tensor, y: torch.Tensor) -> None:
    """Raise where another second row changes the first one's loss, or what the module keeps: no noise covers that."""
    torch = load_extra("torch")
    seen = []
    for second in (X[1:2], X[1:2] + 1):
        tried = copy.deepcopy(module)
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(0)  # the same dropout
            first = training.loss(tried(torch.cat([X[:1], second])), y[:2])[0]
        seen.append({"": first, **dict(tried.named_buffers())})
    for name, value in seen[0].items():
        if torch.allclose(value.double(), seen[1][name].double(), rtol=1e-4, atol=1e-6, equal_nan=True):
            continue
        if name:
            raise InvalidInput(
                f"must keep nothing of the rows it sees, its buffer {name!r} does; freeze it", field="module"
            )
        raise InvalidInput("module and loss must treat every row by itself, got a loss that another row changes")
