"""Read mutated files of every format: each must be read or refused with tacit's own error, fast and in little memory.

    python scripts/fuzz_readers.py --files 100000 --seed 1 --done fuzzed.jsonl

Files come in parts of a thousand, each with a seed of its own. ``--done`` is a file with a line per part: a second run
goes on after the last, and with another first part (``--first``) two can run side by side. Prints one JSON line with
the counts, the slowest file and the largest memory; exits 1 if a file broke a rule, and keeps that file (``--keep``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tacit import bags, features, labels, models, scores
from tacit.audit.config import read_plan
from tacit.models.releases.members import EstimatorMember, OnnxMember, SafetensorsMember, TorchMember
from tacit.privacy import Guarantee, Unit
from tacit.privacy.errors import TacitError
from tacit.privacy.folders import KEY, MANIFEST
from tacit.privacy.ledger import Ledger
from tacit.privacy.releases.header import canonical_json
from tacit.privacy.releases.members import DocumentMember, TableMember

SECONDS, MEGABYTES, LARGEST = 5, 500, 2_000_000  # processor seconds, so that a busy machine changes nothing
PATIENCE = 60  # seconds on the clock: a reader that waits hangs
PART = 1000
ENDINGS = {".parquet": TableMember, ".json": DocumentMember, ".safetensors": SafetensorsMember, ".pt": TorchMember}
ENDINGS |= {".onnx": OnnxMember, ".joblib": EstimatorMember}
HOST = pa.table({"ill": np.arange(60) % 2})
READERS: dict[str, Callable[[Path], object]] = {
    "labels": labels.Release.read,
    "bags": lambda path: bags.Release.read(path).totals,
    "features": features.Release.read,
    "scores": lambda path: scores.Release.read(path).scores,
    "models": models.Release.read,
    "ledger": lambda path: Ledger.create(path.parent / "restored.db", restore=path),
    "toml": read_plan,
    "submission": lambda path: scores.protect(HOST, scores.Plan(label="ill", epsilon=1), data=[path]),
}
HOSTILE: tuple[Any, ...] = (
    *(None, True, "", "many", "1e99999999999", "9" * 5000, "1/0", "\x00", "../../x", "é" * 300),
    *(0, -1, 1, 2, 7, 10**3, 10**7, 10**12, 10**30, 10**400, -(10**18), 2**63),
    *(0.0, 0.5, -0.5, 1e-300, 1e300, 5e-324, 1e-9, 1.7e308, 1e9, 64.0),
    *([], {}, [[]], [None], {"": None}, [0] * 10_000, ["a"] * 10_001, {str(k): k for k in range(3000)}),
)


@dataclass
class Report:
    """What was read so far."""

    files: int = 0
    read: int = 0
    slowest: float = 0.0
    most: float = 0.0
    broken: list[str] = field(default_factory=list)


def make_seeds(folder: Path, kinds: tuple[str, ...]) -> list[tuple[str, Path]]:
    """Write small valid files and folders of these kinds."""
    rng = np.random.default_rng(0)
    n = 60
    table = pa.table(
        {
            "ill": (rng.random(n) < 0.4).astype(np.int64),
            "age": rng.integers(20, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "person": np.arange(n) // 2,
        }
    )
    made: list[tuple[str, Path]] = []

    def add(kind: str, name: str, write: Callable[[Path], object]) -> None:
        if kind in kinds:
            write(folder / name)
            made.append((kind, folder / name))

    for name, more in {
        "response": {},
        "staged": {"mechanism": "staged:stages=2", "features": ["age"]},
        "person": {"person": "person", "rows_per_person": 2},
    }.items():
        plan = labels.Plan(label="ill", epsilon=1, **more)
        release = labels.protect(table, plan, rng=np.random.default_rng(1))
        add("labels", f"{name}.parquet", release.write)
    for name, more in {
        "laplace": {"by": [("sex",)]},
        "gaussian": {"by": [("sex",)], "delta": 1e-4, "person": "person", "rows_per_person": 2},
        "classes": {"by": [("sex",)], "totals": "classes", "classes": ("0", "1")},
        "random": {"mechanism": "random:size=3,bags=10,joins=2"},
    }.items():
        plan_of_bags = bags.Plan(label="ill", epsilon=1, min_size=1 if "by" in more else None, **more)
        made_bags = bags.protect(table, plan_of_bags, rng=np.random.default_rng(1))
        add("bags", name, made_bags.write)
    numbers = table.select(["ill", "age"])
    for mechanism in ("totals", "rows"):
        try:
            plan_of_features = features.Plan(
                label="ill", epsilon=5, delta=1e-3, mechanism=mechanism, ranges={"age": (0, 100)}, classes=("0", "1")
            )
            made_features = features.protect(numbers, plan_of_features, rng=np.random.default_rng(1))
        except TacitError as error:
            print(f"no seed of features {mechanism}: {error}", file=sys.stderr)
            continue
        add("features", f"{mechanism}{plan_of_features.suffix}", made_features.write)
    plan_of_scores = scores.Plan(label="ill", epsilon=1, submissions=2)
    answered = scores.protect(
        table,
        plan_of_scores,
        data=[pa.table({"p": np.zeros(n)}), pa.table({"p": np.ones(n)})],
        rng=np.random.default_rng(1),
    )
    add("scores", "scores.json", answered.write)
    if "models" in kinds:
        made += [("models", _dp_sgd_model(folder, ending)) for ending in (".safetensors", ".pt", ".onnx")]
    add("models", "plain.joblib", _estimator)
    ledger = Ledger.create(folder / "seed.db")
    ledger.register([0, 1], name="adult", budget=Guarantee(unit=Unit.LABEL, epsilon=3.0, delta=1e-6))
    ledger.charge("adult", Guarantee(unit=Unit.LABEL, epsilon=1.0), purpose="seed")
    add("ledger", "export.json", lambda path: ledger.export(path, secret=True))
    add("toml", "tacit.toml", _toml)
    add("submission", "submission.csv", lambda path: path.write_text("p\n" + "0.5\n" * n))
    add("submission", "submission.parquet", lambda path: _write_table(path, pa.table({"p": np.full(n, 0.5)})))
    return made


def _dp_sgd_model(folder: Path, ending: str) -> Path:
    """A model with a DP-SGD header: trained for a moment."""
    rng = np.random.default_rng(2)
    plan = models.Plan(
        label="ill", epsilon=4, delta=1e-3, features=("age",), ranges={"age": (0, 100)}, classes=("0", "1")
    )
    n = 200
    table = pa.table({"ill": rng.integers(0, 2, n), "age": rng.integers(20, 80, n)})
    made = models.protect(table, plan, rng=np.random.default_rng(3))
    path = folder / f"dp{ending}"
    made.write(path)
    return path


def _estimator(path: Path) -> None:
    import joblib
    from sklearn.linear_model import LogisticRegression

    joblib.dump(LogisticRegression().fit([[0], [1]], [0, 1]), path)


def _toml(path: Path) -> None:
    path.write_text(
        '[data]\nbundled = "titanic"\n'
        '[[labels]]\nepsilon = 0.5\n[[bags]]\nby = [["sex"]]\nepsilon = 1\n[limits]\nodds = 5\n'
    )


def _write_table(path: Path, table: pa.Table) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def mutants(seeds: list[tuple[str, Path]], rng: np.random.Generator, folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield the kind, the path and the description of mutated files, without end."""
    while True:
        kind, seed = seeds[int(rng.integers(len(seeds)))]
        target = folder / seed.name
        if seed.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(seed, target)
            inside = sorted(target.iterdir())
            broken = target / MANIFEST if rng.random() < 0.7 else inside[int(rng.integers(len(inside)))]
        else:
            shutil.copy(seed, target)
            broken = target
        how = _mutate(broken, rng)
        yield kind, target, f"{kind} {seed.name}: {how}"


def _mutate(path: Path, rng: np.random.Generator) -> str:
    if rng.random() < 0.6:
        done = _mutate_header(path, rng)
        if done:
            return done
    content = bytearray(path.read_bytes())
    for _ in range(int(rng.integers(1, 4))):
        content = _mutate_bytes(content, rng)
    path.write_bytes(content[:LARGEST])
    return f"bytes, {hashlib.sha256(content).hexdigest()[:8]}"


def _mutate_bytes(content: bytearray, rng: np.random.Generator) -> bytearray:
    size = max(len(content), 1)
    place, other = sorted(int(k) for k in rng.integers(0, size, 2))
    match int(rng.integers(7)):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + content[other:]
        case 2:
            return content[:other] + content[place:other] * int(rng.integers(1, 50)) + content[other:]
        case 3:
            return content[:place] + rng.bytes(int(rng.integers(1, 9))) + content[place:]
        case 4:
            return content[:place] + bytes([255]) * int(rng.integers(1, 9)) + content[place + 8 :]
        case 5:
            return content[:place] + (b"[" * 50_000 if rng.random() < 0.1 else b"9" * 40) + content[place:]
        case _:
            flipped = bytearray(content)
            for at in rng.integers(0, size, 3):
                if at < len(flipped):
                    flipped[at] ^= 1 << int(rng.integers(8))
            return flipped


def _mutate_header(path: Path, rng: np.random.Generator) -> str | None:
    """Change one value of a header, and make its checksum fit."""
    if path.name == MANIFEST or path.name == "export.json":
        whole = json.loads(path.read_text())
        document = whole[KEY] if path.name == MANIFEST else whole
        how = _spoil(document, rng)
        _reseal(document)
        path.write_text(json.dumps(whole))
        return how
    member_type = ENDINGS.get(path.suffix)
    if member_type is None or path.name.startswith("partition"):
        return None
    member, header = member_type.load(path)
    if not isinstance(header, dict):
        return None
    member = member.in_memory()
    how = _spoil(header, rng)
    if isinstance(member, DocumentMember) and rng.random() < 0.3:
        how = _spoil(member.value, rng)
        facts = {"kind": "json", "sha256": hashlib.sha256(canonical_json(member.value)).hexdigest()}
        members = header.get("members")
        header["members"] = dict.fromkeys(members if isinstance(members, dict) and members else ("scores",), facts)
    _reseal(header)
    path.unlink()  # numbers may still be mapped from it
    with path.open("wb") as file:
        member.save(file, lambda _: header)
    return how


def _reseal(document: dict[str, Any]) -> None:
    stated = {name: value for name, value in document.items() if name != "checksum"}
    document["checksum"] = hashlib.sha256(_any_json(stated)).hexdigest()


def _any_json(value: object) -> bytes:
    try:
        return canonical_json(value)
    except TacitError:
        return b""


def _spoil(document: Any, rng: np.random.Generator) -> str:  # noqa: ANN401
    """Replace, remove or add one value somewhere inside."""
    places = list(_places(document))
    holder, name, way = places[int(rng.integers(len(places)))]
    value = HOSTILE[int(rng.integers(len(HOSTILE)))]
    kind = int(rng.integers(6))
    if kind == 0 and isinstance(holder, dict):
        del holder[name]
        return f"{way} removed"
    if kind == 1:
        value = _nested(int(rng.choice([3, 40, 150])))
    if kind == 2 and isinstance(holder[name], int | float) and not isinstance(holder[name], bool):
        value = holder[name] * float(rng.choice([0.001, 0.5, 0.99, 1.01, 2, 1000]))
    if kind == 3 and isinstance(holder[name], str):
        value = holder[name] + str(rng.choice(["0", "e9", "/7", ":size=10", ",bags=10000000", "\n"]))
    holder[name] = value
    return f"{way} = {str(value)[:60]}"


def _nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = {"parts": [value], "kind": "composed"}
    return value


def _places(value: object, way: str = "") -> Iterator[tuple[Any, Any, str]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in list(items):
        yield value, name, f"{way}.{name}"
        yield from _places(inner, f"{way}.{name}")


class _TooSlow(BaseException):
    pass


def _alarm(*_: object) -> None:
    raise _TooSlow


def read_one(kind: str, path: Path, what: str, report: Report) -> None:
    """Read a file under two clocks and add to the report."""
    (path.parent / "restored.db").unlink(missing_ok=True)
    before = _memory("VmRSS", forget=True)
    signal.signal(signal.SIGALRM, _alarm)
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    start = time.process_time()
    try:
        READERS[kind](path)
        report.read += 1
    except TacitError:
        pass
    except _TooSlow:
        report.broken.append(f"{what}: longer than {SECONDS} processor seconds, or than {PATIENCE} s")
    except Exception:  # what a user would see as a traceback
        lines = traceback.format_exc().strip().splitlines()
        report.broken.append(
            f"{what}: {lines[-1][:200]} at {[one.strip() for one in lines if 'line' in one][-1][:160]}"
        )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
    report.files += 1
    report.slowest = max(report.slowest, time.process_time() - start)
    grown = _memory("VmHWM") - before
    report.most = max(report.most, grown)
    if grown > MEGABYTES:
        report.broken.append(f"{what}: {grown:.0f} MB")


def _memory(line: str, *, forget: bool = False) -> float:
    """Megabytes in use, or at most in use since the peak was forgotten; Linux only, elsewhere 0."""
    try:
        if forget:
            Path("/proc/self/clear_refs").write_text("5")
        text = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    return int(re.search(rf"{line}:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


def fuzz(
    files: int, *, seed: int | list[int], kinds: tuple[str, ...] = tuple(READERS), keep: Path | None = None
) -> Report:
    """Read this many mutated files."""
    report = Report()
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        (folder / "seeds").mkdir()
        (folder / "mutants").mkdir()
        seeds = make_seeds(folder / "seeds", kinds)
        for kind, path in seeds:
            READERS[kind](path)  # each is valid
        rng = np.random.default_rng(seed)
        for kind, path, what in mutants(seeds, rng, folder / "mutants"):
            if report.files >= files:
                break
            known = len(report.broken)
            read_one(kind, path, what, report)
            if len(report.broken) > known and keep is not None:
                keep.mkdir(exist_ok=True)
                (shutil.copytree if path.is_dir() else shutil.copy)(path, keep / f"{report.files}-{path.name}")
    return report


def fuzz_parts(options: argparse.Namespace) -> Report:
    """Read the parts that are not done yet, and add up all of them."""
    done = {}
    if options.done is not None and options.done.exists():
        lines = (json.loads(line) for line in options.done.read_text().splitlines())
        done = {(line.pop("seed"), line.pop("part")): Report(**line) for line in lines}
    for part in range(options.first, options.first + -(-options.files // PART)):
        if (options.seed, part) in done:
            continue
        files = min(PART, options.files - PART * (part - options.first))
        report = fuzz(files, seed=[options.seed, part], kinds=tuple(options.kinds.split(",")), keep=options.keep)
        done[options.seed, part] = report
        for line in report.broken:
            print(f"part {part}: {line}", file=sys.stderr, flush=True)
        if options.done is not None:
            with options.done.open("a") as file:
                file.write(json.dumps({"seed": options.seed, "part": part, **asdict(report)}) + "\n")
    parts = done.values()
    return Report(
        files=sum(one.files for one in parts),
        read=sum(one.read for one in parts),
        slowest=max(one.slowest for one in parts),
        most=max(one.most for one in parts),
        broken=[line for one in parts for line in one.broken],
    )


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(READERS))
    parser.add_argument("--done", type=Path)
    parser.add_argument("--keep", type=Path)
    report = fuzz_parts(parser.parse_args())
    told = {"files": report.files, "read": report.read, "broken": len(report.broken)}
    print(json.dumps({**told, "slowest_s": round(report.slowest, 2), "most_mb": round(report.most)}))
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
