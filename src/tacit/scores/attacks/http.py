"""A host behind a URL: it takes predictions as JSON or CSV, and returns a number."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tacit.privacy.errors import InvalidInput
from tacit.privacy.rounding import check_epsilon
from tacit.scores.attacks.errors import OracleError
from tacit.scores.losses.precision import Numbers

__all__ = ["CsvBody", "HttpOracle", "JsonBody"]

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class JsonBody:
    """An object with one list: one number, or one list of numbers, per row."""

    field: str = "predictions"
    content_type: str = "application/json"

    def encode(self, predictions: Numbers) -> bytes:
        """Return the object; numbers are written so that they read back exactly."""
        return json.dumps({self.field: predictions.tolist()}).encode()


@dataclass(frozen=True, slots=True)
class CsvBody:
    """A CSV file with the columns id, and prediction or class_0, class_1, ..."""

    content_type: str = "text/csv"

    def encode(self, predictions: Numbers) -> bytes:
        """Return the file."""
        wide = predictions.ndim == 2
        names = [f"class_{k}" for k in range(predictions.shape[1])] if wide else ["prediction"]
        rows = predictions.tolist() if wide else [[p] for p in predictions.tolist()]
        lines = [",".join(["id", *names])]
        lines += [",".join([str(row), *map(repr, values)]) for row, values in enumerate(rows)]
        return ("\n".join(lines) + "\n").encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOracle:
    """Ask a scoring endpoint that you own or may test.

    Parameters
    ----------
    score_field
        Name of the score in a JSON answer; a bare number is taken unchanged.
    headers
        Sent with every request, such as an authorization.
    """

    url: str
    body: JsonBody | CsvBody = field(default_factory=JsonBody)
    score_field: str = "score"
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https") or not urlsplit(self.url).hostname:
            raise InvalidInput(f"must begin with http:// or https:// and name a host, got {self.url!r}", field="url")
        check_epsilon(self.timeout, name="timeout")

    def __call__(self, predictions: Numbers) -> float:
        """Post predictions and return the score."""
        headers = {"Content-Type": self.body.content_type, **self.headers}
        request = urllib.request.Request(self.url, self.body.encode(predictions), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                text = response.read(1 << 20).decode("utf-8", errors="replace")
        except urllib.error.HTTPError as error:
            said = " ".join(error.read(1 << 12).decode("utf-8", errors="replace").split())[:_SHOWN]
            raise OracleError(f"{self.url} answered with error {error.code} ({said or error.reason})") from None
        except TimeoutError:
            raise OracleError(f"{self.url} did not answer within {self.timeout:g} s") from None
        except (urllib.error.URLError, OSError) as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):
                raise OracleError(f"{self.url} did not answer within {self.timeout:g} s") from None
            raise OracleError(f"{self.url} cannot be reached: {getattr(error, 'reason', error)}") from None
        return self._score(text)

    def _score(self, text: str) -> float:
        try:
            found: Any = json.loads(text)
            if isinstance(found, dict):
                found = found[self.score_field]
            if isinstance(found, bool):
                raise TypeError
            return float(found)
        except (ValueError, KeyError, TypeError):
            shown = " ".join(text.split())[:_SHOWN]
            raise OracleError(
                f"{self.url} answered {shown!r}, neither a number nor JSON with a number in {self.score_field!r}"
            ) from None
