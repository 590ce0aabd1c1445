"""The order of a campaign's entries: which begins when, beside which others, and with how many workers."""

import math

import pytest

from launch.campaign.entry import Entry
from launch.campaign.machine import capacity
from launch.campaign.schedule import LEAST_SECONDS, Busy, Capacity, following, plan, remaining, workers_for
from launch.campaign.state import PART, State

ALONE = Capacity(8, 126.0)


def entry(name, minutes=2.0, sweeps=("a=1",), **fields):
    return Entry(name, "?", minutes, "nothing", source="a limit", sweeps=sweeps, **fields)


def measurement(name, minutes=2.0, **fields):
    return Entry(name, "?", minutes, "nothing", source="a limit", commands=("true",), **fields)


def said(entries, known, minutes, capacity=ALONE, data=()):
    return [
        (each.entry.name, each.why or (each.begins, each.minutes, each.workers))
        for each in plan(entries, known, data, minutes, capacity)
    ]


@pytest.fixture
def known(tmp_path):
    return State(tmp_path / "state.json")


def test_entries_are_begun_in_their_order_as_far_as_they_fit(known):
    study = entry("study", 30.0)
    found = [measurement("first", 3.0), measurement("long", 9.0), measurement("images", needs=("mnist",)), study]
    assert said([*found, measurement("last")], known, 10.0) == [
        ("first", (0.0, 3.0, 8)), ("long", "needs 9.0 minutes, 7.0 are left"), ("images", "needs mnist"),
        ("study", (3.0, 7.0, 8)), ("last", "needs 2.0 minutes, 0.0 are left"),
    ]  # fmt: skip
    whole = entry("whole", 30.0, whole=True)
    assert said([whole], known, 29.9)[0][1] == "needs 30.0 minutes, 29.9 are left"
    assert said([whole], known, 30.0)[0][1] == (0.0, 30.0, 8)
    assert "needs" in said([study], known, 0.9 * LEAST_SECONDS / 60)[0][1], "too short for a checkpoint"


def test_a_study_that_was_stopped_needs_the_rest_of_its_time(known):
    study, limited = entry("study", 30.0), measurement("limited")
    known.set(study, status=PART, minutes=12.0)
    known.set(limited, status=PART, minutes=1.5)
    again = State.of(known.path)
    assert (remaining(study, again), remaining(limited, again)) == (18.0, 2.0)


def test_entries_that_say_so_run_beside_each_other_as_the_cores_allow(known):
    """Eight workers: 1 + 4 + the 3 that are left; then the wide one finds no worker until others have ended."""
    found = [
        entry("one", 9.0, workers=1), entry("four", 5.0, workers=4), entry("wide", 4.0, workers=6),
        entry("waits", 3.0, workers=2), entry("whole", 6.0, workers=1, whole=True),
    ]  # fmt: skip
    assert said(found, known, 10.0) == [
        ("one", (0.0, 9.0, 1)), ("four", (0.0, 5.0, 4)), ("wide", (0.0, 4.0, 3)), ("waits", (4.0, 3.0, 2)),
        ("whole", (4.0, 6.0, 1)),
    ]  # fmt: skip


def test_packs_beside_each_other_fit_the_gpus_memory(known):
    found = [entry("large", 5.0, workers=8, memory_gb=40.0), entry("small", 5.0, workers=8, memory_gb=3.0)]
    assert said(found, known, 5.0) == [("large", (0.0, 5.0, 3)), ("small", (0.0, 5.0, 2))], "3 × 40 + 2 × 3 of 126 GB"
    too_large = entry("too large", memory_gb=200.0, workers=4)
    assert workers_for(too_large, ALONE, []) == 1, "it is tried"
    assert workers_for(too_large, ALONE, [Busy(found[1], 2, 1.0)]) == 0


def test_an_entry_that_needs_the_machine_waits_for_the_others_and_holds_back_later_ones(known):
    first, later = entry("first", 3.0, workers=1), entry("later", 6.0, workers=1)
    quiet = measurement("quiet", 2.0)
    assert said([first, quiet, later], known, 10.0) == [
        ("first", (0.0, 3.0, 1)), ("quiet", (3.0, 2.0, 8)), ("later", (5.0, 5.0, 1)),
    ]  # fmt: skip
    assert said([first, quiet, later], known, 4.9) == [
        ("first", (0.0, 3.0, 1)), ("quiet", "needs 2.0 minutes, 1.9 are left"), ("later", (0.0, 4.9, 1)),
    ], "after the first no time is left for the measurement"  # fmt: skip


def test_without_the_service_studies_take_turns(known):
    found = [entry("first", 3.0, workers=1), entry("second", 3.0, workers=1)]
    said_so = said(found, known, 10.0, Capacity(8, 126.0, shared=False))
    assert said_so == [("first", (0.0, 3.0, 1)), ("second", (3.0, 3.0, 1))]


def test_an_entry_is_begun_once_in_a_campaign(known):
    found = [entry("one", workers=1), entry("two", workers=1)]
    assert following(found, known, (), 10.0, ALONE, [], {"one"}) == (found[1], 1)
    assert following(found, known, (), 10.0, ALONE, [], {"one", "two"}) is None


@pytest.mark.parametrize(
    ("device", "memory_gb", "pack_gb", "cores", "workers"),
    [
        ("cpu", None, 1.0, 6, 6),
        ("cuda", 139.0, 0.1, 16, 8),
        ("cuda", 139.0, 40.0, 16, 3),
        ("cuda", 10.0, 40.0, 16, 1),
        ("cuda", 139.0, 0.1, 1, 1),
    ],
)
def test_workers_fill_the_gpus_memory_and_the_cores(device, memory_gb, pack_gb, cores, workers):
    there = capacity(device, True, memory_gb, cores)
    assert workers_for(entry("one", memory_gb=pack_gb), there, []) == workers
    assert there.memory_gb == (math.inf if device == "cpu" else pytest.approx(0.9 * memory_gb))
