"""Labels: randomizing them, priors a row, streaming a file, and learning from a million rows."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import opendp.prelude as dp
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from benchmarks.timing import in_turns, timed_row
from tacit.labels import Plan, protect
from tacit.labels.fitting.denoise import NoCorrection
from tacit.labels.learners.classifier import LabelPrivateClassifier
from tacit.labels.learners.retrain import ConsensusRows
from tacit.labels.mechanisms import PriorRandomizedResponse, RandomizedResponse
from tacit.labels.plan import ALL
from tacit.privacy.noise import system_rng
from tacit.privacy.targets import Overwrite

Row = dict[str, Any]
CLASSES = 10
BEST_OF = 7


def run(*, quick: bool) -> list[Row]:
    """Return one row a case."""
    return [*_responses(quick=quick), *_priors(quick=quick), _stream(quick=quick), *_learning(quick=quick)]


def _responses(*, quick: bool) -> list[Row]:
    labels, slow = (100_000, 300) if quick else (1_000_000, 3000)
    codes = np.random.default_rng(0).integers(0, CLASSES, labels)
    response = RandomizedResponse(epsilon=1.0, classes=CLASSES)
    keep = float(response.transition()[0, 0])
    fast, plain = system_rng(), np.random.default_rng(0)
    dp.enable_features("contrib")
    theirs = dp.m.make_randomized_response(categories=list(range(CLASSES)), prob=keep)

    def in_numpy() -> None:
        kept = plain.random(labels) < keep
        other = plain.integers(0, CLASSES - 1, labels)
        np.where(kept, codes, other + (other >= codes))

    ours, reference, opendp = in_turns(
        lambda: response.randomize(codes, rng=fast),
        in_numpy,
        lambda: [theirs(int(code)) for code in codes[:slow]],
        best_of=BEST_OF,
    )
    case = f"randomized response, {labels:,} labels of {CLASSES} classes"
    return [
        timed_row(case, ours, "plain NumPy on PCG64, floats decide", reference),
        timed_row(case, ours, "OpenDP randomized response, label by label", opendp * labels / slow),
    ]


def _priors(*, quick: bool) -> list[Row]:
    rows, classes = (20_000, 20) if quick else (1_000_000, 100)
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.full(classes, 0.1), rows)
    codes = rng.integers(0, classes, rows)
    fast = system_rng()

    def ours() -> None:
        PriorRandomizedResponse(epsilon=1.0, prior=prior).randomize(codes, rng=fast)

    seconds, reference = in_turns(ours, lambda: _plain_top_k(prior, codes, 1.0, rng), best_of=3)
    row = timed_row(
        f"prior a row, {rows:,} rows x {classes} classes", seconds, "plain NumPy: argsort, floats decide", reference
    )
    return [{**row, "peak_mib": _peak_of(_PRIOR, rows, classes)}]


def _plain_top_k(prior: np.ndarray, codes: np.ndarray, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """RRWithPrior as one would write it down, all rows at once."""
    each, E = np.arange(len(codes)), np.exp(epsilon)
    order = np.argsort(-prior, axis=1)
    mass = np.cumsum(np.take_along_axis(prior, order, axis=1), axis=1)
    k = np.argmax(mass * E / (E + np.arange(prior.shape[1])), axis=1) + 1
    place = np.argmax(order == codes[:, None], axis=1)
    inside = place < k
    kept = inside & (rng.random(len(codes)) < E / (E + k - 1))
    drawn = rng.integers(0, np.where(inside, np.maximum(k - 1, 1), k))
    drawn += inside & (k > 1) & (drawn >= place)
    return np.where(kept, codes, order[each, drawn])


_PRIOR = """
import numpy as np, sys
from tacit.labels.mechanisms import PriorRandomizedResponse
from tacit.privacy.noise import system_rng
rows, classes = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
prior = np.empty((rows, classes))
for start in range(0, rows, 10_000):
    part = rng.dirichlet(np.full(classes, 0.1), min(10_000, rows - start))
    prior[start : start + len(part)] = part
PriorRandomizedResponse(epsilon=1.0, prior=prior).randomize(rng.integers(0, classes, rows), rng=system_rng())
"""


def _stream(*, quick: bool) -> Row:
    rows, columns = (20_000, 5) if quick else (2_000_000, 20)
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(columns)]
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
        table = pa.table({**{name: rng.normal(size=rows) for name in names}, "y": rng.integers(0, CLASSES, rows)})
        pq.write_table(table, path, compression="zstd")
        classes = tuple(str(place) for place in range(CLASSES))
        plan = Plan(label="y", epsilon=1.0, features=tuple(names), classes=classes)
        ours, copy = in_turns(
            lambda: protect(path, plan, out=Overwrite(out)),
            lambda: pq.write_table(pq.read_table(path), out, compression="zstd"),
            best_of=1 if quick else 3,
        )
    return timed_row(
        f"protect a Parquet file, {rows:,} rows x {columns} kept columns",
        ours,
        "pyarrow reads it whole and writes it, no noise, no checksum",
        copy,
    )


def _learning(*, quick: bool) -> list[Row]:
    rows, features = (3000, 5) if quick else (1_000_000, 100)
    X, y = _made_up(rows, features)
    trees = HistGradientBoostingClassifier(random_state=0)
    learner = LabelPrivateClassifier(trees, epsilon=1.0, denoise=NoCorrection(), retrain=ConsensusRows())
    fits = 2  # one stage, one round of retraining
    threads = 1 if quick else None  # two threads on a few rows wait for each other
    with threadpool_limits(threads, user_api="openmp"):
        clean, private = in_turns(lambda: clone(trees).fit(X, y), lambda: learner.fit(X, y), best_of=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.parquet"
        table = pa.table({**{f"x{i}": X[:, i] for i in range(features)}, "y": y})
        protect(table, Plan(label="y", epsilon=1, features=ALL), out=path)
        command = ["labels", "learn", str(path), "--method", "denoised:estimator=trees", "--json"]
        start = perf_counter()
        peak = _peak_of(f"from tacit.cli import main\nmain({command!r})", threads=threads)
        seconds = perf_counter() - start
    case, reference = f"boosted trees, {rows:,} rows x {features} features", "the same trees on clean labels, 2 fits"
    return [
        timed_row(f"{case}, fit", private, reference, fits * clean),
        {**timed_row(f"{case}, tacit labels learn", seconds, reference, fits * clean), "peak_mib": peak},
    ]


def _made_up(rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    signal = X[:, 0] * X[:, 1] + X[:, 2:8].sum(axis=1) / 2
    return X, (signal + rng.normal(size=rows) > 0).astype(np.int64)


_AT_EXIT = """
import atexit
from pathlib import Path

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss begins with the parent's
        return next(int(line.split()[1]) / 2**10 for line in status.open() if line.startswith("VmHWM"))
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

atexit.register(lambda: print("PEAK", peak()))
"""


def _peak_of(code: str, *arguments: object, threads: int | None = None) -> float:
    """Run a script on its own and return its largest memory in MiB."""
    command = [sys.executable, "-W", "ignore", "-c", _AT_EXIT + code, *map(str, arguments)]
    limits = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **limits})
    return float(done.stdout.rpartition("PEAK ")[2])
