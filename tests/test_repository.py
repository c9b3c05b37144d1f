"""What holds for the repository as a whole: layers, sizes, versions, nothing of a developer's machine."""

import json
import re
import shutil
import subprocess
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


def test_every_module_of_tacit_and_of_each_surface_is_in_a_layer():
    layers = [contract for contract in CONTRACTS if contract["type"] == "layers"]
    assert all(contract["exhaustive"] and "exhaustive_ignores" not in contract for contract in layers)
    surfaces = {f"tacit.{surface}" for surface in ("labels", "bags", "features", "scores", "models")}
    assert {container for contract in layers for container in contract["containers"]} == {"tacit", *surfaces}


def test_no_import_is_excepted_from_a_contract():
    assert "acyclic_siblings" in {contract["type"] for contract in CONTRACTS}
    assert not any("ignore_imports" in contract or "skip_descendants" in contract for contract in CONTRACTS)


def test_the_readme_is_read_in_minutes():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def measured(file, *, start, what="accuracy", seeds=3):
    """The mean over the seeds of a benchmark's points, as the README prints it."""
    points = json.loads((ROOT / "benchmarks" / "results" / file).read_text(encoding="utf-8"))["points"]
    found = [100 * point[what] for key, point in points.items() if key.startswith(start)]
    assert len(found) == seeds, start
    return f"{sum(found) / len(found):.1f}"


def test_the_readme_says_what_was_measured():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    images, texts = "labels_images.json", "labels_text.json"
    rows = (
        [measured(images, start=f"cifar10|given|{epsilon}|") for epsilon in ("0.5", "1", "2", "3")],
        [measured(images, start=f"cifar10|recipe|{epsilon}|", seeds=1) for epsilon in ("0.5", "1", "2", "3")],
        [measured("labels_own_images.json", start=f"cifar10|{epsilon}|", seeds=1) for epsilon in ("1", "3")],
        [measured(texts, start=f"both|recipe|{epsilon}|") for epsilon in ("0.3", "0.5", "0.8")],
    )
    for row in rows:
        assert f"| {', '.join(row)}% |" in readme


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
