"""The page about comparisons: its lines of Python run as they stand there, and what it names is there."""

import re

import pytest

from plasticity_lab.records.store import Store
from tests.docs.pages import ROOT, commands_of, fences
from tests.helpers.stores import left_behind

PAGE = ROOT / "docs/pages/how_to/compare.md"


@pytest.fixture
def store(tmp_path):
    """What the page's first command would leave, with made-up numbers."""
    (first, *_) = (each for each in commands_of(PAGE) if each.module == "plasticity_lab.main")
    better = {"none": 0.5, "l2_init": 0.52, "snr": 0.6}

    def taoa(science):
        intervention = (science.get("intervention") or {"name": "none"})["name"]
        return better[intervention] + science["seed"] % 3 / 100

    left_behind(tmp_path / "store", first.words, taoa)
    return Store(tmp_path / "store")


def test_the_three_lines_and_what_the_page_says_of_their_result(store, monkeypatch):
    (block,) = [content for language, content in fences(PAGE.read_text()) if language == "python"]
    monkeypatch.chdir(store.root.parent)
    names: dict = {}
    exec(compile(block, str(PAGE), "exec"), names)
    result = names["result"]
    for method in re.findall(r"`(?:result)?\.(text|latex|csv)\(\)`", PAGE.read_text()):
        assert getattr(result, method)()
    pair = result.found.shown[0].against("snr")
    assert pair.difference.value == pytest.approx(10)
    assert pair.test.p == pair.holm / 3
    assert pair.better.value == 1
    assert (pair.paired.n, pair.effect.n) == (10, (10, 10))
