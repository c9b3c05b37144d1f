"""The scoring server among strangers: honest teams' times while others hold connections open and send large bodies.

Run ``python -m benchmarks.scoring_strangers``. Everything stays on the loopback: teams connect from 127.0.0.1,
strangers from twenty other addresses of it. Strangers are a process of their own at the lowest priority, because their
processor time would be another machine's. Results go to ``benchmarks/results/scoring_strangers.json``.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import HERE, describe_machine
from benchmarks.scoring_load import FREE, ROWS, _free_port, _wait_for, prepare
from tacit.server import ServerLimits, ServerSettings
from tacit.server.app import serve

CONNECTIONS = 1_000
BODY = 64 * 2**20
_HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-a: "
_BODIES = {
    "/api/v1/teams": ("application/json", b'{"a":[' + b"[]," * (BODY // 3) + b"0]}"),
    "/sign-in": ("application/x-www-form-urlencoded", b"a=" + b"%41" * (BODY // 3)),
}


def measure(*, seconds: float) -> dict[str, Any]:
    """Return how long honest requests take without strangers, and with each kind of them."""
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), _free_port()
        prepare(folder, submissions=20_000, database=None)
        command = [sys.executable, "-m", "benchmarks.scoring_strangers", "--serve", name, "--port", str(port)]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            _wait_for(port)
            found = {
                kind: _under(port, folder, kind, seconds=seconds, process=server.pid) for kind in ("quiet", *_STRANGERS)
            }
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)
    return found


def _under(port: int, folder: Path, kind: str, *, seconds: float, process: int) -> dict[str, Any]:
    """Measure honest requests while strangers do what they do."""
    command = [sys.executable, "-m", "benchmarks.scoring_strangers", "--strangers", kind, "--port", str(port)]
    strangers = subprocess.Popen(command, stdout=subprocess.PIPE) if kind in _STRANGERS else None
    if strangers is not None and strangers.stdout is not None:
        strangers.stdout.readline()  # they have begun
        time.sleep(2.0)
    times = _honest(port, folder, seconds=seconds)
    if strangers is not None:
        strangers.terminate()
        strangers.wait()
    return {
        "requests": len(times),
        "failed": sum(1 for one in times if one is None),
        "p50": _quantile(times, 0.5),
        "p99": _quantile(times, 0.99),
        "peak_memory_mib": _peak(process),
    }


def _honest(port: int, folder: Path, *, seconds: float) -> list[float | None]:
    """Send one submission after another, as one team after another; return the time of each, None if it failed."""
    tokens = (folder / "tokens.txt").read_text().split()
    body = (folder / "body.csv").read_bytes()
    times: list[float | None] = []
    began, number = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        headers = {"Authorization": f"Bearer {tokens[number % len(tokens)]}", "Content-Type": "text/csv"}
        sent = body + repr(np.random.default_rng().random()).encode()
        number += 1
        start = time.perf_counter()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("POST", "/api/v1/competitions/titanic/submissions", body=sent, headers=headers)
            answer = connection.getresponse()
            answer.read()
            times.append(time.perf_counter() - start if answer.status == 201 else None)
            connection.close()
        except OSError:
            times.append(None)
    return times


def _hold(port: int, place: int, stop: threading.Event) -> None:
    """Hold half-sent requests open, and open others where the server closes them."""
    held: list[socket.socket] = []
    while not stop.wait(0.2):
        while len(held) < CONNECTIONS // 20:
            try:
                one = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=(f"127.0.0.{place}", 0))
                one.sendall(_HALF)
                held.append(one)
            except OSError:
                break
        for one in list(held):
            try:
                one.sendall(b"b")
            except OSError:
                one.close()
                held.remove(one)
    for one in held:
        one.close()


def _send(port: int, place: int, stop: threading.Event) -> None:
    """Send one large body after another."""
    while not stop.wait(0.2):
        for path, (kind, body) in _BODIES.items():
            try:
                connection = http.client.HTTPConnection(
                    "127.0.0.1", port, timeout=30, source_address=(f"127.0.0.{place}", 0)
                )
                connection.request("POST", path, body=body, headers={"content-type": kind})
                connection.getresponse().read()
            except OSError:
                pass
            finally:
                connection.close()


_STRANGERS: dict[str, Callable[[int, int, threading.Event], None]] = {
    "half-sent requests": _hold,
    "large bodies": _send,
}


def _be_strangers(kind: str, port: int) -> None:
    """Do what strangers do from twenty addresses, until ended."""
    os.nice(19)
    stop = threading.Event()
    for place in range(2, 22):
        threading.Thread(target=_STRANGERS[kind], args=(port, place, stop), daemon=True).start()
    print("begun", flush=True)
    signal.pause()


def _quantile(times: list[float | None], share: float) -> float:
    return float(np.quantile([np.inf if one is None else one for one in times], share, method="higher"))


def _peak(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--serve", type=Path)
    parser.add_argument("--strangers", choices=list(_STRANGERS))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "scoring_strangers.json")
    told = parser.parse_args()
    if told.serve is not None:
        serve(ServerSettings(folder=told.serve, limits=ServerLimits(token_rate=FREE)), port=told.port, log=False)
        return
    if told.strangers is not None:
        _be_strangers(told.strangers, told.port)
    found = {
        "rows": ROWS,
        "connections": CONNECTIONS,
        "body_bytes": BODY,
        "date": date.today().isoformat(),
        "machine": describe_machine(),
        "found": measure(seconds=told.seconds),
    }
    told.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found["found"], indent=1))


if __name__ == "__main__":
    main()
