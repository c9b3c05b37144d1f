import shutil
import subprocess

import pytest

from tacit.audit import bundled_plan, run_audit
from tacit.report import render_page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


def browse(page, profile, *options):
    quiet = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
    command = [CHROMIUM, *quiet.split(), f"--user-data-dir={profile}", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_page(run_audit(bundled_plan().only(["scores"]), seed=0)))
    return path


def test_a_browser_reads_the_page(page, tmp_path):
    seen = browse(page, tmp_path, "--dump-dom").stdout
    assert "What your data gives away" in seen
    assert "of 2,201 labels" in seen
    assert seen.count("<h3>") == 2


@pytest.mark.parametrize("width", [400, 1200])
def test_a_browser_paints_the_page(page, tmp_path, width):
    from PIL import Image

    picture = tmp_path / "page.png"
    browse(page, tmp_path / "profile", f"--window-size={width},900", f"--screenshot={picture}")
    pixels = Image.open(picture).convert("RGB")
    assert pixels.width == width
    assert len(pixels.getcolors(maxcolors=1 << 24)) > 20  # text and a chart, not an empty page
