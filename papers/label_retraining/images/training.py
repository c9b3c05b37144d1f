"""One network, trained again and again in place, with data and augmentation on the device."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from papers.label_retraining.images import augment
from papers.label_retraining.images.given import Given
from papers.label_retraining.images.network import ResNet
from papers.label_retraining.images.pictures import Pictures

READ_ROWS = 2000  # images predicted at a time
LOOKS = 20  # at the held-out rows in a training


def say(*words: object) -> None:
    """Print at once, with the time since the start."""
    print(f"[{time.perf_counter() - BEGUN:7.1f} s]", *words, flush=True)


BEGUN = time.perf_counter()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a network is trained; ``images`` is how many it sees, whatever the number of rows.

    With an ``encoder`` the network is that one, given, on images enlarged to ``side``; else a ResNet.
    """

    images: int = 450_000
    batch: int = 512
    rate: float = 0.4
    momentum: float = 0.9
    decay: float = 5e-4
    cutout: int = 8
    depth: int = 18
    width: int = 64
    compiled: bool = False
    graphed: bool = False
    encoder: str = ""
    side: int = 128


class Trainer:
    """Images on the device and one ResNet whose weights every training overwrites: it is compiled once."""

    def __init__(self, pictures: Pictures, *, settings: Settings, device: torch.device) -> None:
        self.settings, self.device, self.classes = settings, device, pictures.classes
        self.padded = augment.pad(torch.from_numpy(pictures.images).to(device))
        self.padded_test = augment.pad(torch.from_numpy(pictures.test_images).to(device))
        self.truth = torch.from_numpy(pictures.labels).to(device)
        self.test_truth = torch.from_numpy(pictures.test_labels).to(device)
        self.network = self.build(seed=0)
        self.images_per_second = 0.0
        self.first_neighbors: NDArray[np.int64] | None = None
        self.first_features: Tensor | None = None
        self._forward: Callable[[Tensor], Tensor] = self.network
        if settings.compiled:
            self._forward = compile_or_not(self.network)
        elif settings.graphed and device.type == "cuda":
            self._record()

    def build(self, *, seed: int) -> ResNet | Given:
        """Return a fresh network."""
        torch.manual_seed(seed)
        s = self.settings
        made: ResNet | Given = (
            Given(name=s.encoder, side=s.side, classes=self.classes)
            if s.encoder
            else ResNet(depth=s.depth, width=s.width, classes=self.classes)
        )
        made.to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        return made

    def reset(self, *, seed: int, body: dict[str, Tensor] | None = None) -> None:
        """Draw all weights anew, or take those of the body as given."""
        self.network.load_state_dict(self.build(seed=seed).state_dict())
        if body is not None:
            self.network.body.load_state_dict(body)

    def _record(self) -> None:
        """Let the network replay its passes in training: a small batch costs one launch a pass, not hundreds."""
        batch = torch.zeros(self.settings.batch, 3, 32, 32, device=self.device).to(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, dtype=torch.bfloat16, cache_enabled=False):
            torch.cuda.make_graphed_callables(self.network, (batch,))

    def bfloat16(self) -> Any:
        """Return the context in which a network is called: half the bytes on a GPU."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda")

    def logits(self, x: Tensor) -> Tensor:
        """Call the network in training."""
        with self.bfloat16():
            return self._forward(x).float()

    def optimizer(self, *, steps: int, rate: float | None = None) -> tuple[torch.optim.Optimizer, Any]:
        """Return momentum SGD with Nesterov's correction, and its one cycle."""
        s = self.settings
        peak = s.rate if rate is None else rate
        made = torch.optim.SGD(
            self.network.parameters(), lr=peak, momentum=s.momentum, weight_decay=s.decay, nesterov=True,
            fused=self.device.type == "cuda",
        )  # fmt: skip
        cycle = torch.optim.lr_scheduler.OneCycleLR(
            made, max_lr=peak, total_steps=max(steps, 10), pct_start=0.25, cycle_momentum=False
        )
        return made, cycle

    def batches(self, rows: Tensor, *, images: int) -> Iterator[Tensor]:
        """Yield positions in ``rows``: pass after pass over all of them, cut into batches of one size."""
        steps, batch = self.steps(images), self.settings.batch
        passes = -(-steps * batch // len(rows))
        order = torch.cat([torch.randperm(len(rows), device=self.device) for _ in range(passes)])
        yield from order[: steps * batch].view(steps, batch)

    def steps(self, images: int) -> int:
        """Return how many batches show this many images."""
        return max(1, round(images / self.settings.batch))

    def fit(
        self,
        rows: NDArray[np.int64],
        targets: NDArray[np.float64],
        *,
        loss: Any,
        seed: int,
        held_out: NDArray[np.int64] | None = None,
    ) -> None:
        """Train a fresh network on the rows with a weight for each of their classes.

        With rows ``held_out``, whose true labels are read, the weights end as they were when they told most of these
        right; without, as they are at the end.
        """
        s = self.settings
        self.reset(seed=seed)
        self.network.train()
        taken, weights = torch.from_numpy(rows).to(self.device), torch.from_numpy(targets).float().to(self.device)
        optimizer, cycle = self.optimizer(steps=self.steps(s.images))
        self.wait()
        begun = time.perf_counter()
        best = Best(self, held_out)
        steps = self.steps(s.images)
        for step, places in enumerate(self.batches(taken, images=s.images), start=1):
            x = augment.cutout(augment.crop(self.padded, taken[places]), side=s.cutout)
            mean = loss.rows(self.logits(augment.normalize(x)), weights[places]).mean()
            optimizer.zero_grad(set_to_none=True)
            mean.backward()
            optimizer.step()
            cycle.step()
            if step == steps or step % max(1, steps // LOOKS) == 0:
                best.look()
        best.restore()
        self.wait()
        self.images_per_second = s.images / (time.perf_counter() - begun)

    def wait(self) -> None:
        """Let the device finish, so that a clock tells the truth."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def probabilities(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return P(class | x) of training rows, or of the test rows."""
        padded = self.padded_test if rows is None else self.padded
        which = torch.arange(len(padded)) if rows is None else torch.from_numpy(rows)
        return self.read(self.network, padded, which.to(self.device)).double().softmax(dim=1).cpu().numpy()

    def accuracy(self, network: nn.Module | None = None) -> float:
        """Return the share of test images told right."""
        rows = torch.arange(len(self.padded_test), device=self.device)
        logits = self.read(self.network if network is None else network, self.padded_test, rows)
        return float((logits.argmax(dim=1) == self.test_truth).float().mean())

    @torch.no_grad()
    def read(self, network: Any, padded: Tensor, rows: Tensor, *, represent: bool = False) -> Tensor:
        """Return the logits of images as they are, or their features."""
        network.eval()
        call = network.represent if represent else network
        with self.bfloat16():
            parts = [
                call(augment.normalize(augment.crop(padded, part, shift=False))).float()
                for part in torch.split(rows, READ_ROWS)
            ]
        network.train()
        return torch.cat(parts)

    def copy_network(self) -> ResNet | Given:
        """Return a copy that keeps its weights when the next training begins."""
        return copy.deepcopy(self.network)


class Best:
    """The weights of a training when they told most of the held-out rows right; without such rows nothing is done."""

    def __init__(self, trainer: Trainer, rows: NDArray[np.int64] | None) -> None:
        self.trainer = trainer
        self.rows = None if rows is None else torch.from_numpy(rows).to(trainer.device)
        self.right, self.weights = -1.0, dict[str, Tensor]()

    def look(self) -> None:
        """Keep the weights if no earlier ones were better."""
        if self.rows is None:
            return
        t = self.trainer
        told = t.read(t.network, t.padded, self.rows).argmax(dim=1)
        right = float((told == t.truth[self.rows]).float().mean())
        if right > self.right:
            self.right = right
            self.weights = {name: value.clone() for name, value in t.network.state_dict().items()}

    def restore(self) -> None:
        """Give the network the weights kept."""
        if self.weights:
            self.trainer.network.load_state_dict(self.weights)


def compile_or_not(network: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return the compiled network; if the first call fails, the plain one from then on."""
    state: dict[str, Any] = {"call": torch.compile(network, dynamic=False)}

    def call(x: Tensor) -> Tensor:
        try:
            return state["call"](x)  # type: ignore[no-any-return]
        except Exception as error:
            if state["call"] is network:
                raise
            say("not compiled:", type(error).__name__, str(error)[:200])
            state["call"] = network
            return network(x)  # type: ignore[no-any-return]

    return call
