"""Follow one label, one charge and one finding through tacit, and write the files that they pass into CONTRIBUTING.md.

    python scripts/walk.py

What is followed is handed over when a function of another file is called with it, or returns or yields it. A helper
that is called and returns is part of the visit of its caller; a file that two files call is visited twice.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields, is_dataclass
from io import StringIO
from pathlib import Path
from types import FrameType, GeneratorType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

import tacit
from tacit.audit.config import read_plan
from tacit.audit.finding import Finding
from tacit.audit.measure import measure
from tacit.audit.plan import PlannedRelease
from tacit.cli import main as tacit_main
from tacit.data.view import TableView
from tacit.leak import Leak
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.records import Receipt
from tacit.privacy.ledger.requests import ReleaseCharge

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
SECTION = re.compile(r"(?<=<!-- walk -->\n).*?(?=<!-- end of walk -->)", flags=re.DOTALL)
SOURCE = str(Path(tacit.__file__).parent) + os.sep
BATCH, REST = 1 << 16, 997  # two batches, of lengths that nothing else has
LENGTHS = (BATCH, REST, BATCH + REST)
CHARGE = (Guarantee, ReleaseCharge, Receipt)
FINDING = (PlannedRelease, Leak, Finding)

Carries = Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class HandOver:
    """A function that is given what is followed, or gives it to its caller."""

    file: str
    function: str
    caller: str
    reading: int  # how often the table was read until then


class Follower:
    """Notes the hand-overs between functions of tacit."""

    def __init__(self, carries: Carries) -> None:
        self._carries, self._readings = carries, 0
        self.found: list[HandOver] = []

    def look(self, frame: FrameType, event: str, value: object) -> None:
        """Note a call or a return, as ``sys.setprofile`` tells of it."""
        code = frame.f_code
        if not code.co_filename.startswith(SOURCE) or event not in ("call", "return"):
            return
        if isinstance(value, GeneratorType):
            self._readings += value.gi_code is TableView.read.__code__
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = [frame.f_locals.get(name) for name in names] if event == "call" else [value]
        if any(map(self._carries, given)):
            self.found.append(HandOver(_file(frame), code.co_qualname, _caller(frame), self._readings))


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(SOURCE).replace(os.sep, "/")


def _caller(frame: FrameType) -> str:
    """The file of the nearest caller in tacit: a library in between passes things on."""
    outer = frame.f_back
    while outer is not None and not outer.f_code.co_filename.startswith(SOURCE):
        outer = outer.f_back
    return "" if outer is None else _file(outer)


def follow(carries: Carries, work: Callable[[], object]) -> list[HandOver]:
    """Return the hand-overs while something runs."""
    follower = Follower(carries)
    sys.setprofile(follower.look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return follower.found


def run(command: str) -> None:
    """Run a command, which must succeed."""
    said = StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            tacit_main(command.split())
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"tacit {command}\n{said.getvalue()}") from None


def entrances(walk: Sequence[HandOver]) -> dict[str, set[str]]:
    """Return the other files that call each file of a walk, in the order in which the files are entered."""
    return {
        one.file: {other.caller for other in walk if other.file == one.file and other.caller not in ("", one.file)}
        for one in walk
    }


def holds_labels(value: object, depth: int = 3) -> bool:
    """Say whether a value is the label column, or holds it."""
    if isinstance(value, pa.Table | pa.RecordBatch):
        return value.num_rows in LENGTHS
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return len(value) in LENGTHS
    if isinstance(value, np.ndarray):
        return value.shape[:1] in [(length,) for length in LENGTHS]
    if not depth:
        return False
    return any(holds_labels(one, depth - 1) for one in _parts(value))


def _parts(value: object) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value[:50])
    if isinstance(value, dict):
        return list(value.values())[:50]
    if not type(value).__module__.startswith("tacit."):
        return []
    named = [getattr(value, one.name, None) for one in fields(value)] if is_dataclass(value) else []  # type: ignore[arg-type]
    return [*named, *getattr(value, "__dict__", {}).values()]


def is_one_of(*kinds: type) -> Carries:
    """Return the test for values of some classes."""
    return lambda value: isinstance(value, kinds)


def beyond(walk: Sequence[HandOver], *kinds: type) -> list[HandOver]:
    """Leave out the methods of what is followed: they are in its own file, wherever it is."""
    own = {str(sys.modules[kind.__module__].__file__).removeprefix(SOURCE).replace(os.sep, "/") for kind in kinds}
    return [one for one in walk if one.file not in own]


def until(walk: Sequence[HandOver], function: str) -> list[HandOver]:
    """Return a walk up to the return of a function."""
    _, returned = [place for place, one in enumerate(walk) if one.function == function]
    return list(walk[: returned + 1])


def walks() -> dict[str, list[HandOver]]:
    """Return the walks by their titles."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        rows = np.arange(BATCH + REST)
        table = pa.table({"age": rows % 80, "ill": np.where(rows % 7, "no", "yes")})
        pa.csv.write_csv(table, "visits.csv")
        pa.csv.write_csv(table.slice(0, 100), "few.csv")
        run("ledger create visits --table visits.csv --column ill --unit label --epsilon 9 --ledger ledger.db")
        run("init few.csv --label ill")
        protect = "labels protect visits.csv --label ill --epsilon 1 --ledger ledger.db"
        labels = follow(holds_labels, lambda: run(protect))
        charge = follow(is_one_of(*CHARGE), lambda: run(f"{protect} --again --force"))
        step = next(one for one in read_plan("tacit.toml").steps if one.surface == "scores")
        finding = follow(is_one_of(*FINDING), lambda: measure(step, seed=0, tell=lambda _: None))
    return {
        "One label, read to be paid for": [one for one in labels if one.reading == 1],
        "One label, read to be released": [one for one in labels if one.reading == 2],
        "One charge": beyond(until(charge, "Payment.settle"), Guarantee),
        "One finding of the audit": beyond(finding, *FINDING),
    }


def section(found: Mapping[str, Sequence[HandOver]]) -> str:
    """Return the walks as the page shows them: each file, and the functions by which it is entered."""
    lines = []
    for title, walk in found.items():
        lines += ["", title]
        for file, callers in entrances(walk).items():
            mine = [one for one in walk if one.file == file]
            entered = dict.fromkeys(one.function for one in mine if one.caller in callers)
            lines.append(f"    {file:<34}{', '.join(entered or {mine[0].function.partition('.<')[0]: None})}")
    return "\n".join(["```text", *lines[1:], "```", ""])


if __name__ == "__main__":
    PAGE.write_text(SECTION.sub(lambda _: section(walks()), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
