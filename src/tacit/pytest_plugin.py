"""The pytest plugin: a fixture that compares what an attack measured with a threshold or a guarantee.

pytest imports this module in every run of every project that has tacit installed: it imports nothing of tacit before
the fixture is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["assert_leak_below"]


@pytest.fixture(scope="session")
def assert_leak_below() -> Callable[..., None]:
    """Return :func:`tacit.leak.assert_leak_below`, which says which end of the interval decides.

    Examples
    --------
    In a test file, with nothing to import or to configure::

        def test_release(assert_leak_below):
            assert_leak_below(leak, advantage=0.05)
            assert_leak_below(leak, guarantee=release.guarantee)

    ``pytest --fixtures`` lists it; ``-p no:tacit`` turns the plugin off.
    """
    from tacit.leak import assert_leak_below

    return assert_leak_below
