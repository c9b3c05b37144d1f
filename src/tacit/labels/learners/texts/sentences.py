"""A sentence encoder of the BERT family, from its folder of weights."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.errors import InvalidInput
from tacit.privacy.extras import load_extra

__all__ = ["SentenceEncoder"]

_BATCH = 16
_LONGEST = 256  # tokens
_FILES = ("config.json", "model.safetensors", "tokenizer.json")


class SentenceEncoder:
    """The mean over a text's words of the last layer of a BERT, in float32.

    Parameters
    ----------
    folder
        With ``config.json``, ``model.safetensors`` and ``tokenizer.json``, as Hugging Face stores them.
    """

    def __init__(self, folder: Path) -> None:
        load_tokenizers, safetensors = (
            load_extra("tokenizers", extra="text"),
            load_extra("safetensors.torch", extra="text"),
        )
        self._folder = folder
        self._torch = load_extra("torch")
        self.settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if self.settings.get("model_type") != "bert":
            raise InvalidInput(f"must be a BERT, {folder} has {self.settings.get('model_type')!r}", field="encoder")
        self._weights = safetensors.load_file(folder / "model.safetensors")
        self._tokenizer = load_tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_LONGEST)
        self._tokenizer.no_padding()

    @classmethod
    def named(cls, name: str) -> SentenceEncoder:
        """Open the encoder of a folder, or of an installed package that has one."""
        spec = None if Path(name).is_dir() or not name.replace("-", "_").isidentifier() else _package(name)
        start = Path(name) if spec is None else spec
        for folder in (start, start / "model"):
            if all((folder / file).is_file() for file in _FILES):
                return cls(folder)
        raise InvalidInput(
            f"must be own, an installed package with a sentence encoder, or a folder with {', '.join(_FILES)}, "
            f"got {name!r}",
            field="encoder",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._folder,)  # a stored model names the encoder, whose weights stay where they are

    def encode(
        self, texts: Sequence[str], *, layers: int = 1, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Return a row for each text; with several of the last layers, (texts, layers, coordinates)."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))  # so that little is padded
        result = np.empty((len(texts), layers, self.settings["hidden_size"]), np.float32)
        with self._torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                places = order[start : start + _BATCH]
                result[places] = self._means([tokens[place] for place in places], layers).numpy()
                if progress is not None:
                    progress(start + len(places), len(order))
        return result[:, 0] if layers == 1 else result

    def _means(self, tokens: list[list[int]], layers: int) -> Any:  # noqa: ANN401
        torch, longest = self._torch, max(map(len, tokens))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in tokens])
        words = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in tokens])
        w = self._weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:longest]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        mask, means = words[:, None, None, :].bool(), []
        for number in range(self.settings["num_hidden_layers"]):
            x = self._layer(x, mask, f"encoder.layer.{number}")
            means.append((x * words[:, :, None]).sum(dim=1) / words.sum(dim=1, keepdim=True))
        return torch.stack(means[-layers:], dim=1)

    def _layer(self, x: Any, mask: Any, name: str) -> Any:  # noqa: ANN401
        rows, longest, width = x.shape
        heads = self.settings["num_attention_heads"]
        q, k, v = (
            self._linear(x, f"{name}.attention.self.{part}").view(rows, longest, heads, width // heads).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = self._torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        seen = seen.transpose(1, 2).reshape(rows, longest, width)
        x = self._norm(x + self._linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        inner = self._torch.nn.functional.gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, x: Any, name: str) -> Any:  # noqa: ANN401
        return self._torch.nn.functional.linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, x: Any, name: str) -> Any:  # noqa: ANN401
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return self._torch.nn.functional.layer_norm(x, weight.shape, weight, bias, self.settings["layer_norm_eps"])


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name.replace("-", "_"))
    return None if spec is None or spec.origin is None else Path(spec.origin).parent
