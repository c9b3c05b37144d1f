"""The class weights of an estimator that is trained on codes, wherever in a pipeline they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from tacit.privacy.errors import InvalidInput

__all__ = ["as_number", "coded", "last_class_weight", "unbalanced"]

_NAMES = ("class_weight", "class_weights")


def coded(estimator: Any, classes: Sequence[Any]) -> Any:  # noqa: ANN401
    """Return the estimator, in a copy if it has weights by class: they are then by the code of each class."""
    places = {as_number(name): code for code, name in enumerate(classes)}
    changed = {}
    for name, weights in _class_weights(estimator):
        if not isinstance(weights, Mapping):
            continue
        unknown = [one for one in weights if as_number(one) not in places]
        if unknown:
            raise InvalidInput(f"must name classes among {list(classes)!r}, got {unknown[0]!r}", field=name)
        changed[name] = {places[as_number(one)]: weight for one, weight in weights.items()}
    return clone(estimator).set_params(**changed) if changed else estimator


def unbalanced(estimator: Any) -> Any:  # noqa: ANN401
    """Return the estimator, in a copy without class weights if it has any: what it then predicts is P(class | x)."""
    found = [name for name, _ in _class_weights(estimator)]
    return clone(estimator).set_params(**dict.fromkeys(found)) if found else estimator


def last_class_weight(estimator: Any) -> Any:  # noqa: ANN401
    """Return ``class_weight`` of the estimator, or of the last step of a pipeline."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return getattr(last, "class_weight", None)


def as_number(label: Any) -> Any:  # noqa: ANN401
    """Return a label that is a number, or written as one, as a float: 1, "1" and 1.0 are one class."""
    try:
        return float(label)
    except (TypeError, ValueError):
        return label


def _class_weights(estimator: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    for name, value in estimator.get_params(deep=True).items():
        if name.rpartition("__")[2] in _NAMES and value is not None:
            yield name, value
