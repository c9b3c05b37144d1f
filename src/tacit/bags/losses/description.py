"""Losses from plain data, as manifests and the command line write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.bags.losses.categorical import CrossEntropy
from tacit.bags.losses.logistic import LogLoss
from tacit.bags.losses.multilabel import MultiLabel
from tacit.bags.losses.poisson import PoissonLoss
from tacit.bags.losses.semilinear import SemilinearLoss
from tacit.bags.losses.squared import SquaredLoss
from tacit.privacy.errors import InvalidInput

__all__ = ["loss_of"]

_KINDS = {kind.name: kind for kind in (SquaredLoss, LogLoss, CrossEntropy, MultiLabel, PoissonLoss)}


def loss_of(description: Mapping[str, Any], /) -> SemilinearLoss:
    """Make the loss that :meth:`SemilinearLoss.describe` wrote down.

    Parameters
    ----------
    description
        A mapping with the loss's name and its parameters.

    Returns
    -------
    SemilinearLoss

    Examples
    --------
    >>> loss_of({"name": "log"})
    LogLoss()
    >>> loss_of({"name": "hinge"})
    Traceback (most recent call last):
    ...
    tacit.privacy.errors.InvalidInput: loss must be one of cross_entropy, log, multilabel, poisson, squared, got 'hinge'
    """
    parameters = dict(description)
    name = parameters.pop("name", None)
    if name not in _KINDS:
        raise InvalidInput(f"loss must be one of {', '.join(sorted(_KINDS))}, got {name!r}")
    try:
        made: SemilinearLoss = _KINDS[name](**parameters)
    except TypeError as error:
        raise InvalidInput(f"the parameters of the loss {name} are not its own, got {parameters!r}") from error
    return made
