"""Losses as JSON in files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from tacit.privacy.errors import InvalidInput
from tacit.privacy.loss.base import PrivacyLoss
from tacit.privacy.loss.composed import ComposedLoss
from tacit.privacy.loss.discrete import DiscreteGaussianLoss, DiscreteLaplaceLoss
from tacit.privacy.loss.real import GaussianLoss
from tacit.privacy.loss.sampled import SampledGaussianLoss
from tacit.privacy.loss.worst import ApproximateLoss, PureLoss

__all__ = ["loss_from_json", "loss_to_json", "read_fraction"]


_MOST_PARTS = 2000  # pricing one takes less than a millisecond
_MOST_WORK = 4000  # and what else takes longer, as long as so many

_KINDS: dict[str, type[Any]] = {
    cls.kind: cls
    for cls in (
        PureLoss,
        ApproximateLoss,
        DiscreteLaplaceLoss,
        DiscreteGaussianLoss,
        GaussianLoss,
        SampledGaussianLoss,
    )
}


def loss_to_json(loss: PrivacyLoss) -> dict[str, Any]:
    """Return a loss as plain JSON; fractions become strings."""
    if isinstance(loss, ComposedLoss):
        return {"kind": loss.kind, "parts": [loss_to_json(part) for part in loss.parts], "times": loss.times}
    fields = asdict(loss)  # type: ignore[call-overload]
    plain = {name: str(v) if isinstance(v, Fraction) else v for name, v in fields.items()}
    return {"kind": loss.kind, **plain}


def loss_from_json(document: Mapping[str, Any]) -> PrivacyLoss:
    """Read back what :func:`loss_to_json` wrote."""
    fields = {name: value for name, value in document.items() if name != "kind"}
    kind = document.get("kind")
    if kind == ComposedLoss.kind:
        parts = tuple(loss_from_json(part) for part in fields["parts"])
        whole = ComposedLoss(parts=parts, times=fields.get("times", 1))
        if len(set(parts)) > _MOST_PARTS:
            raise InvalidInput(f"must have at most {_MOST_PARTS} different parts, got {len(set(parts))}", field="loss")
        if _work(whole) > _MOST_WORK:
            raise InvalidInput("must have fewer different parts that are repeated: pricing it takes long", field="loss")
        return whole
    if kind not in _KINDS:
        raise InvalidInput(f"privacy loss kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    if isinstance(fields.get("scale"), str):
        fields["scale"] = read_fraction(fields["scale"])
    loss: PrivacyLoss = _KINDS[kind](**fields)
    return loss


def _work(loss: PrivacyLoss) -> int:
    """As how many parts a loss takes to price: one that is repeated is doubled again and again, and grows."""
    if isinstance(loss, ComposedLoss):
        counts = Counter(loss.parts).items()
        return sum(_work(part) * (count * loss.times).bit_length() ** 2 for part, count in counts)
    return 20 * min(loss.rows, 100) if isinstance(loss, SampledGaussianLoss) else 1


def read_fraction(text: str) -> Fraction:
    """Read a fraction as it is written, and no power of ten that would take more memory than there is."""
    if not re.fullmatch(r"\d{1,400}(/\d{1,400})?", text):
        raise InvalidInput(f"must be a fraction of at most 400 digits, got {text[:40]!r}", field="scale")
    return Fraction(text)
