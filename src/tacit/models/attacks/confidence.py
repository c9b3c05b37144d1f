"""A model's confidence in a row's own label: f = ln p - ln(1 - p), computed without cancellation."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.privacy.errors import InvalidInput

__all__ = [
    "FLOOR",
    "confidence_from_logits",
    "confidence_from_losses",
    "confidence_from_probabilities",
    "measure_confidence",
]

FLOOR = 2.0**-53
"""Probabilities below this count as this: a float next to 1 cannot say more, and f stays within 36.74 of 0."""

_BATCH = 4096
_SUM_TOLERANCE = 0.01  # printed probabilities are rounded


def confidence_from_logits(logits: ArrayLike, labels: ArrayLike) -> Floats:
    """Return f = z_y - ln sum_{k != y} e^{z_k}, which is exact where p has rounded to 1 or to 0.

    ``logits`` has a column per class, or one number per row: the logit of class 1 of 0 and 1.

    References
    ----------
    Carlini et al. (2022), the logit scaling of Algorithm 1.
    """
    z = _numbers(logits, "logits")
    if not np.isfinite(z).all():
        raise InvalidInput("must be finite, got NaN or infinity: the model's outputs are broken", field="logits")
    if z.ndim == 2 and z.shape[1] == 1:
        z = z[:, 0]
    columns = _columns(labels, np.arange(2 if z.ndim == 1 else z.shape[-1]), rows=len(z))
    if z.ndim == 1:
        return np.where(columns == 1, z, -z)
    own, others = _apart(z, columns, fill=-np.inf, name="logits")
    return np.asarray(own - logsumexp(others, axis=1))


def confidence_from_probabilities(
    probabilities: ArrayLike, labels: ArrayLike | None = None, *, classes: ArrayLike | None = None, floor: float = FLOOR
) -> Floats:
    """Return f = ln p_y - ln sum_{k != y} p_k; the sum of the others is not 1 - p_y, which would cancel.

    Parameters
    ----------
    probabilities
        A column per class; or, without ``labels``, the probability of each row's own class.
    classes
        What the columns represent; by default 0, 1, ...
    floor
        Least probability on either side, in (0, 1/2): it bounds f where a model says exactly 0 or 1, as trees do.

    References
    ----------
    Carlini et al. (2022), the logit scaling of Algorithm 1.
    """
    p = _numbers(probabilities, "probabilities")
    if not 0 < floor < 0.5:
        raise InvalidInput(f"must be in (0, 0.5), got {floor!r}", field="floor")
    if np.isnan(p).any():
        raise InvalidInput("must not contain NaN: the model's outputs are broken", field="probabilities")
    outside = p[(p < 0) | (p > 1)]
    if outside.size:
        raise InvalidInput(
            f"must be in [0, 1], got {outside[0]:g}: give logits to confidence_from_logits", field="probabilities"
        )
    if labels is None:
        if p.ndim != 1:
            raise InvalidInput(f"must be given with probabilities of every class, of shape {p.shape}", field="labels")
        own, rest = p, 1 - p
    else:
        kinds = np.arange(p.shape[-1]) if classes is None else np.asarray(classes)
        columns = _columns(labels, kinds, rows=len(p))
        if p.ndim != 2 or p.shape[1] != len(kinds):
            raise InvalidInput(
                f"must have {len(kinds)} columns, one per class, got shape {p.shape}", field="probabilities"
            )
        _check_sums(p)
        own, others = _apart(p, columns, fill=0.0, name="probabilities")
        rest = others.sum(axis=1)
    return np.asarray(np.log(np.maximum(own, floor)) - np.log(np.maximum(rest, floor)))


def confidence_from_losses(losses: ArrayLike) -> Floats:
    """Return f = -ln(e^l - 1) of cross-entropy losses l = -ln p, from 2^-53 to 53 ln 2 and cut there."""
    loss = _numbers(losses, "losses")
    if np.isnan(loss).any() or (loss < 0).any():
        raise InvalidInput(
            "must be cross-entropies, numbers >= 0 without NaN; for other losses: attack_losses", field="losses"
        )
    loss = np.clip(loss, FLOOR, -math.log(FLOOR))
    return np.asarray(-np.log(np.expm1(loss)))


def measure_confidence(
    model: Any,  # noqa: ANN401
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    *,
    floor: float = FLOOR,
) -> Floats:
    """Return a model's confidence in each row's own label.

    Parameters
    ----------
    model
        Something fitted with ``predict_proba`` and ``classes_``; a torch module that returns logits, a column per class
        or one for class 1 of 0 and 1; or a :class:`tacit.models.network.TwoLayerReLU`, whose labels are -1 and 1.
    """
    if isinstance(model, TwoLayerReLU):
        signs = _columns(y, np.array([-1, 1]), rows=len(np.asarray(X)))
        return confidence_from_logits(model(X), signs)
    if hasattr(model, "predict_proba"):
        given, classes = np.asarray(model.predict_proba(X)), getattr(model, "classes_", None)
        return confidence_from_probabilities(given, y, classes=classes, floor=floor)
    torch = sys.modules.get("torch")  # who passes a module has imported it
    if torch is not None and isinstance(model, torch.nn.Module):
        return confidence_from_logits(_check_logits(_run_module(torch, model, X)), y)
    raise InvalidInput(
        f"must have predict_proba, or be a torch module that returns logits, got {type(model).__name__}: for any "
        "other model, pass its losses to attack_losses",
        field="model",
    )


def _run_module(torch: Any, module: Any, X: ArrayLike | pd.DataFrame) -> Floats:  # noqa: ANN401
    """Return a module's outputs in evaluation mode, and leave the module as it was."""
    first = next(module.parameters(), torch.zeros(0))
    modes = [(part, part.training) for part in module.modules()]
    rows = np.asarray(X)
    module.eval()
    try:
        with torch.no_grad():
            parts = (torch.as_tensor(rows[i : i + _BATCH]) for i in range(0, len(rows), _BATCH))
            outputs = [_tensor(torch, module(part.to(device=first.device, dtype=first.dtype))) for part in parts]
    finally:
        for part, mode in modes:
            part.training = mode
    return np.asarray(torch.cat(outputs).numpy())


def _tensor(torch: Any, output: Any) -> Any:  # noqa: ANN401
    if not isinstance(output, torch.Tensor):
        kind = type(output).__name__
        raise InvalidInput(f"model must return a tensor of logits, got {kind}: wrap it in a module that does")
    return output.double().cpu()


def _check_logits(outputs: Floats) -> Floats:
    """Raise if a module's outputs are probabilities: read as logits they order the rows of two classes wrongly."""
    sums = outputs.sum(axis=1) if outputs.ndim == 2 and outputs.shape[1] > 1 else np.ones(len(outputs))
    if len(outputs) > 1 and (outputs >= 0).all() and (outputs <= 1).all() and np.allclose(sums, 1, atol=1e-3):
        raise InvalidInput(
            "model must return logits, got only numbers in [0, 1], as softmax or sigmoid make them: leave that out, "
            "or give them to confidence_from_probabilities; if they are logits, to confidence_from_logits"
        )
    return outputs


def _numbers(values: ArrayLike, name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be numbers, got {type(values).__name__}") from None
    if array.ndim not in (1, 2) or not array.size:
        raise InvalidInput(f"{name} must have one row per point, one or more, got shape {array.shape}")
    return array


def _columns(labels: ArrayLike, classes: NDArray[Any], *, rows: int) -> NDArray[np.int64]:
    """Return the column of each label."""
    given = np.asarray(labels)
    if given.shape != (rows,):
        raise InvalidInput(f"must be one for each of {rows} rows, got shape {given.shape}", field="labels")
    unknown = ~np.isin(given, classes)
    if unknown.any():
        shown = ", ".join(map(str, classes[:10].tolist())) + (", ..." if len(classes) > 10 else "")
        raise InvalidInput(f"must be classes of the model ({shown}), got {given[unknown][0].item()!r}", field="labels")
    order = np.argsort(classes)
    return np.asarray(order[np.searchsorted(classes, given, sorter=order)])


def _apart(values: Floats, columns: NDArray[np.int64], *, fill: float, name: str) -> tuple[Floats, Floats]:
    """Return each row's own value, and the row with ``fill`` in its place."""
    if values.ndim != 2 or values.shape[1] < 2:
        raise InvalidInput(f"{name} must have one column per class, two or more, got shape {values.shape}")
    others = values.copy()
    at = np.arange(len(values)), columns
    others[at] = fill
    return values[at], others


def _check_sums(probabilities: Floats) -> None:
    off = np.abs(probabilities.sum(axis=1) - 1)
    if off.max() > _SUM_TOLERANCE:
        total = probabilities[int(off.argmax())].sum()
        raise InvalidInput(f"must sum to 1 in each row, got {total:.4g} in row {off.argmax()}", field="probabilities")
