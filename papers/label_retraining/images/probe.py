"""What a machine has, and how fast it trains: plain and compiled."""

from __future__ import annotations

import importlib
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from papers.label_retraining.images import parts, pictures, representation
from papers.label_retraining.images.points import machine
from papers.label_retraining.images.training import Settings, Trainer, say

WANTED = ("numpy", "scipy", "mpmath", "PIL", "sklearn", "pyarrow", "rich", "gmpy2", "triton")


def run(out: Path, *, device: torch.device, quick: bool) -> None:
    """Print all of it, and keep the speeds for ``--compile auto``."""
    say(machine(), "tacit whole" if parts.WHOLE else "tacit in parts")
    for name in WANTED:
        try:
            say(name, getattr(importlib.import_module(name), "__version__", "present"))
        except ImportError:
            say(name, "missing")
    made = pictures.made_up(rows=200 if quick else 4000)
    settings = Settings(batch=32, width=4) if quick else Settings()
    speeds = {}
    for name, compiled in (("plain", False), ("compiled", True)):
        trainer = Trainer(made, settings=replace(settings, compiled=compiled and not quick), device=device)
        speeds[name] = _supervised(trainer, name, batches=2 if quick else 60)
        if compiled:  # it is the long one: time it as it will be used
            speeds["twins"] = _twins(trainer, name, quick=quick)
        out.mkdir(parents=True, exist_ok=True)
        (out / "speed.json").write_text(json.dumps({"compiled": 0.0} | speeds), encoding="utf-8")
    say(speeds)


def _supervised(trainer: Trainer, name: str, *, batches: int) -> float:
    rows, targets = np.arange(len(trainer.truth)), np.eye(trainer.classes)[trainer.truth.cpu().numpy()]
    begun = time.perf_counter()
    trainer.settings = replace(trainer.settings, images=trainer.settings.batch * 3)
    trainer.fit(rows, targets, loss=parts.SoftCrossEntropy(), seed=0)
    ready = time.perf_counter() - begun
    trainer.settings = replace(trainer.settings, images=trainer.settings.batch * batches)
    trainer.fit(rows, targets, loss=parts.SoftCrossEntropy(), seed=0)
    say(f"{name}: ready in {ready:.1f} s, {trainer.images_per_second:.0f} images/s, test {trainer.accuracy():.3f}")
    return trainer.images_per_second


def _twins(trainer: Trainer, name: str, *, quick: bool) -> float:
    how = representation.Twins(batch=32, width=32, most_steps=3) if quick else representation.Twins(most_steps=110)
    begun = time.perf_counter()
    told = representation.learn(trainer, how=how, seed=0)[1]
    took, speed = time.perf_counter() - begun, float(told["pairs_per_second"])
    say(f"{name}: twins, {how.most_steps} steps in {took:.1f} s, {speed:.0f} pairs/s, loss {told['loss']:.0f}")
    return speed
