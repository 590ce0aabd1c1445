"""What papers ask for: figures of a width, in a font, of some lines."""

import json
import re

import pytest

from analysis.__main__ import main
from plasticity_lab.records.store import Store
from tests.helpers.curves import classified

pytestmark = pytest.mark.sample(5)


@pytest.fixture
def store(tmp_path, record):
    """Three activations, two seeds each."""
    store = Store(tmp_path / "store")
    for seed in range(2):
        for name, last in (("relu", 0.3), ("tanh", 0.6), ("elu", 0.5)):
            classified(store, record(name, seed=seed), [0.6 + seed / 100, *[0.5] * 8, last])
    return store


def svg_of(store, name, *words):
    assert main(["figure", name, "--store", str(store.root), *words]) == 0
    return (store.root / "figures" / f"{name}.svg").read_text()


def inches(svg):
    return float(re.search(r'width="([\d.]+)pt"', svg)[1]) / 72


def test_a_figure_is_as_wide_as_a_column_in_the_font_of_the_paper(store):
    usual, ours = svg_of(store, "first_last"), svg_of(store, "first_last", "--width", "3.25", "--font", "STIXGeneral")
    assert inches(ours) == pytest.approx(3.25)
    assert inches(usual) > 6
    assert "STIXGeneral" in ours
    assert "STIXGeneral" not in usual


@pytest.mark.parametrize("name", ["curves", "first_last"])
def test_only_the_lines_that_are_asked_for_are_drawn_and_the_others_named(store, capsys, name):
    svg_of(store, name, "--lines", "relu", "Tanh")
    assert "Left out: eLU." in capsys.readouterr().out
    panels = json.loads((store.root / "figures" / f"{name}.json").read_text())["panels"]
    shown = {label for panel in panels for series in panel["series"] for label in [series["label"], *series["y"]]}
    assert {"ReLU", "Tanh"} <= shown
    assert "eLU" not in shown


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["figure", "curves", "--lines", "gelu"], ["gelu", "Tanh, eLU, ReLU"]),
        (["figure", "curves", "--width", "0.3"], ["0.3", "between 2.0 and 30.0"]),
        (["figure", "curves", "--font-size", "0"], ["between 3 and 40"]),
        (["figure", "curves", "--font", "Nonesuch"], ["Nonesuch", "DejaVu Serif"]),
        (["compare", "--columns", "IQR"], ["IQR", "IQM [95 %]"]),
        (["table", "all", "--columns", "n"], ["of one table"]),
    ],
)
def test_a_mistake_is_answered_in_a_sentence(store, capsys, words, parts):
    assert main([*words, "--store", str(store.root)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    for part in parts:
        assert part in said
