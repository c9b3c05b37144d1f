"""Random bits for real releases: AES in counter mode, keyed by the operating system, never repeated."""

from __future__ import annotations

import os
import secrets
import weakref
from typing import Any, NoReturn

import numpy as np
from randomgen import AESCounter

__all__ = ["SystemGenerator", "is_seeded", "system_rng"]


class _SecretBits(AESCounter):  # type: ignore[misc]  # randomgen has no types
    """AES-128 in counter mode under a key that nobody chose and nobody can read back."""

    def __init__(self) -> None:
        super().__init__(key=secrets.randbits(128))

    @property
    def state(self) -> NoReturn:
        """Raise: anyone who has the state knows all noise, past and future."""
        raise TypeError("the state of a system generator is secret; use numpy.random.default_rng(seed) to repeat a run")

    def __reduce__(self) -> tuple[type[_SecretBits], tuple[()]]:
        return _SecretBits, ()

    def jumped(self, jumps: int = 1) -> _SecretBits:  # noqa: ARG002  # randomgen's signature
        """Return a freshly keyed generator, because a jump ahead in the same stream could be reached again."""
        return _SecretBits()

    def spawn(self, n_children: int) -> list[_SecretBits]:
        """Return freshly keyed generators."""
        return [_SecretBits() for _ in range(n_children)]


class SystemGenerator(np.random.Generator):
    """A NumPy generator whose draws nobody can predict or repeat.

    The key is 128 bits from the operating system. A copy, an unpickled generator, a spawned one and the same object in
    a forked child get new keys, so no two of them ever draw the same noise (equal noise on two releases would cancel).
    Not covered: a virtual machine that is snapshot and resumed twice, and a fork made by C code that bypasses Python.
    """

    def __init__(self) -> None:
        super().__init__(_SecretBits())
        _LIVE.add(self)

    def __reduce__(self) -> tuple[type[SystemGenerator], tuple[()]]:  # type: ignore[override]
        return SystemGenerator, ()

    def spawn(self, n_children: int) -> list[Any]:
        """Return ``n_children`` freshly keyed generators."""
        return [SystemGenerator() for _ in range(n_children)]


def system_rng() -> SystemGenerator:
    """Return a generator for real releases, keyed by the operating system.

    References
    ----------
    Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3" (AES in counter mode as a generator).

    Examples
    --------
    >>> bool((system_rng().integers(0, 2**63, size=4) != system_rng().integers(0, 2**63, size=4)).all())
    True
    """
    return SystemGenerator()


def is_seeded(rng: np.random.Generator) -> bool:
    """Return whether someone could repeat the draws of ``rng``: False only for :func:`system_rng`.

    Examples
    --------
    >>> is_seeded(np.random.default_rng(0)), is_seeded(system_rng())
    (True, False)
    """
    return not isinstance(rng, SystemGenerator)


_LIVE: weakref.WeakSet[SystemGenerator] = weakref.WeakSet()


def _rekey_all() -> None:
    # a new bit generator, not a new state: the lock of the old one may be held by a thread the child does not have
    for generator in list(_LIVE):
        np.random.Generator.__init__(generator, _SecretBits())


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_rekey_all)
