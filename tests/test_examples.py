"""Every script of examples/ runs, prints what it is about, and leaves nothing behind; the notebook is its script."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOK = EXAMPLES / "ad_clicks.ipynb"
NEEDS_A_SERVER = "scores_client.py"  # tests/cli/test_serve.py runs it

PRINTED = {
    "labels": [r"^epsilon 1 for one label +[678]\d\.\d%", r"^epsilon 3 for one label .* 9\d\.\d% "],
    "bags": [r"^exact +[1-9]\d* ", r"^epsilon 0\.1 +0 "],
    "features": [r"^rows of 6 .*, epsilon 1 +[1-4]?\d\.\d% ", r"^class totals .*, epsilon 4 +[4-8]\d\.\d% no rows$"],
    "scores": [r"^rounded\S* .* 100\.0% .* no guarantee$", r"^laplace .* [78]\d\.\d% .* epsilon 20 for one label$"],
    "models": [r"^margin:width=50.*: membership AUC 1\.000", r"^  epsilon 3, delta 1e-5 for one record$"],
    "sign_off": [
        r"^randomized response, epsilon 5 +[12]\d\.\d% .* False$",
        r"^released: epsilon (0\.5|1) for one label; entry visits/1: ",
        r"^refused: visits has spent epsilon ",
    ],
    "ad_clicks": [
        r"^made-up clicks: 10,000 ads shown",
        r"^refused: clicks has used [78]\d\.\d+% of epsilon 3, delta 1e-5 .* so nothing was charged$",
        r"^randomized clicks .* (7[89]|8[012])\.\d% +75\.8% ",  # the same rival without a release as for the totals
        r"^totals .* 7[567]\.\d% +75\.8% ",
        r"^one click, by all releases together: at most epsilon 3, delta 1e-5 for one label$",
    ],
}
WITHOUT_TORCH = """
import runpy, sys

class NoTorch:
    def find_spec(name, path=None, target=None):
        if name == "torch":
            raise ImportError(name)

sys.meta_path.insert(0, NoTorch)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run(*arguments, folder):
    """Return what a new Python prints, working in an empty folder, without the larger data sets."""
    environment = {name: value for name, value in os.environ.items() if name != "TACIT_DATA"} | {"OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == "", "an example must not warn"
    return result.stdout


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.filterwarnings("error", "ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_it_prints_what_it_is_about(name, tmp_path, monkeypatch, capfd):
    """In this process: a new one takes longer to import than most examples take to run."""
    if name == "models":
        pytest.importorskip("torch", reason="the extra torch is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACIT_DATA", raising=False)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed, warned = capfd.readouterr()
    assert warned == "", "an example must not warn"
    for line in PRINTED[name]:
        assert re.search(line, printed, flags=re.MULTILINE), printed
    assert not list(tmp_path.iterdir())


def test_the_story_says_what_is_skipped_without_torch(tmp_path):
    printed = run("-c", WITHOUT_TORCH, EXAMPLES / "ad_clicks.py", folder=tmp_path)
    assert "the model is skipped: the package torch is missing; install it with: pip install 'tacit[torch]'" in printed
    assert "refused: clicks has used 50% of epsilon 3" in printed
    assert "one click, by all releases together: at most epsilon 3, delta 1e-5" in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "python scores_client.py URL"), (["http://127.0.0.1:1", "demo", "token", "p.csv"], "cannot be reached: ")],
)
def test_the_client_says_what_it_needs(tmp_path, arguments, said):
    (tmp_path / "p.csv").write_text("id,p\n1,0.5\n")
    command = [sys.executable, EXAMPLES / NEEDS_A_SERVER, *arguments]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (1, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_the_notebook_is_what_the_script_gives():
    notebooks = runpy.run_path(str(EXAMPLES.parent / "scripts" / "notebooks.py"))
    assert NOTEBOOK.read_text(encoding="utf-8") == notebooks["render"](NOTEBOOK.with_suffix(".py")), (
        "run `python scripts/notebooks.py`"
    )


@pytest.mark.slow  # its script runs above, and it is what the script gives
def test_the_notebook_runs(monkeypatch, tmp_path):
    beside = EXAMPLES.parents[1] / "shared" / "data"
    if "TACIT_DATA" not in os.environ and beside.is_dir():
        monkeypatch.setenv("TACIT_DATA", str(beside))  # real clicks, where there are any
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(output["text"] for output in notebook.cells[-1].outputs)
    assert "one click, by all releases together: at most epsilon" in printed
    assert not list(tmp_path.iterdir())


def test_every_example_is_run_and_listed():
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    assert scripts == {f"{name}.py" for name in PRINTED} | {NEEDS_A_SERVER}
    listed = re.findall(r"^\| `([\w.]+)`", (EXAMPLES / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(listed) == sorted(scripts | {NOTEBOOK.name}), "one line each in examples/README.md"
