import itertools

import numpy as np

from plasticity_lab.randomness.host import host_stream, stream_key


def test_equal_arguments_give_equal_numbers():
    first, again = (host_stream(3, "order", 5, 2).random(8) for _ in range(2))
    assert np.array_equal(first, again)


def test_every_argument_changes_the_numbers():
    arguments = [*itertools.product((0, 1, 11), ("order", "pixels"), (0, 1, 11)), (1, "order"), (1, "order", 1, 1)]
    drawn = {
        tuple(host_stream(seed, purpose, *position).integers(0, 2**62, 4)) for seed, purpose, *position in arguments
    }
    assert len(drawn) == len(arguments)


def test_positions_do_not_run_together():
    assert stream_key(1, "order", 1, 23) != stream_key(1, "order", 12, 3)
    assert stream_key(11, "order") != stream_key(1, "1order")


def test_numpys_own_integers_are_the_same_seed():
    assert stream_key(np.int64(7), "weights") == stream_key(7, "weights")


def test_the_numbers_stay_what_they_were():
    """A change of these changes every result: it must be meant, and raise science versions."""
    assert stream_key(0, "weights", "hidden1") == 59747130092302516761537339787826752977


def test_a_stream_is_numpys_philox_with_that_key():
    for seed in range(50):
        stream, key = host_stream(seed, "reset", 2), stream_key(seed, "reset", 2)
        usual = np.random.Generator(np.random.Philox(key=key))
        own, theirs = stream.bit_generator.state, usual.bit_generator.state
        assert np.array_equal(own["state"]["key"], theirs["state"]["key"])
        assert np.array_equal(own["state"]["counter"], theirs["state"]["counter"])
        assert np.array_equal(stream.normal(size=70), usual.normal(size=70))
        assert np.array_equal(stream.permutation(9), usual.permutation(9))
