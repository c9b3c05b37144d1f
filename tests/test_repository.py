"""What holds for the repository as a whole: layers, sizes, versions, nothing of a developer's machine."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tacit

ROOT = Path(__file__).parents[1]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def tracked_files():
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_the_layers_hold():
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    result = subprocess.run([sys.executable, "-c", code, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


def test_every_package_is_in_a_layer():
    layers = next(contract["layers"] for contract in CONTRACTS if contract["type"] == "layers")
    named = set(re.findall(r"tacit\.(\w+)", " ".join(layers)))
    packages = {path.parent.name for path in (ROOT / "src" / "tacit").glob("*/__init__.py")}
    assert "privacy" in packages, "control: the packages were found"
    assert packages <= named


def test_the_readme_fits_two_screens():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 110


def test_the_changelog_has_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[?{re.escape(tacit.__version__)}\b", changelog, flags=re.MULTILINE)


# Split, so that this file does not hold what it looks for.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"(?<![\w.~])/(?:work|root|home/\w+|Users/\w+)" + "/",
            r"(?<![\w.])/tmp" + "/",
            "pypi" + r"\.org",
            "pythonhosted" + r"\.org",
            "debian" + r"\.org",
            "npmjs" + r"\.(?:org|com)",
            "pytorch" + r"\.org/whl",
            r"--(?:extra-)?index" + "-url",
        ]
    )
)


def text_of(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""  # data files


def test_no_tracked_file_names_a_machine_or_a_registry():
    found = {
        str(path.relative_to(ROOT)): match.group()
        for path in tracked_files()
        if (match := FORBIDDEN.search(text_of(path)))
    }
    assert found == {}


@pytest.mark.parametrize("text", ["see /work" + "/x", '"/tmp' + '/a"', "https://pypi" + ".org/simple"])
def test_the_search_finds_what_it_looks_for(text):
    assert FORBIDDEN.search(text)
