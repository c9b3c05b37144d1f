"""The best guess of each label of a release, compared with guessing without it."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike

from tacit.labels.attacks.attacked_labels import AttackedLabels
from tacit.labels.methods import AttackMethod, Bayes
from tacit.labels.releases.release import Release
from tacit.leak import Leak
from tacit.privacy.edge import Progress, checked
from tacit.privacy.noise import system_rng
from tacit.privacy.settings import read_choice

__all__ = ["attack"]


@checked()
def attack(
    release: Release | str | os.PathLike[str],
    *,
    data: object = None,
    truth: object = None,
    before: ArrayLike | None = None,
    method: AttackMethod | str | None = None,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> Leak:
    """Guess each label from the release, the features of its rows, and what was known before.

    Parameters
    ----------
    data
        The rows of the release, whose features the attacker has. Default: the columns released beside the labels.
    truth
        The table that was protected, to count correct guesses. Without it only the notes have the attacker's
        expectations.
    method
        Default: ``bayes``. ``canaries`` reads ``truth`` alone.

    Returns
    -------
    Leak
        Compared with the guesses of an attacker who knows the same but not the release; ``after`` has the beliefs.

    References
    ----------
    Wu et al. (2023) (expected attack utility); Busa-Fekete et al. (2024). Formula sheet c1, c2.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tacit.labels import Plan, protect
    >>> table = pa.table({"ill": ["no", "yes", "no", "no"] * 250})
    >>> release = protect(table, Plan(label="ill", epsilon=2), rng=np.random.default_rng(0))
    >>> leak = attack(release, truth=table)
    >>> leak.rate > leak.baseline, leak.facts["randomized_as_claimed"]
    (True, True)
    """
    chosen: AttackMethod = Bayes() if method is None else read_choice(AttackMethod, method, field="method")
    target = AttackedLabels(
        release=Release.open(release),
        data=data,
        truth=truth,
        before=before,
        level=level,
        rng=system_rng() if rng is None else rng,
        progress=progress or (lambda _done, _steps: None),
    )
    leak: Leak = chosen.attack(target)
    return leak
