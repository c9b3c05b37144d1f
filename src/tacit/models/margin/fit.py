"""Train a two-layer network until its direction is near a KKT point of the margin problem, and measure how near."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.models.margin.certificate import KktCertificate, kkt
from tacit.models.margin.labels import check_points, signs_of
from tacit.models.margin.polish import polish_network
from tacit.models.margin.train import initial_network, train
from tacit.models.network import TwoLayerReLU
from tacit.models.points import row_keys
from tacit.privacy.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.models.margin.gradient import MarginLoss

__all__ = ["MarginFit", "NotSeparated", "check_settings", "fit_margin"]

_ENOUGH = 1e-4  # a residual above this is said to stop short


class NotSeparated(InvalidInput):
    """The network does not have every training point on its side, so it has no margin."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginFit:
    """A network trained by gradients, the network polished from it, and the certificate of each.

    Parameters
    ----------
    network
        The gradient-trained network, rescaled to least margin 1; its certificate states the tolerance of its kinks.
    polished
        A network at a KKT point, from the activation patterns of the first: it may be a different, much smaller one,
        and attacks on it are reported apart. None if no polish was asked for. Its certificate has kinks at 1e-7.
    below_at
        The step after which Theorem 2.1 applies: the exponential loss below 1/n, the logistic one below log(2)/n. None
        where it never was.
    shortfall
        Why the gradient-trained network is not at a KKT point, in a sentence; None if it is.
    """

    network: TwoLayerReLU
    certificate: KktCertificate
    polished: TwoLayerReLU | None
    polished_certificate: KktCertificate | None
    steps: int
    below_at: int | None
    shortfall: str | None

    @property
    def best(self) -> TwoLayerReLU:
        """The polished network where there is one, else the gradient-trained one."""
        return self.network if self.polished is None else self.polished


def fit_margin(
    X: ArrayLike,
    y: ArrayLike,
    *,
    width: int,
    rng: np.random.Generator,
    steps: int = 2000,
    initial_scale: float = 1e-3,
    loss: MarginLoss | None = None,
    polish: bool = True,
    tolerance: float = 1e-2,
    report: Callable[[int], None] | None = None,
) -> MarginFit:
    """Train a network on (X, y) to an approximate KKT point of min |theta|^2/2 subject to y_i Phi(x_i) >= 1.

    From a small random network, gradient steps on the logarithm of the loss; then the network is rescaled to least
    margin 1. The polish solves the convex program of its activation patterns.

    Parameters
    ----------
    X, y
        Points and their labels: two values, the larger one is +1.
    initial_scale
        Norm of the first network; the smaller, the fewer directions its neurons take.
    loss
        By default ``ExponentialMarginLoss()``.
    tolerance
        Of the gradient-trained network's kinks in its certificate.

    Raises
    ------
    NotSeparated
        A point is on the wrong side after all steps, or two equal points have unlike labels.

    References
    ----------
    Paper 004, Theorem 2.1 and Section 5; Lyu and Li (2020); Haim et al. (2022) for the small first network.
    """
    check_settings(width=width, steps=steps, initial_scale=initial_scale)
    rows, signs = _check_problem(X, y)
    start = initial_network(width=width, dimension=rows.shape[1], scale=initial_scale, rng=rng)
    trained, below_at = train(rows, signs, start, steps=steps, loss=loss, report=report)
    margins = signs * trained(rows)
    if not margins.min() > 0:
        raise NotSeparated(
            f"X is not separated: {int((margins <= 0).sum())} of {len(rows)} points are on the wrong side after "
            f"{steps} steps; raise width, steps or initial_scale"
        )
    network = trained.scaled(1 / margins.min())
    certificate = kkt(network, rows, signs, tolerance=tolerance)
    polished = polish_network(network, rows, signs) if polish else None
    return MarginFit(
        network=network,
        certificate=certificate,
        polished=polished,
        polished_certificate=None if polished is None else kkt(polished, rows, signs),
        steps=steps,
        below_at=below_at,
        shortfall=_shortfall(certificate, steps, below_at),
    )


def check_settings(*, width: int, steps: int, initial_scale: float) -> None:
    """Raise unless these can train a network."""
    if width < 1:
        raise InvalidInput(f"must be at least 1, got {width}", field="width")
    if steps < 1:
        raise InvalidInput(f"must be at least 1, got {steps}", field="steps")
    if not 0 < initial_scale < np.inf:
        raise InvalidInput(f"must be > 0, got {initial_scale}", field="initial_scale")


def _shortfall(certificate: KktCertificate, steps: int, below_at: int | None) -> str | None:
    if below_at is None:
        return f"after {steps} steps the loss is not below the threshold of Theorem 2.1: take more steps"
    if certificate.residual > _ENOUGH or certificate.slackness > _ENOUGH:
        return (
            f"after {steps} steps the stationarity residual is {certificate.residual:.2g} with kinks at "
            f"{certificate.tolerance:g} and the slackness {certificate.slackness:.2g}, not both below {_ENOUGH:g}"
        )
    return None


def _check_problem(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = check_points(X)
    signs = signs_of(y, rows=len(rows))
    if len(np.unique(signs)) < 2:
        raise InvalidInput("must have two values, got 1: a margin is between two classes", field="y")
    keys = row_keys(rows)
    positive = {key: place for place, key in enumerate(keys) if signs[place] > 0}
    clashes = [(place, positive[key]) for place, key in enumerate(keys) if signs[place] < 0 and key in positive]
    if clashes:
        one, other = sorted(clashes[0])
        raise NotSeparated(
            f"X must have no point under both labels, which no network separates, got {len(clashes)}, such as X[{one}] "
            f"and X[{other}]: drop one of the two"
        )
    return rows, signs
