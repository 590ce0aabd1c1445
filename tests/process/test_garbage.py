"""When garbage is collected."""

import gc
import weakref

import pytest

from plasticity_lab.process import garbage


class Circle:
    """Refers to itself, so that only a search finds it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch):
    gc.collect()
    monkeypatch.setattr(garbage, "_waiting", 0)


def begun() -> weakref.ref:
    with garbage.collected_later():
        assert not gc.isenabled()
        with garbage.collected_later():
            return weakref.ref(Circle())


def test_garbage_of_a_block_waits_for_a_search_of_old_objects():
    circle = begun()
    assert gc.isenabled()
    gc.collect(1)
    assert circle() is not None
    garbage.collect_waiting()
    assert circle() is None


def test_garbage_of_few_blocks_waits():
    circles = [begun() for _ in range(garbage.MOST_WAITING)]
    assert all(circle() is not None for circle in circles)
    begun()
    assert all(circle() is None for circle in circles)


def test_nothing_is_searched_if_nothing_waits():
    circle = weakref.ref(Circle())
    garbage.collect_waiting()
    assert circle() is not None


def test_a_caller_that_searches_for_no_garbage_still_does_not():
    gc.disable()
    try:
        with garbage.collected_later():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
