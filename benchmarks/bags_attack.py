"""How long it takes to find the labels that totals fix, and how much memory: a million rows in five partitions.

    python -m benchmarks.bags_attack --out benchmarks/results/bags_attack.json
    python -m benchmarks.bags_attack --quick

Rows are generated: five columns with heavy-tailed values, one label in ten is a 1. Each case runs in a process of its
own, whose peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tacit.bags.attacks import labels_from_totals
from tacit.bags.attacks.system import membership_of

VALUES = (50, 200, 1000, 5000, 80)
CASES = {
    "five partitions, every bag published": {"partitions": 5, "least": 1},
    "five partitions, bags of 20 or more": {"partitions": 5, "least": 20},
    "two partitions, every bag published": {"partitions": 2, "least": 1},
}


def generate(rows: int, *, partitions: int, least: int, seed: int = 0) -> tuple[list[Any], list[int], Any]:
    """Return the bag of each row in each partition, the number of bags, and the labels."""
    rng = np.random.default_rng(seed)
    assigned, bags = [], []
    for values in VALUES[:partitions]:
        drawn = np.minimum((rng.pareto(1.1, rows) * values / 50).astype(np.int64), values - 1)
        number = np.unique(drawn, return_inverse=True)[1]
        counts = np.bincount(number)
        assigned.append(np.where(counts[number] >= least, number, -1))
        bags.append(len(counts))
    return assigned, bags, (rng.random(rows) < 0.1).astype(np.int64)


def measure(name: str, rows: int, *, witness: bool) -> dict[str, Any]:
    """Run one case in this process."""
    assigned, bags, labels = generate(rows, **CASES[name])
    membership = membership_of(assigned, bags=bags)
    totals = (membership.T @ labels)[:, None]
    start, busy = time.perf_counter(), time.process_time()
    found = labels_from_totals(
        membership,
        totals,
        groups=np.repeat(np.arange(len(bags)), bags),
        witness=labels if witness else None,
    )
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - busy
    wrong = int((found.labels[found.known] != labels[found.known]).sum())
    if wrong:
        raise SystemExit(f"{name}: {wrong} labels are wrong")
    return {
        "case": name,
        "witness": witness,
        "bags": int(sum(bags)),
        **found.to_json(),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    """Run all cases, or one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    parser.add_argument("--quick", action="store_true", help="20,000 rows")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--case", choices=CASES, help="run one case here and print it as JSON")
    parser.add_argument("--witness", action="store_true", help="with --case: prove by the true labels what is open")
    options = parser.parse_args()
    rows = 20_000 if options.quick else options.rows
    if options.case:
        print(json.dumps(measure(options.case, rows, witness=options.witness)))
        return
    results = []
    for name in CASES:
        for witness in ("", "--witness"):
            command = [sys.executable, "-m", "benchmarks.bags_attack", "--case", name, "--rows", str(rows), witness]
            done = subprocess.run([word for word in command if word], capture_output=True, check=True, text=True)
            results.append(json.loads(done.stdout))
            print(json.dumps(results[-1]), file=sys.stderr)
    document = {"machine": platform.platform(), "python": platform.python_version(), "results": results}
    if options.out:
        options.out.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
