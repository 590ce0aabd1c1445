"""The ring: every frame once, stacks made anew from it, what it holds after it has gone round, and what is gone."""

import numpy as np
import pytest

from plasticity_lab.environments.environments import Environments
from plasticity_lab.replay.ring import FLAGS, Index, Ring, bytes_of_step
from tests.helpers.made_up_bodies import EMULATOR
from tests.helpers.replays import acted, at, fill

SEEDS = (3, 4)


def test_stacks_made_anew_are_what_was_shown_while_acting_episode_after_episode():
    environments = Environments(EMULATOR, SEEDS, 2, 0)
    ring = Ring(EMULATOR, 2, 2, 60)
    shown = acted(ring, environments, SEEDS, 100)
    assert ring.rows == 30
    assert ring.oldest == 70
    for step in range(72, 100):  # the first two lack frames, unless an episode begins there
        for environment in range(2):
            index = at([[step], [step]], environment)
            assert ring.whole(index).all()
            assert np.array_equal(ring.observations(index)[:, 0], shown[step][:, environment])
    assert ring.arrays["frame"].shape == (30, 2, 2, 1, 2, 3)


def test_what_lies_across_the_write_head_is_not_whole():
    ring = Ring(EMULATOR, 1, 1, 6)
    fill(ring, range(9), first=[0, 5])
    assert (ring.oldest, ring.end, ring.held) == (3, 9, 6)
    index = at([list(range(-1, 11))])
    #            -1     0      1      2      3      4      5     6     7     8     9      10
    expected = [False, False, False, False, False, False, True, True, True, True, False, False]
    assert ring.whole(index)[0].tolist() == expected  # 3 and 4 lack frames 1 and 2; 5 begins an episode
    assert ring.observations(at([[5, 6, 7, 8]]))[0, :, :, 0, 0].tolist() == [[0, 0, 5], [0, 5, 6], [5, 6, 7], [6, 7, 8]]


def test_one_step_more_than_it_has_room_for_overwrites_the_oldest_alone():
    ring = Ring(EMULATOR, 1, 1, 4)
    fill(ring, range(4), first=[0])
    before = {name: array.copy() for name, array in ring.arrays.items()}
    assert ring.since(0) == [slice(0, 4)]
    fill(ring, [4])
    assert ring.since(4) == [slice(0, 1)]
    assert ring.oldest == 1
    for name, array in ring.arrays.items():
        assert np.array_equal(array[1:], before[name][1:])
    assert ring.arrays["frame"][0].max() == 4


@pytest.mark.parametrize(
    ("end", "since", "places"),
    [
        (0, 0, []), (3, 0, [0, 1, 2]), (3, 3, []), (3, 2, [2]), (4, 0, [0, 1, 2, 3]), (6, 4, [0, 1]), (6, 3, [3, 0, 1]),
        (6, 0, [2, 3, 0, 1]), (8, 0, [0, 1, 2, 3]), (8, 7, [3]), (9, 8, [0]), (5, 99, []),
    ],
)  # fmt: skip
def test_what_was_written_since_a_step_is_at_these_places(end, since, places):
    ring = Ring(EMULATOR, 1, 1, 4)
    fill(ring, range(end))
    slices = ring.since(since)
    assert [place for each in slices for place in range(each.start, each.stop)] == places
    assert len(slices) <= 2


def test_a_copy_that_is_only_ever_appended_what_is_new_is_the_ring():
    ring, copy, there = Ring(EMULATOR, 2, 2, 14), Ring(EMULATOR, 2, 2, 14), 0
    environments = Environments(EMULATOR, SEEDS, 2, 0)
    for steps in (3, 4, 1, 5, 12, 2):
        acted(ring, environments, SEEDS, steps, first=there)
        for places in ring.since(there):
            for name, array in copy.arrays.items():
                array[places] = ring.arrays[name][places]
        there = ring.end
    assert all(np.array_equal(copy.arrays[name], array) for name, array in ring.arrays.items())


@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("packs_other", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 5, 7, 8, 19, 40])
def test_it_goes_on_from_what_it_saved(steps, packs, packs_other):
    ring, restored = Ring(EMULATOR, 1, 1, 17, packs), Ring(EMULATOR, 1, 1, 17, packs_other)
    fill(ring, range(steps), first=[0])
    state, bulk = ring.state(), ring.bulk()
    fill(restored, range(9))
    restored.load(state, bulk)
    for each in (ring, restored):
        fill(each, range(steps, steps + 3))
    assert restored.state() == ring.state()
    assert restored.lost == 0
    whole = Index(np.arange(ring.oldest, ring.end)[None], np.zeros((1, ring.held), int))
    assert all(np.array_equal(ring.of(name, whole), restored.of(name, whole)) for name in ("frame", *ring.arrays))
    assert all(np.shares_memory(bulk[name].values, array) for name, array in ring.arrays.items())  # no second copy


@pytest.mark.parametrize("packs", [False, True])
def test_without_its_frames_it_is_empty_says_so_and_begins_anew(packs):
    ring, restored = (Ring(EMULATOR, 1, 1, 7, packs) for _ in range(2))
    fill(ring, range(20), first=[0])
    restored.load(ring.state(), {})
    assert restored.empty
    assert restored.state() == {"end": 0, "held": 0, "lost": 1}
    assert all(entries.filled == 0 for entries in restored.bulk().values())
    assert not restored.whole(at([list(range(8))])).any()
    fill(restored, [20, 21, 22])
    assert (restored.oldest, restored.held) == (0, 3)
    assert restored.whole(at([[0, 1, 2, 3]]))[0].tolist() == [False, False, True, False]  # of three frames each
    again = Ring(EMULATOR, 1, 1, 7, packs)
    again.load(restored.state(), restored.bulk())
    assert not again.empty
    assert again.lost == 1
    new = Ring(EMULATOR, 1, 1, 7)
    new.load(Ring(EMULATOR, 1, 1, 7).state(), {})
    assert (new.empty, new.lost) == (True, 0)  # nothing was there to be lost


@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("name", ["frame", "first"])
def test_another_rings_frames_are_refused_and_nothing_is_changed(name, packs):
    ring, other = Ring(EMULATOR, 1, 1, 7, packs), Ring(EMULATOR, 1, 1, 7, packs)
    fill(ring, range(5))
    bulk = ring.bulk()
    fewer = Ring(EMULATOR, 1, 1, 7, packs)
    fill(fewer, range(4))
    with pytest.raises(ValueError, match=f"{name}.*5 steps"):
        other.load(ring.state(), {**bulk, name: fewer.bulk()[name]})
    with pytest.raises(ValueError, match=name):
        other.load(ring.state(), {key: value for key, value in bulk.items() if key != name})
    assert other.empty
    assert not other.of("frame", at([list(range(5))])).any()


def test_what_a_step_takes_is_what_the_arrays_have():
    ring = Ring(EMULATOR, 3, 2, 10)
    assert sum(array.nbytes for array in ring.arrays.values()) == bytes_of_step(EMULATOR) * 10 * 3
    assert bytes_of_step(EMULATOR) == 6 + 8 + 4 + len(FLAGS)


def test_a_ring_without_a_row_is_refused():
    with pytest.raises(ValueError, match=r"3 steps.*4 environments"):
        Ring(EMULATOR, 1, 4, 3)
