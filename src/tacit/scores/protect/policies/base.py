"""What of an exact score leaves the host: a value, what is kept for next time, and what it cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from tacit.privacy.errors import InvalidInput
from tacit.privacy.guarantee import Promise
from tacit.scores.protect.metrics import Measurement, Metric

__all__ = ["Answer", "Policy", "State"]

State = Mapping[str, Any]
"""What a policy keeps for one team, as plain JSON; private, and empty at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What leaves, and what stays.

    Parameters
    ----------
    released
        The number the team sees; nothing finer exists outside.
    text
        The number as it is shown.
    charge
        What it costs the labels, for the ledger before the answer leaves; None where it costs nothing more (the
        remembered answer to the same submission, or one that an earlier charge covers).
    state
        The team's private state for the next call; not shown.

    Examples
    --------
    >>> from tacit.privacy import NoGuarantee
    >>> Answer(released=0.5, text="0.5", charge=NoGuarantee(reason="exact"), state={"best": 3})
    Answer(released=0.5, text='0.5', charge=NoGuarantee(reason='exact'))
    """

    released: float
    text: str
    charge: Promise | None
    state: dict[str, Any] = field(default_factory=dict, repr=False)


class Policy(ABC):
    """A rule from the exact score to what leaves, without memory of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.scores.protect import Accuracy, Rounded
    >>> measured = Accuracy().measure([0, 1, 1], [0, 1, 0])
    >>> Rounded(decimals=2).release(measured, state={}, rng=np.random.default_rng(0)).text
    '0.67'
    """

    __slots__ = ()

    kind: str

    @abstractmethod
    def release(self, measurement: Measurement, *, state: State, rng: np.random.Generator) -> Answer:
        """Return what leaves for one submission.

        Parameters
        ----------
        measurement
            The exact score, from :meth:`Metric.measure`.
        state
            What the team's last :class:`Answer` left, or nothing.
        rng
            :func:`tacit.privacy.noise.system_rng` on a server.

        Examples
        --------
        >>> import numpy as np
        >>> from tacit.scores.protect import Exact, Brier
        >>> Exact().release(Brier().measure([1], [0.5]), state={}, rng=np.random.default_rng(0)).released
        0.25
        """

    @property
    @abstractmethod
    def guarantee_per_score(self) -> Promise:
        """What one released score promises to one label.

        Examples
        --------
        >>> from tacit.scores.protect import Laplace
        >>> print(Laplace(epsilon=0.1).guarantee_per_score)
        epsilon 0.1 for one label
        """

    @abstractmethod
    def describe(self) -> str:
        """Return one plain sentence for the rules of the competition.

        Examples
        --------
        >>> from tacit.scores.protect import Exact
        >>> Exact().describe()
        'Scores are shown as computed: a few dozen submissions can tell every label.'
        """

    def check(self, metric: Metric, *, rows: int) -> None:
        """Raise where the policy cannot keep its promise with this metric.

        Examples
        --------
        >>> from tacit.scores.protect import Auc, Laplace
        >>> Laplace(epsilon=1.0).check(Auc(), rows=100)
        Traceback (most recent call last):
        ...
        tacit.privacy.errors.InvalidInput: metric must have a known sensitivity for laplace: one label moves auc by ...
        """
        metric.sensitivity(rows)  # a class_floor must fit the rows

    def to_json(self) -> dict[str, Any]:
        """Return the policy as plain JSON.

        Examples
        --------
        >>> from tacit.scores.protect import Rounded
        >>> Rounded(decimals=3).to_json()
        {'policy': 'rounded', 'decimals': 3}
        """
        return {"policy": self.kind} | {spec.name: getattr(self, spec.name) for spec in fields(self)}  # type: ignore[arg-type]

    def _refuse(self, metric: Metric, *, rows: int) -> None:
        if metric.sensitivity(rows) is None:
            raise InvalidInput(f"metric must have a known sensitivity for {self.kind}: {metric.no_sensitivity}")
