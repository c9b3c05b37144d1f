"""Every test draws the same bits in every run, so that a test that passes once passes always.

Ten thousand collected tests are millions of objects that live to the end: the garbage collector looks at them neither
while they are made nor afterwards.
"""

import gc
import os
import random
import secrets
import sys
import zlib

import numpy as np
import pytest
from hypothesis import settings

from tacit.privacy.noise import entropy

gc.disable()  # until all tests are collected

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


class _RepeatableBits(random.Random):
    """What private generators get their keys from, instead of the operating system; a forked child keeps the system."""

    def __init__(self) -> None:
        super().__init__()
        self._process = os.getpid()

    def randbits(self, bits: int) -> int:
        return self.getrandbits(bits) if os.getpid() == self._process else secrets.randbits(bits)


entropy.secrets = _BITS = _RepeatableBits()  # type: ignore[assignment]


def pytest_collection_finish() -> None:
    """Collect garbage again, but only what the tests make themselves."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Seed everything that draws by the name of the test."""
    seed = zlib.crc32(item.nodeid.encode())
    for generator in (_BITS, random, np.random):
        generator.seed(seed)
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(seed)


@pytest.fixture
def system_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the operating system choose the keys, as it does for users."""
    monkeypatch.setattr(entropy, "secrets", secrets)
