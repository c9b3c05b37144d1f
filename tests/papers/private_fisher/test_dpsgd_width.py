"""The experiment on width and depth: its gradients, its noise, and a small run from end to end."""

import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.privacy.loss import SampledGaussianLoss

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def width():
    """The script, which needs torch and NumPy alone."""
    spec = importlib.util.spec_from_file_location("dpsgd_width", ROOT / "papers" / "private_fisher" / "dpsgd_width.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_narrow_and_the_wide_network_have_the_papers_sizes(width):
    sizes = {one.name: sum(p.numel() for p in one.build().parameters()) for one in width.SHAPES}
    assert sizes["26k"] == 26_010
    for name, size in sizes.items():
        assert abs(size / 1000 - int(name.partition("k")[0])) < 1, name


@pytest.mark.parametrize("clip", [1e-2, 3.0, math.inf])
def test_sums_are_those_of_gradients_taken_row_by_row(width, clip):
    torch.manual_seed(0)
    module = width.SHAPES[2].build()
    X, y = torch.rand(5, 1, 28, 28), torch.tensor([0, 3, 9, 3, 1])
    expected = [torch.zeros_like(p) for p in module.parameters()]
    for x, label in zip(X, y, strict=True):
        loss = torch.nn.functional.cross_entropy(module(x[None]), label[None])
        gradient = torch.autograd.grad(loss, list(module.parameters()))
        norm = float(sum(g.square().sum() for g in gradient)) ** 0.5
        for total, g in zip(expected, gradient, strict=True):
            total += g * min(1.0, clip / norm)
    found = width.clipped_sums(module, X, y, clip=clip)
    for total, sum_ in zip(expected, found, strict=True):
        torch.testing.assert_close(sum_, total, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_noise_is_what_the_guarantee_needs_and_hardly_more(width, epsilon):
    run = SampledGaussianLoss(noise=width.NOISE[epsilon], rate=width.BATCH / width.ROWS, steps=width.STEPS)
    assert 0.997 * epsilon < run.epsilon_at(width.DELTA) <= epsilon, "the noise was chosen on a coarser grid of losses"


def test_a_small_run_resumes(width, tmp_path, capsys):
    rng = np.random.default_rng(0)
    sets = {"train": (400, 28, 28), "test": (100, 28, 28)}
    images = {name: rng.integers(0, 256, shape, dtype=np.uint8) for name, shape in sets.items()}
    labels = {name: rng.integers(0, 10, size, dtype=np.uint8) for name, size in (("labels", 400), ("truth", 100))}
    np.savez(tmp_path / "mnist.npz", **images, **labels)
    words = ["--quick", "--mnist", str(tmp_path / "mnist.npz"), "--out", str(tmp_path / "out.json")]
    for more, done in ((["--minutes", "0"], 1), ([], 6)):
        width.main([*words, *more])
        document = json.loads((tmp_path / "out.json").read_text())
        assert len(document["points"]) == done
    assert {row["epsilon"] for row in document["rows"]} == {3.0, None}
    width.main(["--plot", "--out", str(tmp_path / "out.json")])
    assert "| 3.0 | 52k, wider | 52,040 |" in capsys.readouterr().out
    assert (tmp_path / "out.svg").stat().st_size > 1000


def test_the_page_shows_the_table_that_was_measured(width):
    document = json.loads((width.FOLDER / "models_dpsgd_width.json").read_text())
    assert document["rows"] == width.summarize(document["points"])
    assert width.show(document) in width.PAGE.read_text()


def test_deviations_divide_by_one_less_than_the_seeds(width):
    task = {"shape": "26k", "epsilon": 3.0, "rate": 0.1, "parameters": 26_010}
    [row] = width.summarize([{**task, "accuracy": value} for value in (0.1, 0.2, 0.3)])
    assert math.isclose(row["deviation"], 0.1)
