"""An offer's host, played with the protected labels: it answers as the real one would, and charges nothing."""

from __future__ import annotations

import hashlib
from collections import Counter
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.privacy.errors import BudgetExceeded
from tacit.scores.attacks.errors import OracleError
from tacit.scores.policies import Policy
from tacit.scores.releases.label_table import LabelTable

__all__ = ["PlayedHost"]


class PlayedHost:
    """Answers one team's submissions; several threads may submit at once.

    The noise is seeded by the submission, not by which thread submits first, so that a seeded attack repeats.
    """

    def __init__(self, labels: LabelTable, policy: Policy, *, rng: np.random.Generator) -> None:
        self._labels, self._policy = labels, policy
        self._root = rng.integers(2**63, size=4).tolist()
        self._seen = Counter[bytes]()
        self._state: dict[str, Any] = {}
        self._lock = Lock()

    def submit(self, predictions: ArrayLike) -> str:
        """Return the score as it is shown; raise if the policy gives no more answers."""
        digest = hashlib.sha256(np.ascontiguousarray(predictions).tobytes()).digest()
        with self._lock:
            self._seen[digest] += 1
            noise = np.random.default_rng([*self._root, int.from_bytes(digest), self._seen[digest]])
            try:
                measured = self._labels.measure(np.asarray(predictions))
                answer = self._policy.release(measured, state=self._state, rng=noise)
            except BudgetExceeded as error:
                raise OracleError(str(error)) from None
            self._state = answer.state
        return answer.text
