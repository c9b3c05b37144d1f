"""Install the wheel into fresh environments, one per Python and extra, and run the README's commands in them.

The core is installed for every Python that is found among those that tacit supports, each extra for the Python that
runs this. Without its extra a command must name the extra; with it the command must run.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

COMMANDS = {
    "excel": "tacit labels protect visits.xlsx --label ill --epsilon 1 --out excel.parquet",
    "postgres": """
        ! tacit ledger create --ledger postgresql://nobody@127.0.0.1:1/none 2> said.txt
        cat said.txt >&2
        grep --quiet 'cannot be reached' said.txt
    """,
    "server": """
        tacit serve --port 0 --json > serving.json & serving=$!
        until [ -s serving.json ]; do kill -0 $serving; sleep 0.2; done
        python -c "import json, urllib.request as web; web.urlopen(json.load(open('serving.json'))['url'])"
        kill $serving
        wait $serving
    """,
    "spark": "tacit labels protect visits.parquet --engine spark --label ill --features age --epsilon 1 --out spark",
    "torch": "tacit models protect bundled:iris --label species --epsilon 3 --delta 1e-5 --ranges '*=0,8'",
}
"""extra: a command that needs it; of PostgreSQL only the driver is needed, no server."""


class Failure(Exception):
    """A command that failed, or that should have."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and the folder that commands run in."""

    home: Path
    work: Path

    @property
    def programs(self) -> Path:
        """Where ``python`` and ``tacit`` are."""
        return self.home / "bin"

    @property
    def megabytes(self) -> float:
        """The size of what was installed, before anything is compiled."""
        return sum(path.lstat().st_size for path in self.home.rglob("site-packages/**/*")) / 1e6

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a user with the environment activated would."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TACIT"))}
        variables = {**kept, "PATH": f"{self.programs}:{kept['PATH']}", "XDG_CACHE_HOME": str(self.home / "cache")}
        words = ["bash", "-euc", command]
        return subprocess.run(words, cwd=self.work, env=variables, capture_output=True, text=True, check=False)

    def must_run(self, command: str) -> None:
        """Raise if a command fails."""
        done = self.run(command)
        if done.returncode:
            raise Failure(f"{command.strip()}\nexited with {done.returncode}:\n{done.stdout}{done.stderr}")

    def must_ask_for(self, extra: str) -> None:
        """Raise unless a command says that it needs an extra which is not installed."""
        done = self.run(COMMANDS[extra])
        if not done.returncode or f"tacit[{extra}]" not in done.stderr:
            raise Failure(f"{COMMANDS[extra].strip()}\nmust name tacit[{extra}], got:\n{done.stdout}{done.stderr}")


def readme_commands() -> list[str]:
    """Return what a reader of the README types, in its order."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"^```console\n(.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL))
    return re.findall(r"^\$ ((?:[^\n]*\\\n)*[^\n]+)", blocks, flags=re.MULTILINE)


def find_pythons() -> dict[str, str]:
    """Return the interpreters that are found of those that tacit supports, by version."""
    versions = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {"{}.{}".format(*sys.version_info): sys.executable}
    for version in versions:
        for place in (shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))):
            if version not in found and place and _runs(place, version):
                found[version] = str(place)
    return found


def _runs(python: str | Path, version: str) -> bool:
    """Whether this is that Python: a shim of pyenv may stand for none."""
    asked = [python, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == version


@contextmanager
def installed(wheel: Path, python: str, extra: str) -> Iterator[Environment]:
    """Give a fresh environment with the wheel and what its metadata requires, nothing else."""
    with TemporaryDirectory(prefix="tacit-install-") as folder:
        environment = Environment(Path(folder) / "venv", Path(folder) / "examples")
        subprocess.run([python, "-m", "venv", "--without-pip", environment.home], check=True)
        wanted = f"tacit[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
        pip = [sys.executable, "-m", "pip", "--python", environment.programs / "python", "--disable-pip-version-check"]
        options = ["--quiet", "--no-compile", "-c", ROOT / "constraints.txt"]
        done = subprocess.run([*pip, "install", *options, wanted], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failure(f"pip install 'tacit[{extra}]':\n{done.stdout}{done.stderr}")
        shutil.copytree(ROOT / "examples", environment.work)
        write_inputs(environment.work)
        yield environment


def write_inputs(folder: Path) -> None:
    """Write the files that the commands of the extras read."""
    import pandas as pd
    from PIL import Image

    visits = pd.read_csv(folder / "visits.csv")
    visits.to_excel(folder / "visits.xlsx", index=False)
    visits.to_parquet(folder / "visits.parquet")
    strip = io.BytesIO()
    Image.new("L", (28, 28)).save(strip, "webp")
    digit = {"split": ["test"], "n": [1], "webp": [strip.getvalue()], "label": [[7]]}
    pd.DataFrame(digit).to_parquet(folder / "mnist.parquet")


def check(wheel: Path, version: str, python: str, extra: str) -> str:
    """Install once, run everything, and return a line about it."""
    started = time.monotonic()
    with installed(wheel, python, extra) as environment:
        size = environment.megabytes
        if extra:
            environment.must_run(COMMANDS[extra])
        else:
            for command in readme_commands():
                environment.must_run(command)
            for missing in COMMANDS:
                environment.must_ask_for(missing)
    return f"Python {version:5} {extra or 'core':9} {size:7.0f} MB {time.monotonic() - started:5.0f} s"


def main() -> int:
    """Check every installation that is asked for; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extras", nargs="*", default=sorted(COMMANDS), choices=sorted(COMMANDS))
    parser.add_argument("--every-python", action="store_true", help="install the extras for every Python, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    pythons = find_pythons()
    extras = [extra for extra in given.extras if extra != "spark" or shutil.which("java")]
    wanted = [(version, python, "") for version, python in pythons.items()]
    for version, python in pythons.items():
        if given.every_python or python == sys.executable:
            wanted += [(version, python, extra) for extra in extras]
    with TemporaryDirectory(prefix="tacit-wheel-") as folder, ThreadPoolExecutor(given.jobs) as pool:
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        (wheel,) = Path(folder).glob("*.whl")
        checks = [(one, pool.submit(check, wheel, *one)) for one in wanted]
        failed = 0
        for (version, _, extra), done in checks:
            try:
                print(done.result(), flush=True)
            except Failure as failure:
                failed += 1
                print(f"Python {version:5} {extra or 'core':9} FAILED: {failure}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
