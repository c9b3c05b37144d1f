"""The scoring server under load: wrk sends submissions over 64 connections, and every one of them is accounted for.

Run ``python -m benchmarks.scoring_load``; it needs wrk. Results go to ``benchmarks/results/scoring_load.json``. With
``--database postgresql://...`` SQLite and PostgreSQL, each with one and with four server processes, take turns in fresh
tables, while one more client reads the leaderboard; results go to ``benchmarks/results/scoring_load_postgresql.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import func, select

from benchmarks.__main__ import HERE, describe_machine
from tacit.data import titanic
from tacit.privacy.noise import system_rng
from tacit.scores.metrics import LogLoss
from tacit.scores.policies import Laplace
from tacit.server import CompetitionPlan, RequestRate, Rules, ScoringEngine, ServerLimits, ServerSettings
from tacit.server.app import serve
from tacit.server.demo import create_titanic, titanic_terms
from tacit.server.schema import SUBMISSION, TEAM

CONNECTIONS = 64
TEAMS = 64
FREE = RequestRate(per_minute=10_000_000, burst=1_000_000)
ROWS = 2201
PATIENCE = 1200


def settings_of(folder: Path, database: str | None) -> ServerSettings:
    limits = ServerLimits(token_rate=FREE, address_rate=FREE, connections=2 * CONNECTIONS)
    return ServerSettings(folder=folder, database=database, limits=limits)


def prepare(folder: Path, *, submissions: int, database: str | None) -> None:
    """Make the competition and its teams, and what wrk sends."""
    each = submissions // TEAMS + TEAMS
    plan = CompetitionPlan(policy="laplace", epsilon=each / 100, submissions=each)
    rules = Rules(plan=plan, per_day=None, public_fraction=1.0, teams=TEAMS, together=None)
    engine = ScoringEngine.open(settings_of(folder, database))
    create_titanic(engine, terms=titanic_terms(rules=rules))
    tokens = [engine.register(engine.invite("titanic"), name=f"Team {i}").token for i in range(TEAMS)]
    engine.close()
    (folder / "tokens.txt").write_text("\n".join(tokens) + "\n")
    values = np.random.default_rng(0).random(ROWS - 1).tolist()
    lines = ["id,prediction", *(f"{row},{value!r}" for row, value in enumerate(values)), f"{ROWS - 1},"]
    (folder / "body.csv").write_text("\n".join(lines))


def measure(*, submissions: int, database: str | None = None, processes: int = 1) -> dict[str, Any]:
    """Run the load and check every submission against the database and the ledger."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, submissions=submissions, database=database)
        ports = [_free_port() for _ in range(processes)]
        command = [sys.executable, "-m", "benchmarks.scoring_load", "--serve", name]
        extra = ["--database", database] if database else []
        with (folder / "log.txt").open("w") as log:
            servers = [subprocess.Popen([*command, "--port", str(port), *extra], stderr=log) for port in ports]
        try:
            for port in ports:
                _wait_for(port)
            with _reading(ports[0]) as reads:
                told = _wrk(folder, ports, submissions=submissions)
            told |= {"reads": len(reads), "read_p50": _quantile(reads, 0.5), "read_p99": _quantile(reads, 0.99)}
        finally:
            for server in servers:
                server.terminate()
            used = [os.wait4(server.pid, 0)[2] for server in servers]  # their own time, whatever else the machine does
        cpu = sum(one.ru_utime + one.ru_stime for one in used) / told["acknowledged"]
        return told | {"server_cpu_seconds": cpu} | _account(folder, database)


def compare(database: str, *, submissions: int, repeats: int) -> list[dict[str, Any]]:
    """Let the databases take turns, so that what else the machine does falls on all of them."""
    cases = {
        (name, processes): url for name, url in (("SQLite", None), ("PostgreSQL", database)) for processes in (1, 4)
    }
    found: dict[tuple[str, int], list[dict[str, Any]]] = {case: [] for case in cases}
    for _ in range(repeats):
        for case, url in cases.items():
            with _fresh(url) as place:
                found[case].append(measure(submissions=submissions, database=place, processes=case[1]))
    rates = {
        case: sum(run["acknowledged"] for run in runs) / sum(run["wall_seconds"] for run in runs)
        for case, runs in found.items()
    }
    return [
        {
            "case": f"{name}, {processes} server process{'es' if processes > 1 else ''}",
            "database": name,
            "processes": processes,
            "throughput": rates[name, processes],
            "ratio_to_sqlite": rates[name, processes] / rates["SQLite", 1],
            "runs": found[name, processes],
        }
        for name, processes in cases
    ]


def bare_scorer(*, repeats: int = 200) -> float:
    """Return the seconds of metric and policy alone for one submission."""
    metric, policy, rng = LogLoss(floor=0.01), Laplace(epsilon=0.01), system_rng()
    labels, predictions = titanic().codes, np.random.default_rng(0).random(ROWS)
    began = time.perf_counter()
    for _ in range(repeats):
        policy.release(metric.measure(labels, predictions), state={}, rng=rng)
    return (time.perf_counter() - began) / repeats


def _wrk(folder: Path, ports: list[int], *, submissions: int) -> dict[str, Any]:
    """Run one wrk a server; all of them send the submissions of all teams."""
    threads = max(1, 2 // len(ports))
    shared = ["wrk", "-t", str(threads), "-c", str(CONNECTIONS // len(ports)), "-d", f"{PATIENCE}s", "--timeout", "30s"]
    running = []
    for place, port in enumerate(ports):
        url = f"http://127.0.0.1:{port}/api/v1/competitions/titanic/submissions"
        told = [str(folder), str(submissions // len(ports)), str(threads), str(threads * place)]
        command = [*shared, "-s", str(HERE / "scoring_load.lua"), url, "--", *told]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    # wrk knows a time, not a number: its threads stop at their number, and then it is asked to end
    while all(wrk.poll() is None for wrk in running) and (
        len(list(folder.glob("finished-*.txt"))) < threads * len(ports)
    ):
        time.sleep(0.1)
    for wrk in running:
        wrk.send_signal(signal.SIGINT)
    lines = [line for wrk in running for line in wrk.communicate()[0].splitlines() if line.startswith("RESULT ")]
    found = [json.loads(line.removeprefix("RESULT ")) for line in lines]
    added = {name: sum(one[name] for one in found) for name in ("acknowledged", "refused", "socket_errors")}
    return added | {name: max(one[name] for one in found) for name in ("p50", "p99", "max")}


@contextmanager
def _reading(port: int) -> Iterator[list[float]]:
    """Read the leaderboard ten times per second; the value is the seconds of each answer."""
    seconds: list[float] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.wait(0.1):
            began = time.perf_counter()
            url = f"http://127.0.0.1:{port}/api/v1/competitions/titanic/leaderboard"
            urllib.request.urlopen(url, timeout=60).read()
            seconds.append(time.perf_counter() - began)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    yield seconds
    stop.set()
    thread.join()


def _quantile(seconds: list[float], share: float) -> float:
    return float(np.quantile(seconds, share)) if seconds else math.nan


@contextmanager
def _fresh(database: str | None) -> Iterator[str | None]:
    """A schema of its own inside a PostgreSQL database, gone afterwards; None stays None."""
    if database is None:
        yield None
        return
    import psycopg

    schema = f"load_{secrets.token_hex(6)}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        try:
            yield f"{database}{'&' if '?' in database else '?'}options=-csearch_path%3D{schema}"
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


def _account(folder: Path, database: str | None) -> dict[str, Any]:
    """Compare what wrk was told with what is stored and charged."""
    told = [json.loads(line) for path in folder.glob("acknowledged-*.txt") for line in path.read_text().splitlines()]
    engine = ScoringEngine.open(settings_of(folder, database))
    with engine._database.reading() as connection:
        rows = connection.execute(select(SUBMISSION.c.key, SUBMISSION.c.text)).all()
        counts = dict(connection.execute(select(SUBMISSION.c.team, func.count()).group_by(SUBMISSION.c.team)).all())
        teams = connection.execute(select(TEAM.c.id, TEAM.c.used, TEAM.c.drawn, TEAM.c.reserved)).all()
    stored = dict(rows)
    spend = engine.spend("titanic")
    engine.close()
    moments = sorted(datetime.fromisoformat(score["time"]) for score in told)
    return {
        "wall_seconds": (moments[-1] - moments[0]).total_seconds(),
        "lost": sum(stored.get(score["id"]) != score["text"] for score in told),
        "double": sum(count - 1 for count in Counter(key for key, _ in rows).values()),
        "stored_not_acknowledged": len(rows) - len(told),
        "budget_exceeded": sum(
            drawn > reserved or counts.get(team, 0) != used for team, used, drawn, reserved in teams
        ),
        "uncovered": max(0, len(rows) - sum(reserved for *_, reserved in teams)),
        "ledger_used": spend.used,
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/health", timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server did not start within 60 s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=10_000)
    parser.add_argument("--database", default=None, help="a postgresql:// URL: compare it with SQLite")
    parser.add_argument("--repeats", type=int, default=3, help="turns of a comparison")
    parser.add_argument("--serve", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    if given.serve:
        serve(settings_of(given.serve, given.database), port=given.port)
        return
    if shutil.which("wrk") is None:
        raise SystemExit("this benchmark needs wrk on PATH")
    load = os.getloadavg()[0]
    area = "scoring_load_postgresql" if given.database else "scoring_load"
    if given.database:
        rows = compare(given.database, submissions=given.submissions, repeats=given.repeats)
    else:
        rows = [_one(submissions=given.submissions)]
    document = {
        "area": area,
        "date": time.strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "load_before": load,
        "rows": rows,
    }
    out = given.out or HERE / "results" / f"{area}.json"
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")


def _one(*, submissions: int) -> dict[str, Any]:
    load, scorer = os.getloadavg()[0], bare_scorer()
    found = measure(submissions=submissions)
    rate = found["acknowledged"] / found["wall_seconds"]
    return {
        "case": f"{found['acknowledged']:,} submissions of {ROWS:,} rows over {CONNECTIONS} connections",
        "seconds": 1 / rate,
        "reference": "metric and policy alone",
        "reference_seconds": scorer,
        "ratio": 1 / rate / scorer,
        "throughput": rate,
        "load_before": load,
        "database": "SQLite",
        **found,
    }


if __name__ == "__main__":
    main()
