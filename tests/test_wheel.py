"""The wheel holds every file of the package; `make installs` installs it, and runs it where there is no checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
