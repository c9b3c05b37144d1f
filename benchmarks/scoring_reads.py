"""Reads of a large competition: processor time of a page, an answer of the API and a repeated visit.

Run ``python -m benchmarks.scoring_reads``: a competition of 100 teams and 100,000 submissions is stored, a server is
started in a process of its own, and its processor time is read before and after 100 requests of each kind. Between
two visits of a page a submission is stored, so that no answer is an earlier one. Results:
``benchmarks/results/scoring_reads.json``.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert, update

from benchmarks.__main__ import HERE, describe_machine
from benchmarks.scoring_load import _free_port, _wait_for, settings_of
from tacit.server import CompetitionPlan, Rules, ScoringEngine
from tacit.server.demo import create_titanic, titanic_terms
from tacit.server.schema import SUBMISSION, TEAM
from tacit.server.standings import fill_best

TEAMS, VISITS = 100, 100
_TICKS = os.sysconf("SC_CLK_TCK")
READS = {
    "the page": "/c/titanic",
    "the leaderboard": "/api/v1/competitions/titanic/leaderboard",
    "the history, 1,000 newest": "/api/v1/competitions/titanic/history",
    "the history, 100 newest": "/api/v1/competitions/titanic/history?most=100",
}


def prepare(folder: Path, *, submissions: int) -> str:
    """Store a competition whose teams improve now and then; return a team's token."""
    each = submissions // TEAMS
    plan = CompetitionPlan(policy="laplace", epsilon=each / 100, submissions=each + VISITS * len(READS))
    rules = Rules(plan=plan, per_day=None, public_fraction=1.0, teams=TEAMS, together=None)
    engine = ScoringEngine.open(settings_of(folder, None))
    create_titanic(engine, terms=titanic_terms(rules=rules))
    joined = [engine.register(engine.invite("titanic"), name=f"Team {number}") for number in range(TEAMS)]
    rng, begin = np.random.default_rng(0), datetime(2026, 1, 1, tzinfo=UTC)
    with engine._database.writing() as connection:
        for one in joined:
            scores = np.round(0.7 - 0.02 * np.log1p(np.arange(each)) + 0.03 * rng.standard_normal(each), 3)
            rows = [
                {
                    "team": one.team.id,
                    "number": number + 1,
                    "key": f"{one.team.id}-{number}",
                    "time": (begin + timedelta(seconds=number * TEAMS + one.team.id)).isoformat(),
                    "digest": f"{one.team.id}-{number}",
                    "charged": True,
                    "released": float(score),
                    "text": f"{score:.3f}",
                    "inspected": True,
                    "sketch": None,
                    "competition": 1,
                }
                for number, score in enumerate(scores)
            ]
            connection.execute(insert(SUBMISSION), rows)
        connection.execute(update(TEAM).values(used=each, drawn=each))
        fill_best(connection, 1, lower=True)
    engine.close()
    return joined[0].token


def visit(port: int, path: str, headers: dict[str, str], *, body: bytes | None = None) -> tuple[int, str | None, int]:
    """Return status, tag and length of an answer, over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET" if body is None else "POST", path, body=body, headers=headers)
    answer = connection.getresponse()
    length = len(answer.read())
    connection.close()
    return answer.status, answer.getheader("etag"), length


def cost(process: int, port: int, path: str, *, headers: dict[str, str], submit: Any = None) -> dict[str, Any]:
    """Return milliseconds of the server's processor time for one request, without those of what changes the page."""
    visit(port, path, headers)
    spent, told = 0.0, (0, None, 0)
    for _ in range(VISITS):
        if submit is not None:
            submit()
        begin = seconds_of(process)
        told = visit(port, path, headers)
        spent += seconds_of(process) - begin
    return {"status": told[0], "bytes": told[2], "milliseconds": 1000 * spent / VISITS}


def seconds_of(process: int) -> float:
    """Return the processor time of all threads of a process, in nanoseconds' resolution where Linux has it."""
    total = 0
    for task in Path(f"/proc/{process}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def measure(*, submissions: int) -> list[dict[str, Any]]:
    """Return one row for each kind of read."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        token = prepare(Path(name), submissions=submissions)
        port = _free_port()
        command = [sys.executable, "-m", "benchmarks.scoring_load", "--serve", name, "--port", str(port)]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            _wait_for(port)
            host, values = {"Authorization": f"Bearer {token}", "Content-Type": "text/csv"}, np.random.default_rng(1)

            def submit() -> None:
                lines = "".join(f"{row},{value:.3f}\n" for row, value in enumerate(values.random(2201)))
                body = f"id,prediction\n{lines}".encode()
                status = visit(port, "/api/v1/competitions/titanic/submissions", host, body=body)[0]
                assert status == 201, status

            for what, path in READS.items():
                found = cost(server.pid, port, path, headers={}, submit=submit if what == "the page" else None)
                rows.append({"read": f"{what}, after a submission" if what == "the page" else what, **found})
            tag = visit(port, "/c/titanic", {})[1] or ""
            again = cost(server.pid, port, "/c/titanic", headers={"If-None-Match": tag})
            rows.append({"read": "the page again, unchanged", **again})
        finally:
            server.terminate()
            server.wait()
    return rows


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "scoring_reads.json")
    told = parser.parse_args()
    rows = measure(submissions=told.submissions)
    document = {"date": date.today().isoformat(), "machine": describe_machine(), "submissions": told.submissions}
    told.out.write_text(json.dumps(document | {"rows": rows}, indent=1) + "\n")
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
