"""The script of the paper's figures: the law that it draws from, a run that was broken off, and the page's numbers."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

ROOT = Path(__file__).parents[3]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("papers.private_fisher.figures")


def _moments_of_noised_rows(rows, codes, noise, rng):
    noised = rows + rng.normal(scale=noise, size=rows.shape)
    sums = np.stack([noised[:, codes == k].sum(axis=1) for k in (0, 1)])
    return sums[:, 0], (noised**2).sum(axis=1)[0] - (sums[:, 0] ** 2 / np.bincount(codes)).sum()


def test_moments_have_the_law_of_noised_rows(script):
    """Class sums and squares within classes, against noise that is drawn row by row, and noise of another scale."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [5, 9])
    rows = rng.normal(size=(1, 14)) * 3
    direct = [_moments_of_noised_rows(rows, codes, 2.0, rng) for _ in range(4000)]
    drawn, other = [], []
    for noise, found in ((2.0, drawn), (3.0, other)):
        for _ in range(4000):
            moments = script.Moments.of(rows, codes, classes=2).with_noise(noise, rng=rng)
            found.append((moments.sums[:, 0], moments.within[0]))
    for part in (lambda m: m[0][0], lambda m: m[0][1], lambda m: m[1]):
        real, ours, wrong = ([part(m) for m in found] for found in (direct, drawn, other))
        assert ks_2samp(real, ours).pvalue > 1e-6
        assert ks_2samp(real, wrong).pvalue < 1e-6
    both = [np.corrcoef([m[0][0] for m in found], [m[1] for m in found])[0, 1] for found in (direct, drawn)]
    assert np.abs(both).max() < 0.1  # sums and squares within classes do not hang together


def test_the_printed_noise_is_the_library_s(script):
    from papers.private_fisher.printed_release import published_release

    rng = np.random.default_rng(1)
    rows, codes = rng.normal(size=(30, 4)), np.tile([0, 1], 15)
    release = published_release(rows, codes, keep=4, epsilon=3.0, delta=script.DELTA, rng=rng)
    assert release.noise == pytest.approx(script.printed_noise(script.largest_norm(rows.T), epsilon=3.0))


def test_a_run_that_was_broken_off_resumes_to_the_same_results(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "sparse_means", lambda features=60: np.where(np.arange(features) < 3, 2.0, 0.0))
    monkeypatch.setattr(script, "KEPT", (2, 3))
    real, calls = script.run_totals, []

    def interrupted(*given):
        calls.append(1)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setitem(script.ARMS, "totals", interrupted)
    monkeypatch.setattr(script, "SAVE_EVERY", 0.0)
    script.synthetic.cache_clear()
    with pytest.raises(KeyboardInterrupt):
        script.main(["--quick", "--out", str(tmp_path / "broken")])
    assert script.main(["--quick", "--out", str(tmp_path / "broken")]) == 0
    assert len(calls) == 5 * 2 + 1  # the interrupted point only is computed twice
    assert script.main(["--quick", "--out", str(tmp_path / "whole")]) == 0
    script.synthetic.cache_clear()
    found = [json.loads((tmp_path / name / "features_figures_quick.json").read_text()) for name in ("broken", "whole")]
    assert found[0]["points"] == found[1]["points"]
    assert len(found[0]["points"]) == 15
    assert all(len(point["clean"]) == 2 for point in found[0]["points"].values())
    assert {path.suffix for path in (tmp_path / "whole").iterdir()} == {".json", ".svg"}


def test_the_page_quotes_the_committed_results(script):
    document = json.loads((ROOT / "benchmarks" / "results" / "features_figures.json").read_text())
    page = (ROOT / "docs" / "features_figures.md").read_text()
    assert all(len(point["clean"]) == document["seeds"] == 20 for point in document["points"].values())
    assert document["date"] in page
    assert script.tables(document["points"]).strip() in page


def test_deviations_divide_by_one_less_than_the_seeds(script):
    [row] = script.summarize({"mnist|rows|t|5|6": {"clean": [0.1, 0.2, 0.3]}})
    assert np.isclose(row["clean_deviation"], 0.1)
