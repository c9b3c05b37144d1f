"""Change one thing in what draws, charges, locks, rounds or publishes, and say which changes no test notices.

    python scripts/mutants.py --count 40 --seed 1
    python scripts/mutants.py --areas noise --all

Every mutant is one small change of meaning: noise removed or halved, a comparison or a rounding turned around, a lock,
a check or a statement left out. The tests of its area run on a copy of the source. Prints one line for each mutant that
survives, then the counts as JSON; exits 1 if less than 95% were killed. Those of ``EQUIVALENT`` change nothing.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tacit"
SECONDS = 240  # for the tests of one mutant: one that ends in a loop is killed, too
GOAL = 0.95
_NO_TESTS = 5  # what pytest returns then

_LEDGER = "account filter chain windows sketch handle fingerprint"
_CHARGES = (*(f"tests/privacy/test_ledger_{name}.py" for name in _LEDGER.split()), "tests/privacy/test_payment.py")
AREAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "noise": (("**/*.py",), ("tests/test_released_noise.py", "tests/features/test_selection.py")),
    "ledger": (
        ("privacy/ledger/*.py", "privacy/payment.py"),
        (*_CHARGES, "tests/privacy/test_ledger.py", "tests/privacy/test_ledger_races.py"),
    ),
    "delivery": (
        ("privacy/delivery.py", "privacy/store.py", "privacy/targets.py"),
        ("tests/privacy/test_delivery.py", "tests/privacy/test_payment.py", "tests/privacy/test_files.py"),
    ),
    "samplers": (("privacy/noise/*.py",), ("tests/privacy", "-k", "noise")),
    "losses": (
        ("privacy/loss/*.py", "privacy/tilted.py", "privacy/composition.py", "privacy/rounding.py"),
        ("tests/privacy", "-k", "loss or distribution or composition or rounding or guarantee or filter"),
    ),
    "readers": (
        ("privacy/releases/*.py", "privacy/bounded_json.py", "privacy/folders.py", "privacy/canonical.py"),
        ("tests/privacy", "-k", "releases or hostile or folders or canonical"),
    ),
}
"""The files of each area, and the tests that must notice a change there."""

EQUIVALENT = {
    "features/releases/bound_plan.py:90 noise halved": "it halves the released class sizes, not their noise",
    **dict.fromkeys(
        (f"privacy/ledger/registry.py:{line} to False" for line in (100, 122, 123, 140)),
        "names and fingerprints are unique in the database, and foreign keys wait for the data set's lock",
    ),
}
"""Mutants that change nothing, by place and change, each with the reason."""

_OTHER = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in"}
_OTHER |= {ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}
_ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
_SWAPS = {"max": "min", "min": "max", "floor": "ceil", "ceil": "floor", "any": "all", "all": "any", "sum": "max"}
_NUMBERS = ("epsilon", "delta", "scale", "sensitivity", "times", "steps")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a file."""

    area: str
    file: str
    line: int
    change: str
    start: int
    end: int
    new: str

    @property
    def name(self) -> str:
        """Its place and what is changed."""
        return f"{self.file}:{self.line} {self.change}"


def find_mutants(area: str) -> Iterator[Mutant]:
    """Yield all mutants of an area: for noise those of draws, elsewhere the others."""
    for path in sorted({path for pattern in AREAS[area][0] for path in SOURCE.glob(pattern)}):
        text = path.read_bytes()
        for node, change, start, end, new in _changes(text, draws=area == "noise"):
            changed = text[:start] + new.encode() + text[end:]
            try:
                compile(changed, str(path), "exec")
            except SyntaxError:
                continue
            file = str(path.relative_to(SOURCE))
            yield Mutant(area, file, node.lineno, change, start, end, new)


def _changes(text: bytes, *, draws: bool) -> Iterator[tuple[ast.AST, str, int, int, str]]:
    tree = ast.parse(text)
    starts = [0, *np.cumsum([len(line) for line in text.splitlines(keepends=True)]).tolist()]
    skipped = _skipped(tree)

    def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0),
        )

    def source(node: ast.expr | ast.stmt) -> str:
        start, end = place(node)
        return text[start:end].decode()

    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.expr | ast.stmt):
            continue
        for change, new in _draws(node, source) if draws else _others(node, source):
            yield node, change, *place(node), new


def _skipped(tree: ast.AST) -> set[int]:
    """What is no behavior: annotations, messages, imports, docstrings, exports."""
    found: set[int] = set()
    for node in ast.walk(tree):
        whole: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef):
            whole = [node.returns, *node.decorator_list, *(argument.annotation for argument in node.args.args)]
            whole += [argument.annotation for argument in node.args.kwonlyargs]
            whole += [node] if node.name in ("__repr__", "__str__", "notes", "describe") else []
        elif isinstance(node, ast.ClassDef):
            whole = [*node.bases, *node.decorator_list]
        elif isinstance(node, ast.AnnAssign):
            whole = [node.annotation]
        elif isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
            whole = list(ast.iter_child_nodes(node))
        found |= {id(inner) for one in whole if one is not None for inner in ast.walk(one)}
    return found


def _draws(node: ast.AST, source) -> Iterator[tuple[str, str]]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "draw":
        owner = source(node.func.value)
        noise = owner not in ("mechanism", "bound.mechanism", "self", "self.best")  # those draw whole releases
        if noise and any(keyword.arg == "rng" for keyword in node.keywords):
            yield "noise removed", f"(0 * {source(node)})"
            yield "noise halved", f"({source(node)} // 2)"


def _others(node: ast.AST, source) -> Iterator[tuple[str, str]]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OTHER:
            yield f"to {_OTHER[type(op)]}", f"{source(left)} {_OTHER[type(op)]} {source(right)}"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC and not _is_text(left):
            yield f"to {_ARITHMETIC[type(op)]}", f"({source(left)}) {_ARITHMETIC[type(op)]} ({source(right)})"
        case ast.BoolOp(op=op, values=[first, *rest]):
            word = " or " if isinstance(op, ast.And) else " and "
            yield f"to{word.rstrip()}", "(" + word.join(f"({source(one)})" for one in [first, *rest]) + ")"
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "sign turned", f"({source(operand)})"
        case ast.Raise():
            yield "not raised", "pass"
        case ast.Expr(value=ast.Call()):
            yield "left out", "pass"
        case ast.Call(func=ast.Name(id=name)) if name in _SWAPS and node.args:
            yield f"to {_SWAPS[name]}", source(node).replace(name, _SWAPS[name], 1)
        case ast.Call(func=ast.Attribute(attr=name)) if name in _SWAPS and source(node.func).startswith("math."):
            yield f"to {_SWAPS[name]}", source(node).replace(name, _SWAPS[name], 1)
        case ast.Constant(value=bool() as flag):
            yield f"to {not flag}", str(not flag)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "branches swapped", f"({source(orelse)} if {source(test)} else {source(body)})"
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in _NUMBERS:
            yield f"{name} twice", f"(2 * {source(node)})"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_killed(mutant: Mutant, tree: Path) -> bool:
    """Run the area's tests on the changed copy."""
    file = tree / "tacit" / mutant.file
    original = file.read_bytes()
    file.write_bytes(original[: mutant.start] + mutant.new.encode() + original[mutant.end :])
    paths = [word for word in AREAS[mutant.area][1] if word.startswith("-") or " " in word or _exists(word)]
    quick = ["-x", "-q", "--tb=no", "-m", "not slow", "-p", "no:cacheprovider", "-W", "ignore"]
    if "-k" not in paths:
        quick += ["-k", "not postgresql or test_ledger_races"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *quick, *paths],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_bytes(original)
    if done.returncode == _NO_TESTS:
        raise RuntimeError(f"no test was found for {mutant.area}")
    return done.returncode != 0


def _exists(word: str) -> bool:
    return (ROOT / word).exists() or not word.startswith("tests/")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--areas", default=",".join(AREAS))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    chosen = []
    for area in options.areas.split(","):
        known = list(find_mutants(area))
        count = len(known) if options.all else min(len(known), -(-options.count // len(options.areas.split(","))))
        chosen += [known[place] for place in sorted(rng.choice(len(known), count, replace=False))]
    survived, equivalent, start = [], 0, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCE, Path(folder) / "tacit", ignore=shutil.ignore_patterns("__pycache__"))
        for mutant in chosen:
            if mutant.name in EQUIVALENT:
                equivalent += 1
            elif not is_killed(mutant, Path(folder)):
                survived.append(mutant.name)
                print(f"survived: {mutant.name}", flush=True)
    killed = len(chosen) - equivalent - len(survived)
    told = {"mutants": len(chosen), "equivalent": equivalent, "killed": killed, "survived": len(survived)}
    print(json.dumps({**told, "seconds": round(time.perf_counter() - start)}))
    return 0 if killed >= GOAL * (len(chosen) - equivalent) else 1


if __name__ == "__main__":
    sys.exit(main())
