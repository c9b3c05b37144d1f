"""Attack a released model, and measure what it reveals about the rows it was trained on."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from tacit.leak import Leak
from tacit.models.attacks.attacked_release import AttackedRelease
from tacit.models.methods import AttackMethod
from tacit.models.releases.release import Release
from tacit.privacy.edge import Progress, checked
from tacit.privacy.noise import system_rng
from tacit.privacy.settings import read_choice

__all__ = ["attack"]


@checked(before="membership is not a belief about labels")
def attack(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    truth: object = None,
    before: object = None,  # noqa: ARG001
    method: AttackMethod | str | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Leak:
    """Measure how well an attack finds the rows that a model was trained on.

    Parameters
    ----------
    release
        A release, or the path of a model file. A pickle must be opened with ``Release.read(path, trust=True)``.
    data
        Rows like those trained on that were not; rows that equal a member are left out.
    truth
        Rows that the model was trained on.
    method
        ``margin`` (the default for a network trained to its margin, and for a homogeneous two-layer ReLU network of
        which nothing is known), ``loss`` (else), ``lira``, ``rmia``, or ``reconstruct``, which needs neither ``truth``
        nor ``data``.

    Examples
    --------
    >>> import pandas as pd
    >>> from tacit.models import Plan, protect
    >>> draw = np.random.default_rng(0)
    >>> def rows(count):
    ...     return pd.DataFrame(draw.normal(size=(count, 30))).assign(ill=draw.integers(0, 2, count))
    >>> table = rows(40)
    >>> release = protect(table, Plan(label="ill", epsilon=None, mechanism="plain:estimator=mlp"))
    >>> attack(release, truth=table, data=rows(400), rng=draw).roc.auc > 0.9
    True
    """
    target = AttackedRelease(
        release=Release.open(release),
        truth=truth,
        data=data,
        level=level,
        rng=system_rng() if rng is None else rng,
        progress=progress or (lambda *_: None),
    )
    chosen: AttackMethod = read_choice(AttackMethod, method or target.default_method(), field="method")
    leak: Leak = chosen.attack(target)
    return replace(leak, notes=(f"{target.release}.", *leak.notes))
