"""Draw docs/images/report.png: the top of the page that ``tacit audit`` writes for the bundled data.

Run: python scripts/report_picture.py [--seed 0] [--out docs/images/report.png]

It audits with a seed, opens the page in the Chromium of the system at 1200 pixels, and keeps what is seen down to the
end of the main chart's first releases. Needs the development extra (Playwright, Pillow) and Chromium.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tacit.audit import run_audit
from tacit.privacy.files import write_atomically
from tacit.report import render_page

ROOT = Path(__file__).parents[1]
WIDTH, ROWS, COLORS = 1200, 8, 128


def picture_of(page: str) -> bytes:
    """Return the top of a page as PNG: the verdict, and the most harmful releases."""
    browser_at = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        path.write_text(page, encoding="utf-8")
        args = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=browser_at, args=args)
        view = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
        view.goto(path.as_uri())
        rows = view.locator(".rates li")
        box = rows.nth(min(ROWS, rows.count()) - 1).bounding_box()
        if box is None:
            raise SystemExit("the page shows no release")
        shot = view.screenshot(
            clip={"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 8}, full_page=True
        )
        browser.close()
    return _smaller(shot)


def _smaller(shot: bytes) -> bytes:
    """Return a PNG with few colors: text and bars need no more."""
    kept = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLORS).save(kept, format="PNG", optimize=True)
    return kept.getvalue()


def main() -> None:
    """Audit, draw, write."""
    parser = argparse.ArgumentParser(description="Draw the top of the report for the README.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "report.png")
    options = parser.parse_args()
    picture = picture_of(render_page(run_audit(seed=options.seed)))
    with write_atomically(options.out, force=True) as file:
        file.write(picture)
    print(f"{options.out}: {len(picture) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
