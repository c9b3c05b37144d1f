"""What a charge costs: the first one and the 10,001st, and data fingerprinted."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution

from benchmarks.timing import timed_row
from tacit.privacy import Guarantee, Unit
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.book import DataSetAccounts
from tacit.privacy.ledger.fingerprint import fingerprints

DELTA = 1e-6
KINDS = 10  # distinct epsilons, so that nothing is gained by composing one of them with itself


def run(*, quick: bool) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return [*_charges(Path(folder), quick=quick), _fingerprint(rows=10**5 if quick else 10**7)]


def _charges(folder: Path, *, quick: bool) -> list[dict[str, Any]]:
    charges, repeats = (200, 5) if quick else (10_000, 21)
    ledger = Ledger.create(folder / "ledger.db")
    ledger.register([0, 1], name="adult", budget=Guarantee(unit=Unit.LABEL, epsilon=11.0, delta=DELTA))
    # 10,000 of them use most of the budget
    kinds = [Guarantee(unit=Unit.LABEL, epsilon=round(0.0158 + 0.0005 * k, 4)) for k in range(KINDS)]
    first = _median(lambda: ledger.charge("adult", kinds[0], purpose="benchmark"), repeats)
    _fast_forward(ledger, [kinds[i % KINDS] for i in range(charges - repeats)])
    used = ledger.statement("adult").used
    later = _median(lambda: ledger.charge("adult", kinds[0], purpose="benchmark"), repeats)
    insert_one = _durable_insert(folder / "plain.db", repeats)
    again = _median(lambda: _dp_accounting(kinds, charges // KINDS), 3)
    rebuilt = _median(lambda: ledger.rebuild("adult"), 3)
    opened = _median(lambda: Ledger.open(folder / "ledger.db"), 3)
    return [
        timed_row("first charges", first, "one durable SQLite insert", insert_one),
        timed_row(f"charge after {charges:,}", later, "one durable SQLite insert", insert_one, used=used),
        timed_row(f"charge after {charges:,}", later, "dp-accounting, all charges composed anew", again, used=used),
        timed_row(f"opening {charges:,} charges, all linked", opened, "one durable SQLite insert", insert_one),
        timed_row(f"rebuild of {charges:,} charges", rebuilt, "dp-accounting, all charges composed anew", again),
    ]


def _fast_forward(ledger: Ledger, guarantees: list[Guarantee]) -> None:
    """Write charges in one transaction: the state is that of as many single charges."""
    with ledger.transaction() as rows:
        book = DataSetAccounts.find(rows, "adult", lock=True)
        account = book.account("all")
        for guarantee in guarantees:
            account = account.add(guarantee)
            book.append(parts=["all"], purpose="x", version=1, guarantee=json.dumps(guarantee.to_json()))
        book.put({"all": account})


def _dp_accounting(kinds: list[Guarantee], count: int) -> float:
    total = privacy_loss_distribution.identity(value_discretization_interval=1e-3)
    for kind in kinds:
        one = privacy_loss_distribution.from_privacy_parameters(
            privacy_loss_distribution.common.DifferentialPrivacyParameters(kind.epsilon, 0.0),
            value_discretization_interval=1e-3,
        )
        total = total.compose(one.self_compose(count))
    return float(total.get_epsilon_for_delta(DELTA))


def _durable_insert(path: Path, repeats: int) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (x TEXT)")
    seconds = _median(lambda: connection.execute("INSERT INTO t VALUES ('x')"), repeats)
    connection.close()
    return seconds


def _fingerprint(*, rows: int) -> dict[str, Any]:
    labels = np.random.default_rng(0).integers(0, 10, rows)
    plain = _median(lambda: hashlib.sha256(labels.tobytes()).digest(), 3)
    return timed_row(
        f"fingerprint of {rows:,} labels",
        _median(lambda: fingerprints(labels, secret=b"key"), 3),
        "hashlib.sha256 of the same array",
        plain,
    )


def _median(call: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
