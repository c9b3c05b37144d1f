"""The scoring server under load: wrk sends submissions over 64 connections, and every one of them is accounted for.

Run ``python -m benchmarks.scoring_load``; it needs wrk. Results go to ``benchmarks/results/scoring_load.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import func, select

from benchmarks.__main__ import HERE, describe_machine
from tacit.data import titanic
from tacit.privacy.noise import system_rng
from tacit.scores.protect import Budget, Laplace, LogLoss, Setting
from tacit.scores.server import Engine, Limits, Rate, Settings
from tacit.scores.server.app import serve
from tacit.scores.server.demo import create_titanic, titanic_terms
from tacit.scores.server.schema import SUBMISSION, TEAM

CONNECTIONS = 64
TEAMS = 64
FREE = Rate(per_minute=10_000_000, burst=1_000_000)
ROWS = 2201
PATIENCE = 1200


def settings_of(folder: Path, database: str | None) -> Settings:
    return Settings(folder=folder, database=database, limits=Limits(token_rate=FREE, address_rate=FREE))


def prepare(folder: Path, *, submissions: int, database: str | None) -> None:
    """Make the competition and its teams, and what wrk sends."""
    setting = Setting(
        metric=LogLoss(floor=0.01),
        policy=Laplace(epsilon=0.01),
        budget=Budget(per_team=submissions // TEAMS + TEAMS, per_day=None),
    )
    engine = Engine.open(settings_of(folder, database))
    terms = titanic_terms(setting=setting)
    create_titanic(engine, terms=type(terms)(**{**_fields(terms), "most_teams": TEAMS}))
    tokens = [engine.register(engine.invite("titanic"), name=f"Team {i}").token for i in range(TEAMS)]
    engine.close()
    (folder / "tokens.txt").write_text("\n".join(tokens) + "\n")
    values = np.random.default_rng(0).random(ROWS - 1).tolist()
    lines = ["id,prediction", *(f"{row},{value!r}" for row, value in enumerate(values)), f"{ROWS - 1},"]
    (folder / "body.csv").write_text("\n".join(lines))


def measure(*, submissions: int, database: str | None = None) -> dict[str, Any]:
    """Run the load and check every submission against the database and the ledger."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, submissions=submissions, database=database)
        port = _free_port()
        command = [sys.executable, "-m", "benchmarks.scoring_load", "--serve", name, "--port", str(port)]
        extra = ["--database", database] if database else []
        with (folder / "log.txt").open("w") as log:
            server = subprocess.Popen([*command, *extra], stderr=log)
        try:
            _wait_for(port)
            told = _wrk(folder, port, submissions=submissions)
        finally:
            server.terminate()
            used = os.wait4(server.pid, 0)[2]  # the server's own time, whatever else the machine does
        cpu = (used.ru_utime + used.ru_stime) / told["acknowledged"]
        return told | {"server_cpu_seconds": cpu} | _account(folder, database)


def bare_scorer(*, repeats: int = 200) -> float:
    """Return the seconds of metric and policy alone for one submission."""
    metric, policy, rng = LogLoss(floor=0.01), Laplace(epsilon=0.01), system_rng()
    labels, predictions = titanic().codes, np.random.default_rng(0).random(ROWS)
    began = time.perf_counter()
    for _ in range(repeats):
        policy.release(metric.measure(labels, predictions), state={}, rng=rng)
    return (time.perf_counter() - began) / repeats


def _wrk(folder: Path, port: int, *, submissions: int) -> dict[str, Any]:
    url = f"http://127.0.0.1:{port}/api/v1/competitions/titanic/submissions"
    threads = 2
    command = ["wrk", "-t", str(threads), "-c", str(CONNECTIONS), "-d", f"{PATIENCE}s", "--timeout", "30s"]
    script = ["-s", str(HERE / "scoring_load.lua"), url, "--", str(folder), str(submissions), str(threads)]
    wrk = subprocess.Popen([*command, *script], stdout=subprocess.PIPE, text=True)
    # wrk knows a time, not a number: its threads stop at their number, and then it is asked to end
    while wrk.poll() is None and len(list(folder.glob("finished-*.txt"))) < threads:
        time.sleep(0.1)
    wrk.send_signal(signal.SIGINT)
    output = wrk.communicate()[0]
    line = next(line for line in output.splitlines() if line.startswith("RESULT "))
    found: dict[str, Any] = json.loads(line.removeprefix("RESULT "))
    return found


def _account(folder: Path, database: str | None) -> dict[str, Any]:
    """Compare what wrk was told with what is stored and charged."""
    told = [json.loads(line) for path in folder.glob("acknowledged-*.txt") for line in path.read_text().splitlines()]
    engine = Engine.open(settings_of(folder, database))
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
        "ledger_epsilon": spend.spent,
    }


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


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
    parser.add_argument("--database", default=None, help="a postgresql:// URL of an empty database")
    parser.add_argument("--serve", type=Path, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "scoring_load.json")
    given = parser.parse_args()
    if given.serve:
        serve(settings_of(given.serve, given.database), port=given.port)
        return
    if shutil.which("wrk") is None:
        raise SystemExit("this benchmark needs wrk on PATH")
    load = os.getloadavg()[0]
    scorer = bare_scorer()
    found = measure(submissions=given.submissions, database=given.database)
    rate = found["acknowledged"] / found["wall_seconds"]
    found.pop("seconds")  # wrk's own, which counts its waiting
    rows = [
        {
            "case": f"{found['acknowledged']:,} submissions of {ROWS:,} rows over {CONNECTIONS} connections",
            "seconds": 1 / rate,
            "reference": "metric and policy alone",
            "reference_seconds": scorer,
            "ratio": 1 / rate / scorer,
            "throughput": rate,
            "load_before": load,
            "database": "PostgreSQL" if given.database else "SQLite",
            **found,
        }
    ]
    document = {"area": "scoring_load", "date": time.strftime("%Y-%m-%d"), "machine": describe_machine(), "rows": rows}
    given.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
