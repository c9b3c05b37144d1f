"""The wheel: it holds every file of the package, and works where there is no checkout."""

import os
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import tacit

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("tacit-*.whl")
    return built


def test_the_wheel_holds_every_file_of_the_package(wheel):
    here = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "tacit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("tacit/")}
    assert "tacit/py.typed" in here, "control: the files were found"
    assert packed == here


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh environment with the wheel's own tacit, and everything else from the one the tests run in.

    Folders that a ``.pth`` file adds to the path have their own ``.pth`` files ignored, so that an editable
    install of tacit stays behind.
    """
    home = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(home, with_pip=False)
    binaries = home / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", binaries / "python", "install", "--quiet", "--no-deps", wheel],
        check=True,
        capture_output=True,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    (package,) = (path.parent for path in home.rglob("tacit/__init__.py"))
    (package.parent / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return binaries


@pytest.fixture
def outside(installed, tmp_path):
    """Runs a program of the new environment, away from the checkout."""

    def run(program, *arguments):
        clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TACIT_DATA")}
        result = subprocess.run(
            [installed / program, *arguments], cwd=tmp_path, env=clean, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def test_the_command_and_the_package_work_outside_the_checkout(outside, installed):
    home = outside("python", "-c", "import tacit; print(tacit.__file__)")
    assert Path(home).is_relative_to(installed.parent), "control: not the checkout's tacit"
    assert outside("tacit", "--version") == f"tacit {tacit.__version__}\n"


def test_the_bundled_data_comes_with_the_wheel(outside):
    assert outside("python", "-c", "import tacit.data; print(len(tacit.data.titanic().y))") == "2201\n"


def test_the_ledger_comes_with_its_migrations(outside):
    outside("tacit", "ledger", "create")
    assert '"data_sets": []' in outside("tacit", "ledger", "show", "--json")


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["", "excel"])
def test_a_clean_environment_installs_it_and_runs_it(wheel, tmp_path, extra):
    """With every dependency that the metadata names, and nothing else."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    tool = home / ("Scripts" if os.name == "nt" else "bin")
    wanted = f"tacit[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    command = [tool / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wanted]
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TACIT_DATA")}
    installed = subprocess.run(command, capture_output=True, text=True, env=clean)
    if "No matching distribution" in installed.stderr or "Could not find" in installed.stderr:
        pytest.skip("needs a package index")
    assert installed.returncode == 0, installed.stderr
    for line in (
        "--version",
        "labels protect bundled:iris --label species --epsilon 1 --out iris.parquet",
        "labels learn iris.parquet --data bundled:iris",
        "labels attack iris.parquet --truth bundled:iris",
    ):
        run = subprocess.run([tool / "tacit", *line.split()], cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert run.returncode == 0, (line, run.stderr)
