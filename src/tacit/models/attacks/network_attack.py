"""What the outputs and the weights of a released two-layer network reveal about its training points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.leak import Leak
from tacit.models.attacks.attacked_release import AttackedRelease
from tacit.models.attacks.loss_threshold import attack_losses
from tacit.models.attacks.margin import KnownMargin
from tacit.models.attacks.outputs import MarginLeak, attack_margin
from tacit.models.attacks.reconstruction import measure_similarity, reconstruct_points
from tacit.models.attacks.rows import AttackedRows
from tacit.models.attacks.span import attack_weights
from tacit.models.attacks.univariate.black_box import probe_function
from tacit.models.attacks.univariate.candidates import build_candidates
from tacit.models.attacks.univariate.reconstruction import reconstruct_univariate, reconstruction_leak
from tacit.models.margin.coverage import MarginCoverage
from tacit.models.methods import MarginAttack, ReconstructionAttack
from tacit.models.network import TwoLayerReLU
from tacit.models.points import Floats
from tacit.models.releases.release import Release
from tacit.privacy.errors import InvalidInput

__all__ = ["attack_network", "reconstruct_network"]


def attack_network(method: MarginAttack, target: AttackedRelease) -> Leak:
    """Find members by their outputs at the margin; also, as facts, by the loss and by the span of the weights."""
    release, rows, level = target.release, target.rows(), target.level
    network = None if method.black_box else release.network
    ask = network or _outputs(release)
    rule = None if method.margin is None else KnownMargin(margin=method.margin)
    labels = None if rows.codes is None else rows.codes[: len(rows.inside)]
    told = attack_margin(ask, rows.inside, rows.outside, rule=rule, labels=labels, level=level)
    largest = float(np.abs(np.asarray(ask(rows.inside))).max()) / told.margin
    covered = told.coverage if release.is_network else MarginCoverage.NOT_COVERED
    enough = min(len(rows.inside), len(rows.outside)) > 1
    others = dict(_other_leaks(rows, ask, network, level=level, rng=target.rng)) if enough else {}
    facts = {
        "method": str(method),
        "margin": told.margin,
        "largest_margin": largest,
        "covered": str(covered),
        **rows.facts(),
        **{name: {"auc": leak.roc and leak.roc.auc, "leak": leak.to_json()} for name, leak in others.items()},
    }
    notes = [*rows.notes(), *_margin_notes(told, covered, largest)]
    notes += [f"By the {name}: {leak}" for name, leak in others.items()]
    return replace(told.leak, notes=tuple(notes), facts=facts)


def reconstruct_network(method: ReconstructionAttack, target: AttackedRelease) -> Leak:
    """Look for training points; compare them with the rows that were trained on, where these are given."""
    release, level = target.release, target.level
    rows = None if target.truth is None else target.rows()
    if method.black_box:
        return _probe(release, rows, method, level=level)
    network = release.network
    if network.dimension == 1:
        return _reconstruct_line(release, rows, method, level=level)
    if method.margin is not None:
        raise InvalidInput(
            f"must give no margin for a model of {network.dimension} features: the search takes it from the weights",
            field="method",
        )
    found = reconstruct_points(
        network,
        points=method.points,
        steps=method.steps,
        rng=target.rng,
        report=lambda step: target.progress(step, method.steps),
    )
    points = _own_units(release, found.points)
    facts = {
        "residual": found.residual,
        "margin_error": found.margin_error,
        "spread": found.spread if math.isfinite(found.spread) else None,
        "trusted": False,
        "points": points.tolist(),
        "labels": found.labels.tolist(),
        "multipliers": found.multipliers.tolist(),
    }
    note = (
        f"{len(found.points)} points found, stationarity residual {found.residual:.3g}, spread over the starts "
        f"{found.spread:.3g}. Not to be trusted without a prior: far-off points can satisfy the same equations."
    )
    guesses = _table(release, points, found.labels, found.multipliers)
    if rows is None:
        return Leak.uncounted(notes=[note], facts=facts, guesses=guesses, level=level)
    leak = measure_similarity(found.points, rows.inside, fresh=rows.outside).leak(level=level)
    return replace(leak, notes=(*rows.notes(), note), facts=facts, guesses=guesses)


def _outputs(release: Release) -> Callable[[Floats], Floats]:
    return lambda X: release.member.outputs(X, black_box=True)


def _other_leaks(
    rows: AttackedRows,
    ask: Callable[[Floats], Any],
    network: TwoLayerReLU | None,
    *,
    level: float,
    rng: np.random.Generator,
) -> list[tuple[str, Leak]]:
    """Return what labels and weights reveal, where they are at hand."""
    found = []
    if rows.codes is not None:
        signs = np.where(rows.codes == 1, 1.0, -1.0)
        losses = np.logaddexp(0.0, -signs * np.asarray(ask(rows.all), dtype=np.float64).reshape(len(signs)))
        found.append(("loss", attack_losses(losses[rows.member], losses[~rows.member], rng=rng, level=level)))
    if network is not None:
        found.append(("weights", attack_weights(network, rows.inside, rows.outside, rng=rng, level=level)))
    return found


def _margin_notes(told: MarginLeak, covered: MarginCoverage, largest: float) -> list[str]:
    there = f" at an exact KKT point, where all members lie at 1 margin; here they lie at 1 to {largest:.6g}"
    curve = f"Margin {told.margin:.6g}"
    if told.leak.roc is not None:
        curve += f", AUC {told.leak.roc.auc:.4f}, {told.leak.roc.at_0_1_percent}"
    return [f"{curve}.", f"Theory: {covered}{'' if covered is MarginCoverage.NOT_COVERED else there}."]


def _reconstruct_line(
    release: Release, rows: AttackedRows | None, method: ReconstructionAttack, *, level: float
) -> Leak:
    found = reconstruct_univariate(release.network, margin=method.margin)
    own = replace(
        found,
        points=_own_units(release, found.points),
        flats=_own_units(release, found.flats),
        candidates=replace(found.candidates, points=_own_units(release, found.candidates.points)),
    )
    lines = [f"{x:.9g} ({y:+d})" for x, y in zip(own.points, own.labels, strict=True)]
    notes, facts = [f"{own}", *lines], own.to_json()
    if rows is None or not len(found.points):
        return Leak.uncounted(notes=notes, facts=facts, level=level)
    signs = np.where(rows.labels[: len(rows.inside)] == 1, 1.0, -1.0)
    leak = reconstruction_leak(found, rows.inside, signs, fresh=rows.outside, level=level)
    return replace(leak, notes=tuple(notes), facts=facts)


def _probe(release: Release, rows: AttackedRows | None, method: ReconstructionAttack, *, level: float) -> Leak:
    """Find candidates for training points of one feature from outputs alone (Algorithm 1)."""
    if rows is None or rows.inside.shape[1] != 1:
        raise InvalidInput(
            "must not be a black box but for a model of one feature, with truth and data", field="method"
        )
    ask = _outputs(release)
    ends = float(rows.all.min()), float(rows.all.max())
    low, high = ends[0] - (ends[1] - ends[0]), ends[1] + (ends[1] - ends[0])
    found = probe_function(lambda x: np.ravel(ask(x[:, None])), low=low, high=high)
    margin = float(np.abs(ask(rows.inside)).min()) if method.margin is None else method.margin
    points = _own_units(release, build_candidates(found.function, margin=margin).points)
    note = f"{len(points)} candidates from {found.queries} questions: a quarter of them are training points."
    return Leak.uncounted(notes=[note], facts={"candidates": points.tolist(), "margin": margin}, level=level)


def _own_units(release: Release, points: Floats) -> Floats:
    """Return encoded points in the units of the columns, where the release has an encoder."""
    return points if release.encoder is None else release.encoder.unscale(points)


def _table(release: Release, points: Floats, labels: Floats, multipliers: Floats) -> pa.Table:
    """The points found, under the names of the features where the release has them."""
    encoder = release.encoder
    names = encoder.names if encoder else tuple(f"x{place}" for place in range(points.shape[1]))
    columns = {name: points[:, place] for place, name in enumerate(names)}
    return pa.table({**columns, "sign": labels, "multiplier": multipliers})
