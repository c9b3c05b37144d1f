"""Bags: building three partitions of a Criteo-like table against the bare SQL, the noise apart, memory by a setting.

python -m benchmarks.bench_bags            # 20,000,000 rows
python -m benchmarks.bench_bags --quick    # 20,000 rows
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import in_turns, timed_row
from papers.label_bags.bags import curate
from tacit.bags.losses import LogisticLoss
from tacit.bags.mechanisms.consistency import make_consistent
from tacit.bags.mechanisms.engine import GroupedRows
from tacit.bags.mechanisms.measure import GridStatistic, public_grid
from tacit.bags.mechanisms.noise import GaussianTotalsNoise, LaplaceTotalsNoise
from tacit.bags.mechanisms.sizes import SizeRule
from tacit.bags.mechanisms.totals_rule import TotalsRule
from tacit.privacy import Unit
from tacit.privacy.noise import system_rng

Row = dict[str, Any]
NUMERIC = [f"I{i}" for i in range(1, 14)]
# from a few values to a million, as in Criteo's 26 columns
VOCABULARIES = [1_000, 500, 1_000_000, 300_000, 300, 20, 10_000, 600, 4, 40_000, 5_000, 800_000, 3_000]
VOCABULARIES += [26, 10_000, 700_000, 10, 5_000, 2_000, 4, 900_000, 18, 16, 200_000, 80, 90_000]
EDGES = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0]
SETS = [("C3",), ("I1", "I2", "C1"), ("C2", "C6", "I7")]
MEMORY = "1GB"
PART = 1_000_000


def run(*, quick: bool) -> list[Row]:
    """Return one row a case."""
    rows = 20_000 if quick else 20_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, rows)
        return [*_building(path, rows, best_of=1 if quick else 3), _bounded(path, rows)]


def write_rows(path: Path, rows: int) -> None:
    """Write numeric columns with missing values, text columns with heavy-tailed vocabularies, and a 0/1 label.

    Of the 39 columns only those that the partitions use: neither side reads the others.
    """
    rng = np.random.default_rng(0)
    used = {name for names in SETS for name in names}
    dictionaries = {
        f"C{j + 1}": pa.array([f"{(i * 2654435761 + j) % 2**32:08x}" for i in range(v)])
        for j, v in enumerate(VOCABULARIES)
        if f"C{j + 1}" in used
    }
    writer = None
    for start in range(0, rows, PART):
        part = _part(min(PART, rows - start), dictionaries, rng)
        writer = writer or pq.ParquetWriter(path, part.schema, compression="zstd", compression_level=1)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def _part(rows: int, dictionaries: dict[str, pa.Array], rng: np.random.Generator) -> pa.Table:
    columns: dict[str, Any] = {}
    for name in sorted({name for names in SETS for name in names if name in NUMERIC}):
        values = np.floor(rng.lognormal(1.5, 1.5, rows)).astype(np.float32)
        columns[name] = pa.array(values, mask=rng.random(rows, dtype=np.float32) < 0.2)
    for name, words in dictionaries.items():
        rank = np.exp(rng.random(rows, dtype=np.float32) * np.log(len(words))).astype(np.int32) - 1
        columns[name] = words.take(pa.array(rank))
    columns["label"] = (rng.random(rows, dtype=np.float32) < 0.25).astype(np.int8)
    return pa.table(columns)


def _building(path: Path, rows: int, *, best_of: int) -> list[Row]:
    edges = {name: EDGES for names in SETS for name in names if name in NUMERIC}

    def ours() -> object:
        return curate(path, by=SETS, edges=edges, label="label", loss=LogisticLoss())

    built, bare = in_turns(ours, lambda: _bare_sql(path), best_of=best_of)
    release = curate(path, by=SETS, edges=edges, label="label", loss=LogisticLoss())
    bags = release.bags
    case = f"3 partitions of {rows:,} rows, {bags:,} bags"
    made = [timed_row(f"build {case}", built, "the same GROUP BYs as SQL in DuckDB, to Arrow", bare)]
    for noise in (LaplaceTotalsNoise(epsilon=1.0), GaussianTotalsNoise(epsilon=1.0, delta=1e-6)):
        seconds = in_turns(lambda noise=noise: _hide(release, noise), best_of=best_of)[0]
        made.append(timed_row(f"{noise.name} noise on {case}", seconds, "building them", built))
    noised = curate(
        path,
        by=SETS,
        edges=edges,
        label="label",
        loss=LogisticLoss(),
        noise=LaplaceTotalsNoise(epsilon=1.0),
        rng=system_rng(),
    )
    start = perf_counter()
    factors = make_consistent(noised).factors
    row = timed_row(f"make consistent {case}", perf_counter() - start, "building them", built)
    return [*made, {**row, "variance_factors": [round(factor, 6) for factor in factors]}]


def _hide(release: Any, noise: LaplaceTotalsNoise | GaussianTotalsNoise) -> None:
    measure = GridStatistic(loss=LogisticLoss(), grid=public_grid(LogisticLoss()))
    plan = TotalsRule(measure=measure, noise=noise, unit=Unit.LABEL, sizes=SizeRule(), partitions=len(SETS))
    calibrated, rng = plan.calibrate(), system_rng()
    assert calibrated is not None
    for at, part in enumerate(release.partitions):
        grouped = GroupedRows(features=part.features, keys=part.keys, counts=part.counts, sums=part.totals)
        plan.hide(grouped, calibrated, at=at, rng=rng)


def _bare_sql(path: Path) -> None:
    connection = duckdb.connect()
    for names in SETS:
        keys = ", ".join(_bucket(name) if name in NUMERIC else name for name in names)
        query = f"SELECT {keys}, count(*), sum(label) FROM '{path}' GROUP BY ALL"
        connection.execute(query).to_arrow_table()
    connection.close()


def _bucket(name: str) -> str:
    cases = " ".join(f"WHEN {name} < {edge} THEN {i}" for i, edge in enumerate(EDGES))
    return f"CASE {cases} WHEN {name} IS NOT NULL THEN {len(EDGES)} END AS {name}"


_PEAK = """
import sys
from pathlib import Path
from tacit.bags.losses import LogisticLoss
from papers.label_bags.bags import curate
from tacit.data import open_table
from benchmarks.bench_bags import EDGES, MEMORY, NUMERIC, SETS
edges = {name: EDGES for names in SETS for name in names if name in NUMERIC}
curate(open_table(sys.argv[1], memory=MEMORY), by=SETS, edges=edges, label="label", loss=LogisticLoss())
status = Path("/proc/self/status")
if status.exists():
    print(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")))
else:
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def _bounded(path: Path, rows: int) -> Row:
    """The whole process, interpreter and result included, with DuckDB held to a setting."""
    start = perf_counter()
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _PEAK, str(path)], capture_output=True, text=True)
    seconds = perf_counter() - start
    if done.returncode:
        raise RuntimeError(done.stderr)
    bare = in_turns(lambda: _bare_sql(path), best_of=1)[0]
    case = f"build 3 partitions of {rows:,} rows in a new process, DuckDB held to {MEMORY}"
    peak = round(int(done.stdout) / 1024)
    size = round(path.stat().st_size / 2**20)
    return {**timed_row(case, seconds, "the same GROUP BYs as SQL, no limit", bare), "peak_mib": peak, "file_mib": size}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    json.dump(run(quick=parser.parse_args().quick), sys.stdout, indent=1)
