import copy
import os
import pickle

import numpy as np
import pytest
from randomgen import AESCounter

from tacit.privacy.noise import SystemGenerator, is_seeded, system_rng

pytestmark = pytest.mark.usefixtures("system_bits")

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda rng: pickle.loads(pickle.dumps(rng)),
    "bit generator, copied": lambda rng: np.random.Generator(copy.copy(rng.bit_generator)),
    "bit generator, pickled": lambda rng: np.random.Generator(pickle.loads(pickle.dumps(rng.bit_generator))),
}


def words(rng):
    return rng.integers(0, 2**63, size=8).tolist()


def words_in_child(rng):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, pickle.dumps(words(rng)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        drawn = pickle.loads(answer.read())
    os.waitpid(child, 0)
    return drawn


def plain():
    return np.random.Generator(AESCounter(key=7))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_draws_another_stream():
    rng = system_rng()
    words(rng)
    assert set(words_in_child(rng)).isdisjoint(words(rng))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_two_children_draw_different_streams():
    rng = system_rng()
    assert set(words_in_child(rng)).isdisjoint(words_in_child(rng))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_control_a_plain_generator_repeats_itself_after_a_fork():
    rng = plain()
    assert words_in_child(rng) == words(rng)


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_a_copy_draws_another_stream(duplicate):
    rng = system_rng()
    assert set(words(duplicate(rng))).isdisjoint(words(rng))


@pytest.mark.parametrize("duplicate", [COPIES["deepcopy"], COPIES["pickle"]], ids=["deepcopy", "pickle"])
def test_control_a_copied_plain_generator_repeats_itself(duplicate):
    rng = plain()
    assert words(duplicate(rng)) == words(rng)


def test_copies_stay_system_generators():
    rng = system_rng()
    assert isinstance(pickle.loads(pickle.dumps(rng)), SystemGenerator)
    assert isinstance(copy.deepcopy(rng), SystemGenerator)


def test_spawned_and_jumped_streams_differ():
    rng = system_rng()
    jumped = np.random.Generator(rng.bit_generator.jumped())
    below = [np.random.Generator(bits) for bits in rng.bit_generator.spawn(2)]
    drawn = [tuple(words(each)) for each in (rng, jumped, *below, *rng.spawn(2))]
    assert len({word for row in drawn for word in row}) == 6 * 8


def test_the_state_is_secret():
    with pytest.raises(TypeError, match="secret"):
        _ = system_rng().bit_generator.state


def test_two_generators_differ():
    assert set(words(system_rng())).isdisjoint(words(system_rng()))


@pytest.mark.parametrize(
    "bits",
    [np.random.PCG64(1), np.random.PCG64(), np.random.Philox(1), AESCounter(1), AESCounter(key=1)],
    ids=lambda bits: type(bits).__name__,
)
def test_every_other_generator_counts_as_seeded(bits):
    assert is_seeded(np.random.Generator(bits))


def test_a_system_generator_is_not_seeded():
    assert not is_seeded(system_rng())
    assert not is_seeded(system_rng().spawn(1)[0])


def test_bits_are_balanced():
    n = 200_000
    drawn = system_rng().integers(0, 2**64 - 1, size=n, dtype=np.uint64, endpoint=True)
    ones = np.unpackbits(drawn.view(np.uint8)).reshape(n, 64).sum(axis=0)
    # 64 normal scores beyond 8 standard deviations: below 1e-13, so the unseeded test does not flake
    assert (np.abs(ones - n / 2) < 8 * np.sqrt(n / 4)).all()
