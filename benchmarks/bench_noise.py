"""Exact noise on the system generator against plain NumPy on PCG64, and against OpenDP."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import opendp.prelude as dp

from tacit.privacy.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    flip_each,
    keep_coin,
    keep_or_switch,
    system_rng,
)

Row = dict[str, Any]
CLASSES = 10
SCALE = 10.0


def run(*, quick: bool) -> list[Row]:
    """Time each sampler and its references on the same number of draws."""
    dp.enable_features("contrib")
    draws, slow = (100_000, 500) if quick else (1_000_000, 20_000)
    return [*_choices(draws, slow // 10), *_integers(draws, slow)]


def _choices(draws: int, slow: int) -> list[Row]:
    fast, plain = system_rng(), np.random.default_rng(0)
    choice, coin = keep_or_switch(1.0, outcomes=CLASSES), keep_coin(1.0, outcomes=CLASSES)
    keep = float(coin.probability)
    coins = [keep_coin(1.0, outcomes=k) for k in range(2, CLASSES + 1)]
    chances = np.array([float(each.probability) for each in coins])
    which = plain.integers(0, len(coins), size=draws)
    labels = plain.integers(0, CLASSES, size=draws)

    def randomize_plainly() -> None:
        other = (labels + plain.integers(1, CLASSES, size=draws)) % CLASSES
        np.where(plain.random(draws) < keep, labels, other)

    response = dp.m.make_randomized_response(categories=list(range(CLASSES)), prob=keep)
    return [
        _row(
            "keep or not, one chance",
            lambda: coin.flip(draws, rng=fast),
            "NumPy random() < p, PCG64",
            lambda: plain.random(draws) < keep,
            draws,
        ),
        _row(
            "keep or not, a chance a row",
            lambda: flip_each(coins, which, rng=fast),
            "NumPy random() < p of the row, PCG64",
            lambda: plain.random(draws) < chances[which],
            draws,
        ),
        _row(
            "randomized response, 10 classes",
            lambda: (labels + choice.draw(draws, rng=fast)) % CLASSES,
            "NumPy random and integers, PCG64",
            randomize_plainly,
            draws,
        ),
        _row(
            "randomized response, 10 classes",
            lambda: choice.draw(draws, rng=fast),
            "OpenDP randomized response",
            lambda: [response(0) for _ in range(slow)],
            draws,
            slow,
        ),
    ]


def _integers(draws: int, slow: int) -> list[Row]:
    fast, plain = system_rng(), np.random.default_rng(0)
    vector = dp.vector_domain(dp.atom_domain(T="i64"))
    laplace, gaussian = DiscreteLaplace(scale=SCALE), DiscreteGaussian(scale=SCALE)
    theirs = {
        "Laplace": dp.m.make_laplace(vector, dp.l1_distance(T="i64"), scale=SCALE),
        "Gaussian": dp.m.make_gaussian(vector, dp.l2_distance(T=float), scale=SCALE),
    }
    floats = {"Laplace": plain.laplace, "Gaussian": plain.normal}
    rows = []
    for name, ours in (("Laplace", laplace), ("Gaussian", gaussian)):
        case = f"discrete {name}, scale 10"
        rows += [
            _row(
                case,
                lambda ours=ours: ours.draw(draws, rng=fast),
                f"OpenDP discrete {name}",
                lambda name=name: theirs[name]([0] * slow),
                draws,
                slow,
            ),
            _row(
                case,
                lambda ours=ours: ours.draw(draws, rng=fast),
                f"NumPy float {name}, PCG64 (not private)",
                lambda name=name: floats[name](scale=SCALE, size=draws),
                draws,
            ),
        ]
    return rows


def _row(
    case: str,
    ours: Callable[[], object],
    reference: str,
    theirs: Callable[[], object],
    draws: int,
    reference_draws: int | None = None,
) -> Row:
    """Seconds for a million draws each, taken in turns so that a busy machine slows both."""
    ours(), theirs()
    seconds, reference_seconds = [], []
    for _ in range(7):
        seconds.append(_time(ours))
        reference_seconds.append(_time(theirs))
    mine = min(seconds) / draws * 1e6
    other = min(reference_seconds) / (reference_draws or draws) * 1e6
    return {
        "case": case,
        "seconds": mine,
        "reference": reference,
        "reference_seconds": other,
        "ratio": mine / other,
        "seconds_are": "for a million draws",
    }


def _time(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start
