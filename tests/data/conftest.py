"""Where the larger sets are, if they are anywhere."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder():
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ["TACIT_DATA"]) if os.environ.get("TACIT_DATA") else beside
    if not folder.is_dir():
        pytest.skip("needs the larger data sets: set TACIT_DATA to their folder")
    return folder
