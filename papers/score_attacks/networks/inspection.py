"""Finding networks that were built to read labels, not to predict them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from tacit.privacy.errors import InvalidInput, TacitError
from tacit.scores.inspections import SubmissionFinding

if TYPE_CHECKING:
    import torch

__all__ = ["NetworkInspection", "inspect_network"]

Predict = Callable[[NDArray[np.float64]], ArrayLike]
Table = NDArray[np.float64]

_SAME = 1e-12  # outputs that differ by less are one output
_BATCH = 1e-4  # an honest float32 network may move this much between batches
_UNIFORM = 1e-6  # an output this near to 1/K is 1/K
_HALF, _MOST = 0.5, 0.9  # share of changed inputs that get 1/K, and that get any other fixed output
_TIES = (1e-14, 1e-7)  # log odds this near to the most frequent output, and not equal to it, are finer than a model's
_FEW = 5  # rows that make a pattern
_NOISE = (1e-6, 1e-4, 1e-2)  # of a feature's standard deviation
_JUMP = 0.05  # of probability
_LONE = 0.9  # share of a layer's units
_LEVEL = 1e-9  # of the test that rows jump more often than their noisy copies


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkInspection:
    """What an inspection found; an empty ``findings`` is no proof of honesty."""

    findings: tuple[SubmissionFinding, ...]
    inputs: int

    @property
    def crafted(self) -> bool:
        """Whether anything was found."""
        return bool(self.findings)

    def __str__(self) -> str:
        if not self.findings:
            return f"nothing found on {self.inputs} inputs"
        return "; ".join(f"{finding.check}: {finding.reason}" for finding in self.findings)


def inspect_network(
    network: Predict,
    inputs: ArrayLike,
    *,
    rng: np.random.Generator,
    module: torch.nn.Module | bytes | None = None,
) -> NetworkInspection:
    """Look for the marks of a network that answers with chosen predictions instead of a model's.

    Six checks, each with a reason in plain words: **constant** (one output for all inputs and for inputs with
    shuffled features), **position** (the output follows the place of a row, not its features), **recognition**
    (rows that leave the one output the network gives elsewhere, and fall back to it when half their features are
    another row's), **jump** (rows whose output jumps under a tiny change far more often than their changed copies
    do), **precision** (outputs that are nearly, not exactly, the most frequent one), and with ``module`` **dead layer**
    (a hidden layer that passes nothing, or passes the inputs but none of their changed copies).

    Not found: a network that answers like an honest model on every input but a few cells around the rows it asks
    about, if those cells are wide. Flag, never drop: a finding is a reason to look, not a proof.

    Parameters
    ----------
    network
        From features (rows, features) to probabilities (rows,) or (rows, classes).
    inputs
        The host's features; they should not be the model's training rows.
    module
        The torch module or the serialized ONNX model behind ``network``, for the dead-layer check.

    References
    ----------
    Aggarwal et al. (2021), Appendix G: the network to find.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(200, 3))
    >>> print(inspect_network(lambda x: 1 / (1 + np.exp(-x.sum(axis=1))), features, rng=rng))
    nothing found on 200 inputs
    >>> print(inspect_network(lambda x: np.full(len(x), 0.1), features, rng=rng))
    constant: the output is the same for all 200 inputs and for inputs with shuffled features
    """
    X = np.asarray(inputs, dtype=np.float64)
    if X.ndim != 2 or len(X) < 2 or not np.isfinite(X).all():
        raise InvalidInput(
            f"must be a table of at least two rows of finite numbers, got shape {X.shape}", field="inputs"
        )
    P = _table(network(X), rows=len(X))
    shuffled = rng.permuted(X, axis=0)
    found = _check_position(network, X, P, rng=rng) or _check_constant(network, X, P, shuffled)
    if not found:
        found = [
            *_check_recognition(network, X, P, rng=rng),
            *_check_jump(network, X, P, rng=rng),
        ]
    found += _check_precision(P)
    if module is not None:
        found += _check_layers(module, X, shuffled)
    return NetworkInspection(findings=tuple(found), inputs=len(X))


def _table(output: ArrayLike, *, rows: int) -> Table:
    P = np.asarray(output, dtype=np.float64)
    P = np.stack([1 - P.reshape(-1), P.reshape(-1)], axis=1) if P.ndim == 1 or P.shape[1:] == (1,) else P
    if P.ndim != 2 or len(P) != rows or not np.isfinite(P).all():
        raise InvalidInput(f"network must return one row of probabilities for each of {rows} inputs, got {P.shape}")
    return P


def _check_position(network: Predict, X: Table, P: Table, *, rng: np.random.Generator) -> list[SubmissionFinding]:
    """Compare the outputs with those of the same rows in another order and alone."""
    order = rng.permutation(len(X))
    half = order[: len(order) // 2]
    moved = float(np.abs(_table(network(X[order]), rows=len(X)) - P[order]).max())
    if moved > _BATCH:
        reason = f"an output moves by up to {moved:.2g} when the rows come in another order"
        return [SubmissionFinding(check="position", reason=reason, measured=moved, limit=_BATCH)]
    try:
        alone = float(np.abs(_table(network(X[half]), rows=len(half)) - P[half]).max())
    except Exception as error:  # whatever the host's runtime raises
        reason = f"it cannot score a part of the rows ({type(error).__name__}): it takes the whole set as one input"
        return [SubmissionFinding(check="position", reason=reason, measured=float(len(half)), limit=float(len(X)))]
    if alone > _BATCH:
        reason = f"an output moves by up to {alone:.2g} when a row comes without the others"
        return [SubmissionFinding(check="position", reason=reason, measured=alone, limit=_BATCH)]
    return []


def _check_constant(network: Predict, X: Table, P: Table, shuffled: Table) -> list[SubmissionFinding]:
    spread = max(np.abs(P - P[0]).max(), np.abs(_table(network(shuffled), rows=len(X)) - P[0]).max())
    if spread > _SAME:
        return []
    reason = f"the output is the same for all {len(X)} inputs and for inputs with shuffled features"
    return [SubmissionFinding(check="constant", reason=reason, measured=float(spread), limit=_SAME)]


def _check_recognition(network: Predict, X: Table, P: Table, *, rng: np.random.Generator) -> list[SubmissionFinding]:
    """See whether rows fall back to one output when half of their features are another row's.

    A row that an attack does not ask about must cost the same whatever its label is, so its output is 1/K. An honest
    model hardly ever predicts exactly that; it may have another constant output on most inputs (a tree's largest leaf).
    """
    if X.shape[1] < 2:
        return []
    Q = _table(network(_half_swapped(X, rng=rng)), rows=len(X))
    usual = _most_frequent(Q)
    uniform = bool(np.abs(usual - 1 / P.shape[1]).max() < _UNIFORM)
    special = np.abs(P - usual).max(axis=1) > _SAME
    back = np.abs(Q - usual).max(axis=1) <= _SAME
    count, share = int(special.sum()), float(back.mean())
    limit = _HALF if uniform else _MOST
    if share < limit or count < (1 if uniform else _FEW) or (not uniform and back[special].mean() < limit):
        return []
    output = "1/K for each class" if uniform else "one fixed output"
    reason = f"{count} inputs have outputs of their own; with half the features changed {share:.0%} get {output}"
    return [SubmissionFinding(check="recognition", reason=reason, measured=share, limit=limit)]


def _half_swapped(X: Table, *, rng: np.random.Generator) -> Table:
    """Each row with a random half of its features taken from another row."""
    other = X[(np.arange(len(X)) + rng.integers(1, len(X), size=len(X))) % len(X)]
    swap = rng.permuted(np.tile(np.arange(X.shape[1]) < (X.shape[1] + 1) // 2, (len(X), 1)), axis=1)
    return np.where(swap, other, X)


def _most_frequent(P: Table) -> Table:
    values, counts = np.unique(P, axis=0, return_counts=True)
    return np.asarray(values[counts.argmax()])


def _check_jump(network: Predict, X: Table, P: Table, *, rng: np.random.Generator) -> list[SubmissionFinding]:
    """See whether rows jump under tiny noise more often than their noisy copies: an honest model cannot."""
    # noise would move an integer or a category off its grid, where an honest model may jump too
    continuous = np.array([len(np.unique(column)) > len(X) / 4 for column in X.T])
    spread = X.std(axis=0) * continuous
    for scale in _NOISE if continuous.any() else ():
        near = X + scale * spread * rng.normal(size=X.shape)
        nearer = near + scale * spread * rng.normal(size=X.shape)
        Q, R = _table(network(near), rows=len(X)), _table(network(nearer), rows=len(X))
        rows, copies = (np.abs(A - B).max(axis=1) > _JUMP for A, B in ((P, Q), (Q, R)))
        only_rows, only_copies = int((rows & ~copies).sum()), int((copies & ~rows).sum())
        chance = float(binom.sf(only_rows - 1, only_rows + only_copies, 0.5))
        if only_rows and chance < _LEVEL:
            reason = (
                f"{only_rows} inputs jump by more than {_JUMP} under noise of {scale:g} standard deviations, "
                f"and only {only_copies} of their noisy copies do"
            )
            return [SubmissionFinding(check="jump", reason=reason, measured=chance, limit=_LEVEL)]
    return []


def _check_precision(P: Table) -> list[SubmissionFinding]:
    usual = _most_frequent(P)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(np.log(P) - np.log(usual)).max(axis=1)
    near = int(((distance > _TIES[0]) & (distance < _TIES[1])).sum())
    if near < _FEW:
        return []
    reason = f"{near} outputs are within {_TIES[1]:g} of the most frequent one and not equal to it"
    return [SubmissionFinding(check="precision", reason=reason, measured=float(near), limit=float(_FEW))]


def _check_layers(module: torch.nn.Module | bytes, X: Table, shuffled: Table) -> list[SubmissionFinding]:
    """Look for a layer that passes nothing of the features on, or that fires on single inputs only."""
    _, first = np.unique(X, axis=0, return_index=True)
    traced = _trace_onnx(module, X, shuffled) if isinstance(module, bytes) else _trace_torch(module, X, shuffled)
    for name, before, after in traced:
        if before.shape == after.shape and np.array_equal(before, after):
            reason = f"the layer {name} has the same output for all features"
            return [SubmissionFinding(check="dead layer", reason=reason, measured=1.0, limit=1.0)]
        if before.shape[0] != len(X):
            continue
        values = before.reshape(len(X), -1)[first]
        lone = float(((np.abs(values - np.median(values, axis=0)) > _SAME).sum(axis=0) <= 1).mean())
        if lone >= _LONE:
            reason = f"{lone:.0%} of the units of layer {name} respond to only one input each or to none"
            return [SubmissionFinding(check="dead layer", reason=reason, measured=lone, limit=_LONE)]
    return []


def _trace_torch(module: torch.nn.Module, X: Table, shuffled: Table) -> list[tuple[str, Table, Table]]:
    """Return each leaf's name and its outputs on the inputs and on the shuffled ones."""
    import torch

    kind = next((parameter.dtype for parameter in module.parameters()), torch.float64)
    runs: list[dict[str, Table]] = []
    for values in (X, shuffled):
        seen: dict[str, Table] = {}
        hooks = [
            leaf.register_forward_hook(lambda _, __, out, name=name, seen=seen: seen.update({name: out.numpy()}))
            for name, leaf in module.named_modules()
            if not list(leaf.children())
        ]
        try:
            with torch.no_grad():
                module(torch.from_numpy(values).to(kind))
        finally:
            for hook in hooks:
                hook.remove()
        runs.append(seen)
    return [(name, runs[0][name], runs[1][name]) for name in runs[0] if name in runs[1]]


def _trace_onnx(model: bytes, X: Table, shuffled: Table) -> list[tuple[str, Table, Table]]:
    """Return each node's name and its outputs on the inputs and on the shuffled ones."""
    try:
        import onnx
        from onnx.reference import ReferenceEvaluator
    except ImportError:
        raise TacitError("the package onnx is missing; install it with: pip install 'tacit[torch]'") from None

    graph = onnx.load_from_string(model).graph
    evaluator = ReferenceEvaluator(onnx.load_from_string(model))
    feature = graph.input[0]
    kind = onnx.helper.tensor_dtype_to_np_dtype(feature.type.tensor_type.elem_type)
    runs = [evaluator.run(None, {feature.name: values.astype(kind)}, intermediate=True) for values in (X, shuffled)]
    names = [output for node in graph.node for output in node.output]
    return [(name, runs[0][name], runs[1][name]) for name in names]
