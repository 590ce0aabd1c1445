"""How long packs still need, by hand: at their own pace, and as planned times what others took of what was planned."""

import json
from dataclasses import replace

import pytest

from launch.launchers.display import Watch
from launch.packs.progress import ENOUGH, Pace, Reached, seconds_needed, write_progress
from tests.helpers.sweeps import planned

THREE = ("activation=relu,tanh,elu", "seed=0", "launch.workers=1")


@pytest.fixture
def packs(store):
    """Three of 270 steps, which are said to take 10 s each."""
    found = [replace(pack, seconds=10.0) for pack in planned(store, *THREE).packs]
    assert [pack.steps for pack in found] == [270] * 3
    return found


def end(store, pack, **ending):
    store.done(pack.id).write_text(json.dumps({"status": "done", **ending}))


def test_what_is_left_is_corrected_by_what_the_first_packs_took(packs):
    first, second, third = (pack.id for pack in packs)
    assert seconds_needed(packs, packs, {}, {}) == {first: 10, second: 10, third: 10}
    assert seconds_needed(packs[1:], packs, {}, {first: 25.0}) == {second: 25, third: 25}
    # The second is at a third of its steps: after 9 s its pace does not count yet, after 11 s it does, for both.
    early, late = (Reached(90, 0, seconds) for seconds in (9.0, 11.0))
    assert seconds_needed(packs[1:], packs, {second: early}, {first: 25.0}) == {
        second: pytest.approx(25 * 2 / 3),
        third: 25,
    }
    assert seconds_needed(packs[1:], packs, {second: late}, {first: 25.0}) == {
        second: pytest.approx(22),
        third: pytest.approx(10 * (25 + 11) / (10 + 10 / 3)),
    }


def test_a_worker_asks_by_the_store_alone(store, packs):
    known, left = {pack.id: pack for pack in packs}, [pack.id for pack in packs[1:]]
    pace = Pace(store)
    assert pace.seconds_needed(packs[2], known, left) == 10, "its record says nothing yet"
    end(store, packs[0], seconds=40.0)
    assert Pace(store).seconds_needed(packs[2], known, left) == 40
    write_progress(store, packs[1].id, Reached(135, 0, 20.0))
    assert Pace(store).seconds_needed(packs[2], known, left) == 40
    assert Pace(store).seconds_needed(packs[1], known, left) == 20
    foreign = replace(packs[2], id="of another sweep", seconds=3.0)
    assert Pace(store).seconds_needed(foreign, known, left) == 12


def test_few_ends_tell_enough(store, packs, monkeypatch):
    many = {f"pack{at}": replace(packs[0], id=f"pack{at}") for at in range(3 * ENOUGH)}
    read = []
    monkeypatch.setattr("launch.packs.progress.ending_of", lambda store, pack: read.append(pack))
    pace = Pace(store)
    for _ in range(3):
        assert pace.seconds_needed(packs[0], many, []) == 10
    assert len(read) == ENOUGH


def test_a_display_is_told_the_time_until_the_last_pack_ends(store, packs):
    watch = Watch(store, packs)
    assert watch.look().left is None, "nobody trains"
    first, second, third = packs
    write_progress(store, first.id, Reached(30, 0, 5.0))
    assert watch.look().left is None, "it may have been left there"
    write_progress(store, first.id, Reached(135, 0, 20.0))
    assert watch.look().left == pytest.approx(20 + 40 + 40), "one after the other, at its pace"
    write_progress(store, second.id, Reached(1, 0, 1.0))
    watch.look()
    write_progress(store, second.id, Reached(135, 0, 20.0))
    assert watch.look().left == pytest.approx(20 + 40), "two at once"
    end(store, first, seconds=40.0)
    end(store, second, seconds=60.0)
    assert watch.look().left is None
    write_progress(store, third.id, Reached(0, 0, 0.0))
    watch.look()
    write_progress(store, third.id, Reached(27, 0, 2.0))
    assert watch.look().left == pytest.approx(50 * 0.9), "as long as the others took on average"
    end(store, third)
    assert watch.look().left == 0
