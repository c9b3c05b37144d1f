"""Features: a million rows of a thousand features selected and released, against one read and the sampler alone.

python -m benchmarks --only features            # 1,000,000 rows x 1,000 features: 4 GB in a temporary folder
python -m benchmarks --only features --quick    # 2,000 x 50
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import timed_row
from tacit.features import Plan, protect
from tacit.features.mechanisms.noisy_rows import NoisyRows
from tacit.privacy.noise import system_rng
from tacit.privacy.targets import Overwrite

Row = dict[str, Any]
KEPT = 25
DELTA = 1e-6
GROUP = 20_000
PLANS = {
    name: Plan(label="y", epsilon=epsilon, delta=DELTA, select=KEPT, ranges={"*": (-4, 4)}, mechanism=name)
    for name, epsilon in (("rows", 6), ("totals", 2))
}


def run(*, quick: bool) -> list[Row]:
    """Return one row a kind of release; each is made in a process of its own, which tells its largest memory."""
    rows, features = (2_000, 50) if quick else (1_000_000, 1000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, rows, features)
        found = {plan: _best(path, plan, times=1 if quick else 2) for plan in PLANS}
    return [_row(plan, rows, features, *times) for plan, times in found.items()]


def write_rows(path: Path, rows: int, features: int) -> None:
    """Write Gaussian float32 columns, of which the first differ between two classes, and a 0/1 label."""
    rng = np.random.default_rng(0)
    schema = pa.schema([*((f"x{j}", pa.float32()) for j in range(features)), ("y", pa.int8())])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as out:
        for start in range(0, rows, GROUP):
            y = rng.integers(0, 2, min(GROUP, rows - start), dtype=np.int8)
            columns = rng.standard_normal((features, len(y)), dtype=np.float32)
            columns[:KEPT] += y
            out.write_table(pa.table([*map(pa.array, columns), pa.array(y)], schema=schema))


def _best(path: Path, plan: str, *, times: int) -> tuple[dict[str, float], dict[str, float]]:
    """The release and its references, in turns: the best time of each, the largest memory."""
    made, plain = zip(*((_child("make", path, plan), _child("plain", path, plan)) for _ in range(times)), strict=True)
    ours = {name: min(one[name] for one in made) for name in ("seconds", "cpu")}
    ours["peak_mib"] = max(one["peak_mib"] for one in made)
    ours["informative"] = min(one["informative"] for one in made)
    return ours, {name: min(one[name] for one in plain) for name in ("read", "sampler", "cpu")}


def _child(*words: object) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.bench_features", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    found: dict[str, float] = json.loads(done.stdout)
    return found


def make(path: Path, plan: str) -> dict[str, float]:
    """Release the file; return the seconds, those of all cores, and the largest memory of this process."""
    start, cpu = perf_counter(), process_time()
    made = protect(path, PLANS[plan], out=Overwrite(path.with_suffix(f".{plan}")))
    seconds, cpu = perf_counter() - start, process_time() - cpu
    informative = len(set(made.features) & {f"x{j}" for j in range(KEPT)})
    return {"seconds": seconds, "cpu": cpu, "peak_mib": _peak_mib(), "informative": informative}


def plain(path: Path, plan: str) -> dict[str, float]:
    """Read the file once, group by group; draw the noise of the released cells and nothing else."""
    start, cpu = perf_counter(), process_time()
    file = pq.ParquetFile(path)
    rows = sum(file.read_row_group(group).num_rows for group in range(file.num_row_groups))
    read, sampler = perf_counter() - start, 0.0
    if plan == "rows":  # of totals there are a hundred cells
        noise, rng = NoisyRows(epsilon=4.0, delta=DELTA, label_epsilon=1.0).noise(features=KEPT), system_rng()
        start = perf_counter()
        for begin in range(0, rows, 1 << 16):
            noise.draw((min(1 << 16, rows - begin), KEPT), rng=rng)
        sampler = perf_counter() - start
    return {"read": read, "sampler": sampler, "cpu": process_time() - cpu}


def _row(plan: str, rows: int, features: int, ours: dict[str, float], parts: dict[str, float]) -> Row:
    reference = {"rows": "pyarrow reads the file once, and the kernel draws the released cells", "totals": "one read"}
    plain_seconds = parts["read"] + parts["sampler"]
    return timed_row(
        f"{KEPT} of {features:,} features of {rows:,} rows, {plan}",
        ours["seconds"],
        reference[plan],
        plain_seconds,
        speed=plain_seconds / ours["seconds"],
        speed_by_cpu_seconds=parts["cpu"] / ours["cpu"],  # what a busy machine leaves comparable
        cpu_seconds=ours["cpu"],
        reference_cpu_seconds=parts["cpu"],
        peak_mib=ours["peak_mib"],
        informative_of_selected=ours["informative"] / KEPT,  # the selection is private, so few rows may miss some
        read_seconds=parts["read"],
        sampler_seconds=parts["sampler"],
    )


def _peak_mib() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss begins with the parent's
        return next(int(line.split()[1]) / 2**10 for line in status.open() if line.startswith("VmHWM"))
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    print(json.dumps({"make": make, "plain": plain}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])))
