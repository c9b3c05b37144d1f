"""Change one thing in what draws, charges, locks, rounds or publishes, and say which changes no test notices.

    python scripts/mutants.py --count 40 --seed 1
    python scripts/mutants.py --areas noise --all
    python scripts/mutants.py --areas ledger --count 100 --done mutants.jsonl    # goes on after the last that is done

Every mutant is one small change of meaning: noise removed or halved, a comparison or a rounding turned around, a lock,
a check or a statement left out. The tests of its area run on a copy of the source. Prints one line for each mutant that
survives, then the counts as JSON; exits 1 if less than 95% were killed. Those of ``EQUIVALENT`` change nothing.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tacit"
SECONDS = 120  # of a processor, for the tests of one mutant: one that ends in a loop is killed, too
_LIBRARIES = ("pyarrow.parquet", "pandas", "scipy.stats", "scipy.optimize", "sqlalchemy", "alembic", "hypothesis")
GOAL = 0.95
_NO_TESTS = 5  # what pytest returns then

_PRIVACY = "tests/privacy/test_"
_LEDGER = "ledger_account ledger_chain ledger_reservations ledger_windows payment ledger ledger_handle delivery"
_AUTHORITIES = "access accounts board engine finals guard intake limits rules sessions standings tokens"
_SERVER = "rules engine limits privacy tokens sessions database api"

AREAS: dict[str, tuple[str, ...]] = {
    "noise": ("**/*.py",),
    "ledger": ("privacy/ledger/*.py", "privacy/payment.py", "privacy/loss/domination.py"),
    "delivery": ("privacy/delivery.py", "privacy/store.py", "privacy/targets.py"),
    "samplers": ("privacy/noise/*.py",),
    "losses": ("privacy/loss/*.py", "privacy/tilted.py", "privacy/composition.py", "privacy/rounding.py"),
    "readers": ("privacy/releases/*.py", "privacy/bounded_json.py", "privacy/folders.py", "privacy/canonical.py"),
    "server": tuple(f"server/{name}.py" for name in _AUTHORITIES.split()),
}
"""The files of each area: noise means draws, whatever the file, the others all the rest."""

TESTS = {
    "privacy/ledger/account.py": "ledger_account ledger_filter ledger_reservations",
    "privacy/ledger/filter.py": "ledger_filter ledger_account",
    "privacy/ledger/costs.py": "ledger_filter ledger_account",
    "privacy/ledger/chain.py": "ledger_chain ledger_reservations ledger",
    "privacy/ledger/fingerprint.py": "ledger_fingerprint canonical",
    "privacy/ledger/sketch.py": "ledger_sketch",
    "privacy/ledger/registry.py": "ledger_windows ledger_sketch ledger payment",
    "privacy/loss/domination.py": "ledger_reservations",
    "privacy/ledger/": _LEDGER,
    "privacy/payment.py": "payment delivery ledger_reservations",
    "privacy/noise/": "noise_*",
    "privacy/rounding.py": "rounding guarantee composition ledger_account",
    "privacy/composition.py": "composition ledger_reservations",
    "privacy/loss/moments.py": "ledger_filter",
    "privacy/loss/variances.py": "ledger_filter",
    "privacy/loss/sampled.py": "loss loss_group",
    "privacy/loss/gaussian_mixture.py": "loss loss_group",
    "privacy/loss/curve.py": "loss_curve loss_search noise_gaussian",
    "privacy/loss/search.py": "loss_search loss_curve",
    "privacy/loss/tails.py": "loss_tails loss_curve",
    "privacy/loss/": "loss guarantee composition loss_group",
    "privacy/tilted.py": "loss_grid distribution",
    "privacy/releases/": "releases hostile_files folders",
    "privacy/canonical.py": "canonical ledger_fingerprint",
    "privacy/": "delivery payment files folders hostile_files releases",
}
"""Which tests must notice a change, by the start of the file's name: the first that fits counts."""

EQUIVALENT = {
    "privacy/ledger/account.py:101 delta twice": "it asks whether there is a delta",
    "privacy/ledger/reservations.py:97 delta twice": "it orders places by cost, and twice the delta orders them alike",
    "privacy/ledger/filter.py:190 to <=": "where a curve costs exactly nine tenths of the sum, either pair is valid",
    "privacy/loss/domination.py:103 to >=": "a loss or a point at the very end is not compared, which refuses",
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

    @property
    def place(self) -> str:
        """The same with where it starts: a line may have several."""
        return f"{self.name} ({self.start})"


def find_mutants(area: str) -> Iterator[Mutant]:
    """Yield all mutants of an area: for noise those of draws, elsewhere the others."""
    for path in sorted({path for pattern in AREAS[area] for path in SOURCE.glob(pattern)}):
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


def tests_of(mutant: Mutant) -> list[str]:
    """The tests that must notice a change."""
    if mutant.area == "noise":
        return ["tests/test_released_noise.py", "tests/features/test_selection.py"]
    if mutant.area == "server":
        return [f"tests/server/test_{name}.py" for name in _SERVER.split()]
    names = next(names for start, names in TESTS.items() if mutant.file.startswith(start)).split()
    found = [path for name in names for path in sorted(ROOT.glob(f"{_PRIVACY}{name}.py"))]
    return [str(path.relative_to(ROOT)) for path in found]


def is_killed(mutant: Mutant, tree: Path) -> bool:
    """Run the tests of a file on the changed copy."""
    file = tree / "tacit" / mutant.file
    original = file.read_bytes()
    file.write_bytes(original[: mutant.start] + mutant.new.encode() + original[mutant.end :])
    try:
        return fails(tests_of(mutant), tree)
    finally:
        file.write_bytes(original)


def fails(tests: list[str], tree: Path) -> bool:
    """Whether the tests fail on a tree, in a child that need not import the libraries again."""
    child = os.fork()
    if not child:
        try:
            os._exit(_run(tests, tree))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == _NO_TESTS:
        raise RuntimeError(f"no test was found in {tests}")
    return code != 0


def _run(tests: list[str], tree: Path) -> int:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = str(tree)
    sys.path.insert(0, str(tree))
    sys.dont_write_bytecode = True
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    quick = ["-x", "-q", "--tb=no", "-m", "not slow", "-p", "no:cacheprovider", "-W", "ignore"]
    return int(pytest.main([*quick, "-k", "not postgresql", *tests]))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--areas", default=",".join(AREAS))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--match", default="", help="only in files whose names contain this")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a change first")
    parser.add_argument("--done", type=Path)
    options = parser.parse_args()
    for name in _LIBRARIES:
        importlib.import_module(name)
    rng = np.random.default_rng(options.seed)
    chosen = []
    for area in options.areas.split(","):
        known = [mutant for mutant in find_mutants(area) if options.match in mutant.file]
        count = len(known) if options.all else min(len(known), -(-options.count // len(options.areas.split(","))))
        chosen += [known[place] for place in rng.permutation(len(known))[:count]]
    start = time.perf_counter()
    verdicts = Counter(_verdicts(chosen, options.done, checked=not options.unchecked).values())
    told = {"mutants": len(chosen), **{name: verdicts[name] for name in ("equivalent", "killed", "survived")}}
    print(json.dumps({**told, "seconds": round(time.perf_counter() - start)}))
    return 0 if verdicts["killed"] >= GOAL * (len(chosen) - verdicts["equivalent"]) else 1


def _verdicts(chosen: list[Mutant], done: Path | None, *, checked: bool) -> dict[str, str]:
    """Return equivalent, killed or survived for each mutant; those that are done are not run again."""
    verdicts: dict[str, str] = {}
    if done is not None and done.exists():
        verdicts = dict(json.loads(line) for line in done.read_text().splitlines())
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        shutil.copytree(SOURCE, tree / "tacit", ignore=shutil.ignore_patterns("__pycache__"))
        for tests in {tuple(tests_of(mutant)) for mutant in chosen if mutant.place not in verdicts}:
            if checked and fails(list(tests), tree):
                raise RuntimeError(f"these fail without a change: {' '.join(tests)}")
        for mutant in chosen:
            if mutant.place not in verdicts:
                known = mutant.name in EQUIVALENT
                verdict = "equivalent" if known else "killed" if is_killed(mutant, tree) else "survived"
                verdicts[mutant.place] = verdict
                if done is not None:
                    with done.open("a") as file:
                        file.write(json.dumps([mutant.place, verdict]) + "\n")
            if verdicts[mutant.place] == "survived":
                print(f"survived: {mutant.place}", flush=True)
    return {mutant.place: verdicts[mutant.place] for mutant in chosen}


if __name__ == "__main__":
    sys.exit(main())
