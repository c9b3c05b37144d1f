"""A trained network: which rows it was trained on, and how accurate it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.audit.finding import Finding
from tacit.audit.source import Source
from tacit.audit.utility import Utility, share_utility
from tacit.audit.words import percent, within_chance
from tacit.leak import Leak
from tacit.models.attacks.loss_threshold import attack_losses
from tacit.models.training.dp_sgd import train_dp_sgd
from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra
from tacit.privacy.guarantee import NoGuarantee, Promise
from tacit.privacy.rounding import check_count, check_delta, check_epsilon

if TYPE_CHECKING:
    import torch

__all__ = ["ModelsRelease"]

_SCALED = "the features are scaled by public numbers; here the table's own means and spreads stand for them"
_LEAST_ROWS = 20  # fewer may leave a side of the coins empty
_STEPS, _RATE = 400, 0.01
_BATCH, _PRIVATE_RATE = 200, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsRelease:
    """A network with one hidden layer, handed out with its weights.

    Parameters
    ----------
    epsilon, delta
        Of DP-SGD, for one record; epsilon absent: trained without protection.
    width
        Hidden neurons.
    rows
        Each of so many rows, 20 or more, is a member or not by a fair coin.
    epochs
        Of DP-SGD.

    Examples
    --------
    >>> ModelsRelease(epsilon=3.0).describe()
    'a network of width 64 by DP-SGD, epsilon 3'
    """

    surface: ClassVar[str] = "models"

    epsilon: float | None = None
    delta: float = 1e-5
    width: int = 64
    rows: int = 2000
    epochs: int = 20

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
            if check_delta(self.delta) == 0:
                raise InvalidInput("delta must be > 0: the noise of DP-SGD is Gaussian")
        for name in ("width", "epochs"):
            check_count(getattr(self, name), name=name)
        check_count(self.rows, name="rows", least=_LEAST_ROWS)

    def check(self, source: Source) -> None:
        """Raise where delta is no small chance among so many rows.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> ModelsRelease().check(bundled_source("iris"))
        """
        if self.epsilon is not None:
            source.check_delta(self.delta)

    def at(self, epsilon: float, source: Source) -> ModelsRelease:  # noqa: ARG002
        """Return the network trained by DP-SGD at this epsilon.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> ModelsRelease().at(1.0, bundled_source("iris")).epsilon
        1.0
        """
        return replace(self, epsilon=epsilon)

    def describe(self) -> str:
        """Return what leaves."""
        how = "without protection" if self.epsilon is None else f"by DP-SGD, epsilon {self.epsilon:g}"
        return f"a network of width {self.width} {how}"

    def audit(self, source: Source, *, rng: np.random.Generator, tell: Callable[[str], None]) -> Finding:
        """Train on rows chosen by coins, tell members by their loss, and test on the rows that were left out.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> found = ModelsRelease(width=20).audit(bundled_source("iris"), rng=np.random.default_rng(0), tell=print)
        models: a network of width 20 without protection
        >>> found.epsilon is None
        True
        """
        tell(f"models: {self.describe()}")
        start = time.perf_counter()
        torch = load_extra("torch")
        chosen = rng.permutation(source.rows)[: self.rows]
        spread = source.X[chosen].std(axis=0)
        X = (source.X[chosen] - source.X[chosen].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        y = source.codes[chosen]
        member = rng.random(len(chosen)) < 0.5
        torch.manual_seed(int(rng.integers(2**31)))
        with _one_thread():
            plain = self._plain(X[member], y[member], len(source.classes))
            module, promise = plain, _none()
            if self.epsilon is not None:
                module, promise = self._private(X[member], y[member], len(source.classes), self.epsilon, rng)
            losses, right = _judge(module, X, y)
        leak = attack_losses(losses[member], losses[~member], rng=rng, fair_coins=True, delta=self.delta)
        leak = replace(leak, roc=None)  # its thresholds are the losses of single rows
        utility = share_utility(
            "accuracy on rows it has not seen", right[~member], _judge(plain, X, y)[1][~member], truth=y[~member]
        )
        return Finding(
            surface=self.surface,
            data=source.name,
            setting=self.describe(),
            promise=promise,
            leak=leak,
            counted=("training rows recognised", "of other rows, taken for them"),
            utility=utility,
            told=f"By its loss {percent(leak.rate)} of the rows that the network was trained on are named, and "
            f"{percent(leak.baseline)} of other rows",
            remedy=self._remedy(leak, utility),
            seconds=time.perf_counter() - start,
        )

    def by_hand(self, source: Source) -> str:  # noqa: ARG002
        """Return no command: the audit trains a network of its own.

        Examples
        --------
        >>> from tacit.audit.source import bundled_source
        >>> ModelsRelease().by_hand(bundled_source("iris"))
        ''
        """
        return ""

    def _remedy(self, leak: Leak, utility: Utility) -> str:
        leaks = leak.advantage_interval.low > 0
        if self.epsilon is None:
            how = "train with DP-SGD, such as epsilon 3 for one record, or hand out predictions instead of weights"
            return how if leaks else f"that is within chance, but nothing is promised, so {how}"
        if utility.worthless:
            return (
                f"but it is right {percent(utility.protected)} of the time and needs no data to reach "
                f"{percent(utility.blind)}, so train on more rows, or allow more than epsilon {self.epsilon:g}"
            )
        if leaks:
            return f"lower epsilon {self.epsilon:g}, or hand out predictions instead of weights"
        return within_chance("hand it out, once", epsilon=self.epsilon)

    def _module(self, features: int, classes: int) -> Any:  # noqa: ANN401
        torch = load_extra("torch")
        layers = [torch.nn.Linear(features, self.width), torch.nn.ReLU(), torch.nn.Linear(self.width, classes)]
        return torch.nn.Sequential(*layers)

    def _plain(self, X: NDArray[np.float64], y: NDArray[np.int64], classes: int) -> Any:  # noqa: ANN401
        torch = load_extra("torch")
        module = self._module(X.shape[1], classes)
        rows, targets = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
        optimizer = torch.optim.Adam(module.parameters(), lr=_RATE)
        for _ in range(_STEPS):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(rows), targets).backward()
            optimizer.step()
        return module

    def _private(
        self, X: NDArray[np.float64], y: NDArray[np.int64], classes: int, epsilon: float, rng: np.random.Generator
    ) -> tuple[Any, Promise]:
        made = train_dp_sgd(
            self._module(X.shape[1], classes),
            X,
            y,
            epsilon=epsilon,
            delta=self.delta,
            clip=1.0,
            epochs=self.epochs,
            batch_size=min(_BATCH, len(X)),
            learning_rate=_PRIVATE_RATE,
            rng=rng,
        )
        return made.module, replace(made.guarantee, assumptions=(*made.guarantee.assumptions, _SCALED))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread: a small network gains nothing by more, which wait for each other on a busy machine."""
    torch = load_extra("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _none() -> Promise:
    return NoGuarantee(reason="training without noise may remember every row")


def _judge(module: torch.nn.Module, X: NDArray[np.float64], y: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return the loss of each row, and whether its label is predicted."""
    torch = load_extra("torch")
    with torch.no_grad():
        outputs = module(torch.tensor(X, dtype=torch.float32))
        losses = torch.nn.functional.cross_entropy(outputs, torch.tensor(y), reduction="none")
    return losses.double().numpy(), outputs.argmax(dim=1).numpy() == y
