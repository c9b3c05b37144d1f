"""What a command costs before it does anything: CPU seconds of whole processes, compared with what they may take."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import timed_row

ROWS = 1_000
COMMAND = "from tacit.cli import main; main()"
LABEL = "--label y --epsilon 1"
RANGES = "--delta 1e-6 --features a --ranges *=0,6"
CASES = {
    "import tacit": (["import tacit"], 0.1),
    "tacit --help": ([COMMAND, "--help"], 0.15),
    "refusal: no such table": ([COMMAND, *f"labels protect absent.csv {LABEL}".split()], 0.4),
    "refusal: a bad epsilon": ([COMMAND, *f"labels protect t.csv {LABEL} --epsilon much".split()], 0.4),
    "refusal: an existing file": ([COMMAND, *f"labels protect t.csv {LABEL} --out taken.parquet".split()], 0.4),
    "refusal: no such ledger": ([COMMAND, *f"labels protect t.csv {LABEL} --ledger absent.db".split()], 0.4),
    "refusal: no such release": ([COMMAND, "models", "attack", "absent.safetensors"], 0.4),
    "refusal: no table to plan for": ([COMMAND, "init", "absent.csv", "--label", "y"], 0.4),
    "refusal: a page over an input": ([COMMAND, "audit", "t.csv", "--out", "t.csv"], 0.4),
    "refusal: a ledger to show": ([COMMAND, "ledger", "show", "--ledger", "absent.db"], 0.4),
    "labels protect": ([COMMAND, *f"labels protect t.csv {LABEL} --force --out l.parquet".split()], 1.0),
    "bags protect": ([COMMAND, *f"bags protect t.csv {LABEL} --by a --force --out b".split()], 1.0),
    "features protect": ([COMMAND, *f"features protect t.csv {LABEL} {RANGES} --force --out f.parquet".split()], 1.0),
    "scores protect": ([COMMAND, *f"scores protect t.csv {LABEL} --force --out s.json".split()], 1.0),
}


def run(*, quick: bool) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        rows = "".join(f"{i % 7},{'yes' if i % 4 else 'no'}\n" for i in range(ROWS))
        (Path(folder) / "t.csv").write_text(f"a,y\n{rows}")
        (Path(folder) / "taken.parquet").touch()
        repeats, every = (1, 3) if quick else (5, 1)
        return [
            timed_row(case, min(_cpu(code, folder) for _ in range(repeats)), "the most it may take", most)
            for case, (code, most) in list(CASES.items())[::every]
        ]


def _cpu(code: Sequence[str], folder: str) -> float:
    """Return user and system seconds of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", *code], cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
