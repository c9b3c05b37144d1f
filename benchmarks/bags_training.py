"""Training from bags against training the same network on individual labels, batch by batch in the same run.

python -m benchmarks.bags_training            # 100,000 rows, Criteo-like
python -m benchmarks.bags_training --quick
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch

from benchmarks.__main__ import describe_machine
from papers.label_bags.bags import curate
from tacit.bags.learners import MLP, Ridge
from tacit.bags.learners.batches import EncodedRows, batches, encode, vocabulary
from tacit.bags.learners.cells import PartCells, cells_of
from tacit.bags.learners.network import BagTargets, _targets, _tensors, bag_loss
from tacit.bags.learners.part_networks import PartModules
from tacit.bags.losses import LogisticLoss
from tacit.privacy.files import write_atomically

RESULT = Path(__file__).parent / "results" / "bags_training.json"
PAGE = Path(__file__).parents[1] / "docs" / "bags_learn.md"
BEGIN, END = "<!-- bags_training: begin -->", "<!-- bags_training: end -->"
COLUMNS = tuple(f"C{i}" for i in range(1, 7))
SETS = (("C1", "C2"), ("C3", "C4"), ("C5", "C6"))
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def heavy_tailed(rows: int, *, rng: np.random.Generator) -> pd.DataFrame:
    """Return categorical columns whose values are few and frequent, or many and rare, and a 0/1 label."""
    frame = pd.DataFrame({name: np.minimum(rng.zipf(1.6, size=rows), 2000).astype(np.int64) for name in COLUMNS})
    score = sum(np.sin(frame[name] * (i + 1.0)) for i, name in enumerate(COLUMNS)) - 1
    frame["label"] = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(np.int64)
    return frame


def epoch(
    modules: PartModules,
    rows: EncodedRows,
    loss_of: Callable[..., torch.Tensor],
    *,
    batch_rows: int,
) -> float:
    """Train for one epoch on shuffled batches, and return its seconds; both ways read the same batches."""
    optimizer = torch.optim.Adam(modules.parameters(), lr=0.01)
    _wait()
    begun = time.perf_counter()
    order = batches(rows, batch_rows=batch_rows, block_rows=1 << 18, rng=np.random.default_rng(0))
    for size, codes, bags in order:
        optimizer.zero_grad(set_to_none=True)
        (loss_of(modules, codes, bags) / size).backward()
        optimizer.step()
    _wait()
    return time.perf_counter() - begun


def from_labels(modules: PartModules, codes: np.ndarray, carried: np.ndarray) -> torch.Tensor:
    """The loss of the same network on individual labels, which take the place of the bag numbers."""
    on_device, labels = _tensors(codes, carried, DEVICE)
    outputs = [part(on_device[:, seen]) for part, seen in zip(modules.parts, modules.seen, strict=True)]
    f = modules.add(outputs)
    return LogisticLoss().tensor_potential(f).sum() - (f[:, 0] * labels[:, 0]).sum()


def compare(*, rows: int, batch_rows: int, hidden: tuple[int, ...], repeats: int) -> dict[str, Any]:
    """Time epochs from bags and from labels in turn; keep the fastest of each."""
    rng = np.random.default_rng(0)
    frame = heavy_tailed(rows, rng=rng)
    table = pa.Table.from_pandas(frame)
    release = curate(table, by=SETS, label="label", loss=LogisticLoss())
    cells = cells_of([MLP(columns, hidden=hidden, embedding=16) for columns in SETS], release.partitions)
    columns = vocabulary(cells)
    with encode(table, columns, release.partitions, block_rows=1 << 18) as joined:
        labeled = EncodedRows(codes=joined.codes, bags=frame[["label"]].to_numpy().astype(np.int32))
        modules, targets = _network(cells, columns, release.partitions, joined)
        seconds: dict[str, list[float]] = {"bags": [], "labels": []}
        for _ in range(repeats):
            seconds["labels"].append(epoch(modules, labeled, from_labels, batch_rows=batch_rows))
            with_bags = lambda m, c, b: bag_loss(m, targets, *_tensors(c, b, DEVICE))  # noqa: E731
            seconds["bags"].append(epoch(modules, joined, with_bags, batch_rows=batch_rows))
    bags, labels = min(seconds["bags"]), min(seconds["labels"])
    return {
        "case": f"an epoch of {rows:,} rows from bags, batches of {batch_rows}, hidden {hidden}, {DEVICE.type}",
        "seconds": bags,
        "reference": "the same network on individual labels",
        "reference_seconds": labels,
        "ratio": bags / labels,
        "rows_per_second": rows / bags,
        "throughput_ratio": labels / bags,
    }


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Return one row a case; ``throughput_ratio`` is rows per second from bags over rows per second from labels."""
    rows, repeats = (20_000, 1) if quick else (100_000, 5)
    return [
        compare(rows=rows, batch_rows=batch_rows, hidden=hidden, repeats=repeats)
        for batch_rows, hidden in ((1024, (64, 32)), (8192, (64, 32)))
    ]


def _network(
    cells: list[PartCells], columns: tuple[Any, ...], partitions: tuple[Any, ...], joined: EncodedRows
) -> tuple[PartModules, BagTargets]:
    torch.manual_seed(0)
    modules = PartModules(cells, columns, targets=1).to(DEVICE)
    sources = sorted({one.source for one in cells})
    used = [partitions[source] for source in sources]
    targets = _targets(cells, used, sources, joined, loss=LogisticLoss(), penalty=Ridge(l2=0.0), like=modules.intercept)
    return modules, targets


def _wait() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Print the rows as JSON; at full size keep them, and put a table on the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows, to try the code; nothing is kept")
    quick = parser.parse_args().quick
    document = {"date": datetime.now(UTC).date().isoformat(), "machine": describe_machine(), "rows": run(quick=quick)}
    json.dump(document, sys.stdout, indent=2)
    print()
    if not quick:
        with write_atomically(RESULT, force=True) as file:
            file.write(json.dumps(document, indent=1).encode() + b"\n")
        put_into(PAGE, table(document))


def table(document: dict[str, Any]) -> str:
    """Return the rows as Markdown."""
    machine = document["machine"]
    lines = [
        f"Measured {document['date']}, {machine['processor']}, {machine['cores']} shared cores.",
        "",
        "| case | rows per second from bags | throughput relative to individual labels |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {row['case']} | {row['rows_per_second']:,.0f} | {row['throughput_ratio']:.2f} |" for row in document["rows"]
    ]
    return "\n".join(lines) + "\n"


def put_into(page: Path, text: str) -> None:
    """Replace what is between the markers of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
